"""Ablation, patching, lens and contributions against a model of `transformers` with hooks, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from checkpoints.reference_models import IDS, expected, imported, promoted, random_model  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM  # noqa: E402

from attnviz import analysis  # noqa: E402
from attnviz.model.edit.edits import set_tokens  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402
from attnviz.model.spec.parts import Dropout  # noqa: E402
from attnviz.study.ablation import PART_BY_ID  # noqa: E402
from attnviz.study.target import Target  # noqa: E402

OTHER = (4, 2, 8, 7, 6, 11, 3, 10, 1)
HEADS, SIZE = 4, 24
LLAMA = LlamaConfig(
    vocab_size=13,
    hidden_size=SIZE,
    intermediate_size=40,
    num_hidden_layers=3,
    num_attention_heads=HEADS,
    num_key_value_heads=2,
)
GPT2 = GPT2Config(vocab_size=13, n_embd=SIZE, n_layer=3, n_head=HEADS, n_positions=32)
MODELS: dict[str, tuple[Any, Any, str, Callable[[Any, int], dict[str, Any]]]] = {
    "llama": (
        LlamaForCausalLM,
        LLAMA,
        "model.layers",
        lambda layer, _: {"heads": layer.self_attn.o_proj, "attention": layer.self_attn, "ffn": layer.mlp},
    ),
    "gpt2": (
        GPT2LMHeadModel,
        GPT2,
        "transformer.h",
        lambda layer, _: {"heads": layer.attn.c_proj, "attention": layer.attn, "ffn": layer.mlp},
    ),
}


class Reference:
    """A model of the library, whose parts hooks replace."""

    def __init__(self, kind: str) -> None:
        model, config, layers, parts = MODELS[kind]
        self.model = random_model(model, config)
        self.layers = list(self.model.get_submodule(layers))
        self.parts = [parts(layer, index) for index, layer in enumerate(self.layers)]

    def logits(self, ids: tuple[int, ...] = IDS) -> np.ndarray:
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0].numpy()

    @contextmanager
    def without_head(self, layer: int, head: int, value: Any = 0.0) -> Iterator[None]:
        """The input of the output projection with one head's features replaced."""
        width = SIZE // HEADS

        def hook(_module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
            x = given[0].clone()
            x[..., head * width : (head + 1) * width] = value
            return (x, *given[1:])

        handle = self.parts[layer]["heads"].register_forward_pre_hook(hook)
        yield
        handle.remove()

    @contextmanager
    def output(self, layer: int, part: str, value: Any) -> Iterator[None]:
        """The output of an attention or a feed-forward layer replaced."""

        def hook(_module: Any, _given: Any, out: Any) -> Any:
            first = torch.zeros_like(out[0] if isinstance(out, tuple) else out) + value
            return (first, *out[1:]) if isinstance(out, tuple) else first

        handle = self.parts[layer][part].register_forward_hook(hook)
        yield
        handle.remove()

    @contextmanager
    def entering(self, layer: int, position: int, value: Any) -> Iterator[None]:
        """The input of a layer replaced at one position."""

        def hook(_module: Any, given: tuple[Any, ...], known: dict[str, Any]) -> Any:
            x = (given[0] if given else known["hidden_states"]).clone()
            x[:, position] = torch.as_tensor(value)
            return ((x, *given[1:]), known) if given else (given, {**known, "hidden_states": x})

        handle = self.layers[layer].register_forward_pre_hook(hook, with_kwargs=True)
        yield
        handle.remove()


@pytest.fixture(scope="module", params=list(MODELS))
def both(request: Any, tmp_path_factory: Any) -> Iterator[tuple[Reference, Experiment]]:
    with promoted():
        reference = Reference(request.param)
        yield reference, imported(reference.model, tmp_path_factory.mktemp(request.param))


def target_of(experiment: Experiment) -> Target:
    known = experiment.vocabulary
    assert known is not None
    return Target(known.tokens[3], known.tokens[7], position=-2)


def difference(logits: np.ndarray) -> float:
    return float(logits[-2, 3] - logits[-2, 7])


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_every_head_set_to_zero(both: tuple[Reference, Experiment], engine: str) -> None:
    reference, experiment = both
    found = analysis.ablate(experiment, target_of(experiment), engine=engine)
    base = difference(reference.logits())
    assert found.base == pytest.approx(base, abs=1e-10)
    for layer, site in enumerate(found.values):
        for head in range(HEADS):
            with reference.without_head(layer, head):
                change = difference(reference.logits()) - base
            assert found.values[site][head] == pytest.approx(change, abs=1e-9), (site, head)
            assert abs(change) > 1e-6


@pytest.mark.parametrize("part", ["attention", "ffn"])
def test_every_layer_set_to_its_mean(both: tuple[Reference, Experiment], part: str) -> None:
    reference, experiment = both
    found = analysis.ablate(experiment, target_of(experiment), part, "mean")
    base = difference(reference.logits())
    stage = PART_BY_ID[part].stage
    from attnviz.compute.execute import execute

    trace = execute(experiment)
    for layer, site in enumerate(found.values):
        mean = torch.as_tensor(trace.site(site)[stage].mean(axis=0))
        with reference.output(layer, part, mean):
            change = difference(reference.logits()) - base
        assert found.values[site] == pytest.approx([change], abs=1e-9), site


def test_the_layers_input_of_another_text_at_every_position(both: tuple[Reference, Experiment]) -> None:
    reference, clean = both
    known = clean.vocabulary
    assert known is not None
    corrupted = set_tokens(clean, tuple(known.tokens[id_] for id_ in OTHER))
    found = analysis.patch(clean, corrupted, target_of(clean))
    hidden = expected(reference.model).hidden
    of_clean, of_corrupted = difference(reference.logits()), difference(reference.logits(OTHER))
    assert found.clean == pytest.approx(of_clean, abs=1e-10)
    assert found.corrupted == pytest.approx(of_corrupted, abs=1e-10)
    # GPT-2 adds positions to the vectors before its first layer.
    for layer, site in list(enumerate(found.values))[1:]:
        for position in range(len(IDS)):
            with reference.entering(layer, position, hidden[layer][position]):
                share = (difference(reference.logits(OTHER)) - of_corrupted) / (of_clean - of_corrupted)
            assert found.values[site][position] == pytest.approx(share, abs=1e-8), (site, position)


def test_all_heads_of_a_position_together_are_its_attention_output(
    both: tuple[Reference, Experiment],
) -> None:
    """The output is linear in what all heads add."""
    _reference, clean = both
    known = clean.vocabulary
    assert known is not None
    corrupted = set_tokens(clean, tuple(known.tokens[id_] for id_ in OTHER))
    heads = analysis.patch(clean, corrupted, target_of(clean), "mixed", each_head=False)
    output = analysis.patch(clean, corrupted, target_of(clean), "attention_output")
    for site, shares in output.values.items():
        np.testing.assert_allclose(heads.values[site], shares, atol=1e-9)


def test_the_lens_reads_every_layer_and_ends_with_the_answer(both: tuple[Reference, Experiment]) -> None:
    reference, experiment = both
    target = target_of(experiment)
    found = analysis.logit_lens(experiment, target)
    norm = reference.model.get_submodule(
        "model.norm" if hasattr(reference.model, "model") else "transformer.ln_f"
    )
    states: list[Any] = []
    handles = [
        layer.register_forward_hook(
            lambda _m, _g, out: states.append(out[0] if isinstance(out, tuple) else out)
        )
        for layer in reference.layers
    ]
    last = reference.logits()
    for handle in handles:
        handle.remove()
    for layer, state in enumerate(states):
        with torch.no_grad():
            logits = reference.model.lm_head(norm(state)).reshape(len(IDS), -1).numpy()
        np.testing.assert_allclose(found.logits[layer], logits[:, 3], atol=1e-10)
        np.testing.assert_array_equal(found.tokens[layer][:, 0], logits.argmax(axis=1))
        ranks = 1 + (logits > logits[:, 3:4]).sum(axis=1)
        np.testing.assert_array_equal(found.ranks[layer], ranks)
    np.testing.assert_allclose(found.logits[-1], last[:, 3], atol=1e-10)


def circuits_by_hand(reference: Reference, head: int) -> tuple[np.ndarray, np.ndarray]:
    """(OV, QK) of a head of the second layer, (token, token), by the modules of the library."""
    model, width, layer = reference.model, SIZE // HEADS, reference.layers[1]
    part = slice(head * width, (head + 1) * width)
    with torch.no_grad():
        if hasattr(model, "transformer"):
            x = layer.ln_1(model.transformer.wte.weight)
            q, k, v = layer.attn.c_attn(x).split(SIZE, dim=-1)
            k, v, out = k[:, part], v[:, part], layer.attn.c_proj.weight[part]
            norm, is_centred = model.transformer.ln_f, True
        else:
            x, own = layer.input_layernorm(model.model.embed_tokens.weight), layer.self_attn
            shared = slice(head // 2 * width, (head // 2 + 1) * width)
            q, k, v = own.q_proj(x), own.k_proj(x)[:, shared], own.v_proj(x)[:, shared]
            out, norm, is_centred = own.o_proj.weight.T[part], model.model.norm, False
        added = v @ out
        if is_centred:
            added = added - added.mean(dim=1, keepdim=True)
        ov = added * norm.weight @ model.lm_head.weight.T
        return ov.numpy(), (q[:, part] @ k.T / width**0.5).numpy()


@pytest.mark.parametrize("head", [0, 3])
def test_the_circuits_of_a_head_over_all_pairs(both: tuple[Reference, Experiment], head: int) -> None:
    reference, experiment = both
    known = experiment.vocabulary
    assert known is not None
    for kind, wanted in zip(("ov", "qk"), circuits_by_hand(reference, head), strict=True):
        found = analysis.circuit(experiment, "layers.1.self", head, kind, top=wanted.size)
        numbers = [pair.value for pair in found]
        assert len(found) == wanted.size and numbers == sorted(numbers, reverse=True)
        for pair in found:
            at = known.tokens.index(pair.first), known.tokens.index(pair.second)
            assert pair.value == pytest.approx(wanted[at], abs=1e-10)
        few = analysis.circuit(experiment, "layers.1.self", head, kind, top=3)
        assert [pair.value for pair in few] == pytest.approx(numbers[:3], abs=1e-12)
        row = analysis.circuit(experiment, "layers.1.self", head, kind, top=1, token=known.tokens[5])
        assert row[0].value == pytest.approx(wanted[5].max(), abs=1e-10)


def test_contributions_add_up_to_the_logit(both: tuple[Reference, Experiment]) -> None:
    _reference, experiment = both
    found = analysis.contributions(experiment, target_of(experiment))
    assert found.total == pytest.approx(found.logit, abs=1e-9)
    assert all(heads.shape == (HEADS,) for heads in found.heads.values())
    assert len({round(float(part), 9) for heads in found.heads.values() for part in heads}) == 3 * HEADS


def test_contributions_are_those_after_the_residual_dropout(both: tuple[Reference, Experiment]) -> None:
    """A dropped part adds nothing: the parts still sum to the logit, which is another one."""
    _reference, experiment = both
    layers = tuple(
        replace(layer, block=replace(layer.block, dropout=Dropout(0.4, seed))) if layer.block else layer
        for seed, layer in enumerate(experiment.layers)
    )
    dropping = replace(experiment, layers=layers)
    found = analysis.contributions(dropping, target_of(experiment))
    assert found.total == pytest.approx(found.logit, abs=1e-9)
    assert abs(found.logit - analysis.contributions(experiment, target_of(experiment)).logit) > 1e-3
