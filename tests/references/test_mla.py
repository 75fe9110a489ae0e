"""Multi-head latent attention against the eager attention of transformers' DeepSeek-V2 and V3, in float64.

Promoted to float64 there: the RMSNorm of both latents, the softmax, the frequencies and their cosines, and
V2's complex rotation, all of which that library computes in float32 whatever its input is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from first_layer import stacked
from numpy.typing import NDArray

from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, Explicit, ExplicitVectors, Heads, Projections, Rope
from attnviz.model.spec.rows import WrittenRow

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import DeepseekV2Config, DeepseekV3Config  # noqa: E402  (skipped without it)
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as v2  # noqa: E402
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as v3  # noqa: E402

N, D_MODEL, HEADS, D_HEAD, D_ROPE, D_C, D_Q = 7, 21, 3, 6, 4, 9, 11
BASE, EPS = 50.0, 1e-6
X = np.random.default_rng(3).standard_normal((N, D_MODEL))
FAMILIES: dict[str, Any] = {"v2": (v2, DeepseekV2Config, "V2"), "v3": (v3, DeepseekV3Config, "V3")}


def attention(family: str, d_q: int | None, interleaved: bool = True) -> Any:
    """A layer's attention with random weights and gains, in float64."""
    module, config, name = FAMILIES[family]
    more = {"rope_interleave": interleaved} if family == "v3" else {}
    made = config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=d_q,
        kv_lora_rank=D_C,
        qk_rope_head_dim=D_ROPE,
        qk_nope_head_dim=D_HEAD,
        v_head_dim=D_HEAD,
        head_dim=D_ROPE,
        max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
        attn_implementation="eager",
        **more,
    )
    torch.manual_seed(5)
    layer = getattr(module, f"Deepseek{name}Attention")(made, 0).double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    return layer


def promoted_norm(self: Any, hidden: Any) -> Any:
    return self.weight * hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def promoted_attention(layer: Any, q: Any, k: Any, v: Any, mask: Any, scaling: float, **_kwargs: Any) -> Any:
    weights = torch.softmax(q @ k.transpose(2, 3) * scaling + mask, dim=-1)
    return (weights @ v).transpose(1, 2).contiguous(), weights


def promoted_turn(q: Any, k: Any, turns: Any) -> Any:
    def turned(x: Any) -> Any:
        pairs = torch.view_as_complex(x.contiguous().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns.unsqueeze(1)).flatten(3)

    return turned(q), turned(k)


@pytest.fixture(autouse=True)
def in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, _config, name in FAMILIES.values():
        monkeypatch.setattr(getattr(module, f"Deepseek{name}RMSNorm"), "forward", promoted_norm)
        monkeypatch.setattr(module, "eager_attention_forward", promoted_attention)
    monkeypatch.setattr(v2, "apply_rotary_emb", promoted_turn)


def theirs(layer: Any, family: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """(output, weights) of that library's layer."""
    angles = np.arange(N)[:, None] * BASE ** (-np.arange(0, D_ROPE, 2) / D_ROPE)
    turns: Any = torch.polar(torch.ones(N, D_ROPE // 2, dtype=torch.float64), torch.tensor(angles))[None]
    if family == "v3":
        both = torch.tensor(np.concatenate((angles, angles), axis=-1))[None]
        turns = both.cos(), both.sin()
    hidden = np.where(np.arange(N)[:, None] < np.arange(N), -np.inf, 0.0)
    with torch.no_grad():
        output, weights = layer(
            torch.tensor(X)[None],
            position_embeddings=turns,
            attention_mask=torch.tensor(hidden)[None, None],
        )
    return output[0].numpy(), weights[0].numpy()


def ours(layer: Any, d_q: int | None, interleaved: bool = True) -> Experiment:
    """The same attention as an experiment."""
    down = matrix(layer.kv_a_proj_with_mqa)
    up = matrix(layer.kv_b_proj).reshape(D_C, HEADS, 2 * D_HEAD)
    latent = Latent(
        D_C,
        d_q,
        D_ROPE,
        norm(layer.kv_a_layernorm),
        None if d_q is None else norm(layer.q_a_layernorm),
        down=explicit(down[:, :D_C]),
        up_key=explicit(up[:, :, :D_HEAD].reshape(D_C, -1)),
        up_value=explicit(up[:, :, D_HEAD:].reshape(D_C, -1)),
        rope_key=explicit(down[:, D_C:]),
        **({} if d_q is None else {"query_down": explicit(matrix(layer.q_a_proj))}),
    )
    query = layer.q_proj if d_q is None else layer.q_b_proj
    return stacked(
        tuple(map(str, range(N))),
        ExplicitVectors(Matrix(X)),
        heads=Heads(HEADS, HEADS, D_HEAD),
        projections=Projections(explicit(matrix(query)), output=explicit(matrix(layer.o_proj))),
        latent=latent,
        position=Rope(BASE, "interleaved" if interleaved else "half_split"),
        masks=(Causal(),),
        dtype="float64",
    )


def matrix(linear: Any) -> NDArray[Any]:
    return np.asarray(linear.weight.detach().numpy().T)


def explicit(values: NDArray[Any]) -> Explicit:
    return Explicit(Matrix(values))


def norm(layer: Any) -> Norm:
    gain = layer.weight.detach().numpy()[None]
    return Norm("rms", layer.variance_epsilon, WrittenRow(Matrix(gain)))


@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")])
@pytest.mark.parametrize("d_q", [None, D_Q])
@pytest.mark.parametrize(("family", "interleaved"), [("v2", True), ("v3", True), ("v3", False)])
def test_weights_and_output_are_those_of_deepseek(
    family: str, interleaved: bool, d_q: int | None, engine: Engine
) -> None:
    layer = attention(family, d_q, interleaved)
    output, weights = theirs(layer, family)
    trace = run(engine, ours(layer, d_q, interleaved))
    np.testing.assert_allclose(trace["weights"], weights, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(trace["attention_output"], output, rtol=1e-10, atol=1e-12)
    assert weights.std() > 0.05  # no two keys alike, so that a turn in the wrong direction would show
