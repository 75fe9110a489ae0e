"""Against torch: scaled_dot_product_attention (its plain formula) and MultiheadAttention, in float64.

Torch's boolean masks differ between the two: in scaled_dot_product_attention True allows, in
MultiheadAttention True blocks. Its causal mask counts from the first row and the first column.
A fully masked row is 0 in the former and NaN in the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from experiments import sited
from first_layer import stacked
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention import flex_attention as flex
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.positions import alibi_slopes
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    ROLES,
    Alibi,
    AnyOf,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Explicit,
    ExplicitVectors,
    Global,
    Heads,
    Memory,
    NoScale,
    Padding,
    Painted,
    Prefix,
    Projections,
    ScaleValue,
    Seeded,
    SeededVectors,
    Strided,
    Window,
)
from attnviz.model.trace import Trace

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
N, D_MODEL = 7, 12
TOKENS = tuple("abcdefg")
WEIGHTS = Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4))


@pytest.fixture(autouse=True)
def _plain_formula() -> Iterator[None]:
    with sdpa_kernel(SDPBackend.MATH):
        yield


def experiment(**changes: Any) -> Experiment:
    """Seven tokens, three heads of four features."""
    fields: dict[str, Any] = {
        "tokens": TOKENS,
        "vectors": SeededVectors(N, D_MODEL, 5),
        "heads": Heads(3, 3, 4),
        "projections": WEIGHTS,
        "dtype": "float64",
    }
    return stacked(**{**fields, **changes})


def traced(one: Experiment) -> Trace:
    return run(NumpyEngine("float64"), one)


def torch_attention(trace: Trace, **options: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """(weights, mixed) by torch from the q, k and v of a trace; the weights are its output for V = 1."""
    q, k, v = (torch.tensor(trace[stage])[None] for stage in ("q", "k", "v"))
    n_keys = k.shape[-2]
    ones = torch.eye(n_keys, dtype=torch.float64).expand(*k.shape[:2], n_keys, n_keys)
    weights = scaled_dot_product_attention(q, k, ones, **options)
    mixed = scaled_dot_product_attention(q, k, v, **options)
    return weights[0].numpy(), mixed[0].numpy()


def allowed(trace: Trace) -> torch.Tensor:
    """The trace's masks as torch's: True allows."""
    hidden = trace.only.blocked()
    assert hidden is not None
    return torch.tensor(~hidden)


def assert_same(trace: Trace, weights: NDArray[Any], mixed: NDArray[Any]) -> None:
    np.testing.assert_allclose(trace["weights"], weights, **TIGHT)
    np.testing.assert_allclose(trace["mixed"], mixed, **TIGHT)


@pytest.mark.parametrize("heads", [Heads(1, 1, 12), Heads(3, 3, 4), Heads(6, 2, 2), Heads(6, 1, 4)])
@pytest.mark.parametrize("causal", [False, True])
def test_head_layouts_full_and_causal(heads: Heads, causal: bool) -> None:
    trace = traced(experiment(heads=heads, masks=(Causal(),) if causal else ()))
    assert_same(trace, *torch_attention(trace, is_causal=causal, enable_gqa=True))


@pytest.mark.parametrize(
    ("changes", "scale"),
    [
        ({"scale": NoScale()}, 1.0),
        ({"scale": ScaleValue(0.37)}, 0.37),
        ({"temperature": 2.5}, 0.5 / 2.5),
        ({"scale": NoScale(), "temperature": 0.4}, 2.5),
        ({"scale": ScaleValue(-1.5), "temperature": 3.0}, -0.5),
    ],
)
def test_scale_and_temperature(changes: dict[str, Any], scale: float) -> None:
    trace = traced(experiment(**changes))
    assert_same(trace, *torch_attention(trace, scale=scale))


@pytest.mark.parametrize(
    "masks",
    [
        (Padding((0, 4)),),
        (Window(2, 1),),
        (Painted(((0, 0), (3, 5), (6, 6), (6, 0))),),
        (Causal(), Window(1, 0)),
        (Causal(), Padding((2, 3)), Window(3, 3), Painted(((5, 5), (6, 1)))),
        (Prefix(3), Documents((0, 5))),
        (Dilated(2, 1, 2),),
        (Blocks(3, 1), Padding((6,))),
        (Causal(), AnyOf((Window(1), Strided(3), Global((0,))))),
    ],
)
def test_masks_given_to_torch_as_booleans(masks: tuple[Any, ...]) -> None:
    trace = traced(experiment(masks=masks))
    assert_same(trace, *torch_attention(trace, attn_mask=allowed(trace)))


def test_masks_are_joined_as_torch_joins_its_mask_functions() -> None:
    """flex_attention composes masks with `and_masks` and `or_masks`; there True lets through."""

    def causal(batch: Any, head: Any, q: Any, k: Any) -> Any:
        return q >= k

    def window(batch: Any, head: Any, q: Any, k: Any) -> Any:
        return q - k <= 2

    def global_token(batch: Any, head: Any, q: Any, k: Any) -> Any:
        return (q == 1) | (k == 1)

    def document(batch: Any, head: Any, q: Any, k: Any) -> Any:
        of_token = torch.tensor([0, 0, 0, 0, 1, 1, 1])
        return of_token[q] == of_token[k]

    def prefix(batch: Any, head: Any, q: Any, k: Any) -> Any:
        return k < 3

    def made(mask: Any) -> torch.Tensor:
        whole: torch.Tensor = flex.create_mask(mask, None, None, N, N, device="cpu")
        return whole[0, 0]

    sparse = flex.and_masks(causal, flex.or_masks(window, global_token))
    masks: tuple[Any, ...] = (Causal(), AnyOf((Window(2, 9), Global((1,)))))
    assert torch.equal(allowed(traced(experiment(masks=masks))), made(sparse))
    packed = flex.and_masks(document, flex.or_masks(causal, prefix))
    masks = (Prefix(3), Documents((0, 4)))
    assert torch.equal(allowed(traced(experiment(masks=masks))), made(packed))


def test_causal_is_torchs_own_mask() -> None:
    trace = traced(experiment(masks=(Causal(),)))
    lower = torch.ones(N, N, dtype=torch.bool).tril()
    assert torch.equal(allowed(trace), lower)


def test_a_fully_masked_row_is_zero_as_in_torch() -> None:
    trace = traced(experiment(masks=(Causal(), Padding((0, 1)))))
    weights, mixed = torch_attention(trace, attn_mask=allowed(trace))
    assert (weights[:, :2] == 0).all(), "torch's own convention"
    assert_same(trace, weights, mixed)
    assert trace.only.fully_masked().tolist() == [True, True] + [False] * 5


@pytest.mark.parametrize("heads", [Heads(3, 3, 4), Heads(6, 3, 4)])
def test_alibi_is_an_added_float_mask(heads: Heads) -> None:
    trace = traced(experiment(heads=heads, position=Alibi(), masks=(Causal(),)))
    distance = torch.arange(N)[:, None] - torch.arange(N)[None, :]
    bias = -torch.tensor(alibi_slopes(heads.n_heads))[:, None, None] * distance.abs().double()
    bias = bias.masked_fill(distance < 0, float("-inf"))
    assert_same(trace, *torch_attention(trace, attn_mask=bias[None], enable_gqa=True))


def test_cross_attention() -> None:
    memory = Memory(("x", "y", "z"), SeededVectors(3, 5, 9))
    trace = traced(experiment(memory=memory, masks=(Causal(),)))
    assert trace.sites == ("layers.0.cross",)
    assert trace["weights"].shape == (3, N, 3)
    assert_same(trace, *torch_attention(trace, is_causal=True))


# --- MultiheadAttention ----------------------------------------------------------------------------


def layer_of(one: Experiment, n_heads: int) -> torch.nn.MultiheadAttention:
    """Torch's layer with the experiment's weights; torch multiplies by transposed matrices."""
    d_memory = sited(one).projection_shape("key")[0]
    layer = torch.nn.MultiheadAttention(
        one.d_model, n_heads, bias=False, kdim=d_memory, vdim=d_memory, batch_first=True, dtype=torch.float64
    )
    matrices = {}
    for role in ROLES:
        source = getattr(one.layers[0].projections, role)
        assert isinstance(source, Explicit)
        matrices[role] = torch.tensor(source.values.array.T.copy())
    state = {"out_proj.weight": matrices["output"]}
    if d_memory == one.d_model:
        state["in_proj_weight"] = torch.cat([matrices[role] for role in ("query", "key", "value")])
    else:
        state |= {f"{role[0]}_proj_weight": matrices[role] for role in ("query", "key", "value")}
    layer.load_state_dict(state)
    return layer.eval()


def explicit(d_memory: int = D_MODEL) -> Projections:
    rng = np.random.default_rng(21)
    shapes = {"query": D_MODEL, "key": d_memory, "value": d_memory, "output": D_MODEL}
    return Projections(
        **{role: Explicit(Matrix(rng.standard_normal((rows, D_MODEL)))) for role, rows in shapes.items()}
    )


def vectors(n: int, d: int, seed: int) -> ExplicitVectors:
    return ExplicitVectors(Matrix(np.random.default_rng(seed).standard_normal((n, d))))


@pytest.mark.parametrize("n_heads", [1, 3, 4, 12])
@pytest.mark.parametrize(
    ("masks", "options"),
    [
        ((), {}),
        ((Causal(),), {"attn_mask": torch.ones(N, N, dtype=torch.bool).triu(1)}),
        ((Padding((2, 6)),), {"key_padding_mask": torch.tensor([[0, 0, 1, 0, 0, 0, 1]], dtype=torch.bool)}),
    ],
)
def test_multihead_attention_weights_of_every_head(
    n_heads: int, masks: tuple[Any, ...], options: dict[str, torch.Tensor]
) -> None:
    one = experiment(
        vectors=vectors(N, D_MODEL, 3),
        heads=Heads(n_heads, n_heads, D_MODEL // n_heads),
        projections=explicit(),
        masks=masks,
    )
    trace = traced(one)
    x = torch.tensor(trace["tokens_embedded"])[None]
    with torch.no_grad():
        output, weights = layer_of(one, n_heads)(x, x, x, average_attn_weights=False, **options)
    np.testing.assert_allclose(trace["weights"], weights[0].numpy(), **TIGHT)
    np.testing.assert_allclose(trace["attention_output"], output[0].numpy(), **TIGHT)


def test_multihead_attention_over_a_memory_of_other_width() -> None:
    one = experiment(
        vectors=vectors(N, D_MODEL, 3),
        memory=Memory(("x", "y", "z"), vectors(3, 5, 4)),
        projections=explicit(d_memory=5),
    )
    trace = traced(one)
    x, memory = (torch.tensor(trace[stage])[None] for stage in ("tokens_embedded", "memory"))
    with torch.no_grad():
        output, weights = layer_of(one, 3)(x, memory, memory, average_attn_weights=False)
    np.testing.assert_allclose(trace["weights"], weights[0].numpy(), **TIGHT)
    np.testing.assert_allclose(trace["attention_output"], output[0].numpy(), **TIGHT)


def test_a_fully_masked_row_as_nan_is_multihead_attentions_convention() -> None:
    one = experiment(
        vectors=vectors(N, D_MODEL, 3),
        projections=explicit(),
        masks=(Causal(), Padding((0, 1))),
        fully_masked_row="nan",
    )
    trace = traced(one)
    x = torch.tensor(trace["tokens_embedded"])[None]
    hidden = ~allowed(trace)
    with torch.no_grad():
        output, weights = layer_of(one, 3)(x, x, x, attn_mask=hidden, average_attn_weights=False)
    assert weights[0, :, :2].isnan().all(), "torch's own convention"
    np.testing.assert_allclose(trace["weights"], weights[0].numpy(), **TIGHT)
    np.testing.assert_allclose(trace["attention_output"], output[0].numpy(), **TIGHT)
