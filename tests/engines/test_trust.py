"""A language model writes two hundred tokens: every number of every step against those who computed it too.

The full pass for each layer and stage; `transformers` for the tokens and for what sampling makes of the
logits; the arithmetic of the cost panel for the bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from cases import ENGINE_IDS
from msgspec.structs import replace

from attnviz.bench.decoding.case import drawn_model
from attnviz.bench.decoding.transformers_llama import TransformersLlama
from attnviz.core.cost.architecture import Architecture
from attnviz.core.cost.architecture import Latent as LatentSizes
from attnviz.core.cost.memory import FORMAT_BY_ID, Format, cache_bytes
from attnviz.core.quantise import SCALE_BYTES
from attnviz.engines.decode.run import Decoding, decode
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import compared
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.caches import Cache, FullCache, PagedCache, QuantisedCache
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, Heads, Projections, Rope, Seeded, SeededVectors
from attnviz.model.spec.sampling import (
    RepetitionPenalty,
    Sampling,
    StopConditions,
    Temperature,
    TopK,
    TopP,
    shaped,
)

N_PROMPT, STEPS = 6, 200
HEADS = Heads(4, 2, 4)
ROUNDING = {"float64": 1e-12, "float32": 5e-6}
"""Difference over the largest number of a stage, at most: after four layers and two hundred positions."""


def engine_of(name: str, dtype: str) -> Engine:
    return NumpyEngine(dtype) if name == "numpy" else TorchEngine(dtype, "cpu")


def model(dtype: Any, sampling: Sampling, cache: Cache | None = None) -> Experiment:
    """Four layers of grouped heads with RoPE, RMSNorm and SwiGLU over a vocabulary of forty tokens."""
    given = drawn_model(N_PROMPT, 16, 4, HEADS, d_hidden=24, n_vocabulary=40, dtype=dtype)
    return replace(given, writing=Writing(sampling, FullCache() if cache is None else cache))


def until(length: int, *operations: Any, seed: int = 0) -> Sampling:
    """That many new tokens, come what may."""
    return Sampling(operations, seed, StopConditions(end_token=False, length=length))


def ids_of(decoding: Decoding) -> list[int]:
    known = {token: id_ for id_, token in enumerate(decoding.vocabulary)}
    return [known[step.token] for step in decoding.steps] + [known[decoding.steps[-1].next_token]]


# --- every number ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", ENGINE_IDS)
def test_two_hundred_steps_are_the_full_pass_at_every_layer_and_stage(name: str, dtype: str) -> None:
    engine = engine_of(name, dtype)
    # Sampled at a high temperature, so that the text does not repeat itself.
    decoding = decode(engine, model(dtype, until(STEPS - N_PROMPT + 1, Temperature(1.3), seed=5)))
    assert len(decoding.steps) == STEPS and len({step.token for step in decoding.steps}) > 20
    found = compared(decoding, run(engine, decoding.experiment))
    stages = {f"layers.{i}.self.{stage}" for i in range(4) for stage in decoding.steps[0].main.stages[1:]}
    assert stages <= set(found) and "layers.3.self.probabilities" in found
    off = {stage: one.difference / one.size for stage, one in found.items()}
    assert max(off.values()) <= ROUNDING[dtype], max(off, key=lambda stage: off[stage])


@pytest.mark.parametrize("name", ENGINE_IDS)
def test_a_step_is_the_full_pass_over_the_tokens_so_far(name: str) -> None:
    """Not only over all tokens: each pass ends where the step stood, and knows nothing of what came later."""
    engine = engine_of(name, "float64")
    decoding = decode(engine, model("float64", until(59, Temperature(1.3), seed=5)))
    for index in (0, 5, 6, 17, 63):
        shorter = replace(
            decoding.experiment,
            tokens=decoding.experiment.tokens[: index + 1],
            vectors=type(decoding.experiment.vectors)(decoding.experiment.vectors.values.array[: index + 1]),  # type: ignore[union-attr, call-arg]
        )
        trace = run(engine, shorter)
        whole = trace.site(trace.sites[-1])["probabilities"][-1]
        np.testing.assert_allclose(decoding.steps[index].probabilities, whole, rtol=1e-11, atol=0)


# --- what transformers makes of it -----------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINE_IDS)
def test_the_most_probable_tokens_are_those_that_generate_writes(name: str) -> None:
    given = model("float32", until(80, Temperature(0.0)))
    decoding = decode(engine_of(name, "float32"), given)
    ids, theirs = ids_of(decoding), TransformersLlama(given, 128)
    assert len(ids) == N_PROMPT + 80
    for use_cache in (True, False):
        assert theirs.write(ids[:N_PROMPT], 80, use_cache)[0] == ids[N_PROMPT:]
    logits = np.stack([step.logits for step in decoding.steps])
    np.testing.assert_allclose(logits, theirs.logits(ids[:-1]), rtol=0, atol=2e-5 * abs(logits).max())


@pytest.mark.parametrize("seed", [0, 1])
def test_a_whole_text_is_drawn_from_what_the_logits_processors_of_transformers_leave(seed: int) -> None:
    sampling = until(STEPS, RepetitionPenalty(1.3), Temperature(1.4), TopK(12), TopP(0.85), seed=seed)
    decoding = decode(NumpyEngine("float64"), model("float64", sampling))
    processors = transformers.LogitsProcessorList(
        [
            transformers.RepetitionPenaltyLogitsProcessor(1.3),
            transformers.TemperatureLogitsWarper(1.4),
            transformers.TopKLogitsWarper(12),
            transformers.TopPLogitsWarper(0.85),
        ]
    )
    ids, sizes = ids_of(decoding), set()
    assert len(ids) == N_PROMPT + STEPS
    for step in decoding.steps[N_PROMPT - 1 :]:
        seen = ids[: step.index + 1]
        left = processors(torch.tensor([seen]), torch.tensor(step.logits.copy())[None])
        expected = torch.softmax(left[0], -1).numpy()
        ours = shaped(sampling, step.logits, seen)[-1].probabilities
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-15)
        u = np.random.default_rng([seed, step.index - N_PROMPT + 1]).random()
        assert ids[step.index + 1] == int(np.searchsorted(np.cumsum(expected), u, side="right"))
        sizes.add(int((expected > 0).sum()))
    assert len(sizes) > 3 and max(sizes) <= 12  # the nucleus widened and narrowed


# --- bytes -----------------------------------------------------------------------------------------


def held(experiment: Experiment, name: str, dtype: str) -> int:
    """Bytes of the caches of all layers after forty positions."""
    decoding = decode(engine_of(name, dtype), experiment)
    assert len(decoding.steps) == 40
    return sum(site.cache.held_bytes for site in decoding.steps[-1].sites.values())


def sizes(heads: Heads, latent: LatentSizes | None = None) -> Architecture:
    return Architecture(
        layers=4,
        d_model=16,
        n_heads=heads.n_heads,
        n_kv_heads=heads.n_kv_heads,
        d_head=heads.d_head,
        latent=latent,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("heads", [Heads(4, 4, 4), HEADS, Heads(4, 1, 4)], ids=["MHA", "GQA", "MQA"])
@pytest.mark.parametrize("name", ENGINE_IDS)
def test_the_bytes_of_a_full_cache_are_those_of_the_formula(name: str, heads: Heads, dtype: Any) -> None:
    given = drawn_model(N_PROMPT, 16, 4, heads, d_hidden=24, n_vocabulary=40, dtype=dtype)
    given = replace(given, writing=Writing(until(35), FullCache()))
    assert held(given, name, dtype) == cache_bytes(sizes(heads), 40, FORMAT_BY_ID[dtype])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", ENGINE_IDS)
def test_the_bytes_of_a_quantised_cache_are_those_of_the_formula(name: str, bits: Any) -> None:
    """A format whose groups are the keys and values of the heads, one float32 step to each."""
    rows = Format(f"{bits} bits, a step each", bits, group=HEADS.d_head, scale_bytes=SCALE_BYTES)
    given = model("float32", until(35), QuantisedCache(bits))
    assert held(given, name, "float32") == cache_bytes(sizes(HEADS), 40, rows)


def test_the_bytes_of_pages_are_those_of_the_formula_for_whole_blocks() -> None:
    given = model("float32", until(35), PagedCache(16))
    assert held(given, "numpy", "float32") == cache_bytes(sizes(HEADS), 48, FORMAT_BY_ID["float32"])


@pytest.mark.parametrize("name", ENGINE_IDS)
def test_the_bytes_of_a_latent_are_those_of_the_formula(name: str) -> None:
    layer = Layer(
        heads=Heads(4, 4, 4),
        projections=Projections(query=Seeded(1), output=Seeded(2)),
        latent=Latent(6, d_rope=2),
        position=Rope(),
        masks=(Causal(),),
    )
    given = Experiment(
        tuple(f"t{i}" for i in range(N_PROMPT)),
        SeededVectors(N_PROMPT, 16),
        layers=(layer,) * 4,
        writing=Writing(until(35)),
        dtype="float64",
    )
    expected = sizes(Heads(4, 4, 4), LatentSizes(d_c=6, d_rope=2, d_nope=4, d_v=4))
    assert (
        held(given, name, "float64") == cache_bytes(expected, 40, FORMAT_BY_ID["float64"]) == 4 * 40 * 8 * 8
    )
