"""Multi-head latent attention: the multi-head attention that it factorises, and the lines of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import MASK_SETS, MEMORY, SPREAD, sited, small
from first_layer import stacked, with_fields
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.engines.decode.cost import StepCosts
from attnviz.engines.decode.run import decode
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.operands.matrices import latent_numbers, projection_array, vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, Explicit, Heads, Projections, Rope, Seeded, SeededVectors
from attnviz.model.spec.positions import Alibi, Learned, NoPosition, Sinusoidal, T5Buckets
from attnviz.model.spec.rows import DrawnRow

Array = NDArray[np.float64]

LATENT = [name for name, experiment in SPREAD.items() if experiment.layers[0].latent is not None]


# --- the attention that it factorises --------------------------------------------------------------


@st.composite
def factorised(draw: st.DrawFn) -> Experiment:
    """A latent without norms and without RoPE features: linear maps, one behind the other."""
    heads = Heads(draw(st.integers(1, 4)), 1, draw(st.integers(1, 5)))
    heads = replace(heads, n_kv_heads=heads.n_heads)
    d_model, n = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    seeds = [Seeded(draw(st.integers(0, 99))) for _ in range(6)]
    latent = Latent(
        draw(st.integers(1, 6)),
        draw(st.one_of(st.none(), st.integers(1, 6))),
        down=seeds[0],
        up_key=seeds[1],
        up_value=seeds[2],
        query_down=seeds[3],
    )
    position = st.sampled_from([NoPosition(), Sinusoidal(), Alibi(), Learned(9), T5Buckets(4, 17)])
    return stacked(
        tuple(map(str, range(n))),
        SeededVectors(n, d_model, draw(st.integers(0, 99))),
        memory=draw(st.sampled_from([None, MEMORY])),
        heads=heads,
        projections=Projections(seeds[4], output=seeds[5]),
        latent=latent,
        position=draw(position),
        masks=draw(MASK_SETS),
        dtype="float64",
    )


@settings(deadline=None)
@given(factorised())
def test_it_is_the_attention_that_it_factorises(experiment: Experiment) -> None:
    def product(*factors: Array) -> Explicit:
        return Explicit(Matrix(np.linalg.multi_dot(factors) if len(factors) > 1 else factors[0]))

    down = latent_numbers(sited(experiment), "down")()
    query = [projection_array(sited(experiment), "query")]
    if experiment.layers[0].latent is not None and experiment.layers[0].latent.d_q is not None:
        query.insert(0, latent_numbers(sited(experiment), "query_down")())
    projections = Projections(
        product(*query),
        product(down, latent_numbers(sited(experiment), "up_key")()),
        product(down, latent_numbers(sited(experiment), "up_value")()),
        experiment.layers[0].projections.output,
    )
    plain = run(NumpyEngine("float64"), with_fields(experiment, latent=None, projections=projections))
    found = run(NumpyEngine("float64"), experiment)
    for stage in ("q", "k", "v", "weights", "attention_output"):
        np.testing.assert_allclose(found[stage], plain[stage], rtol=1e-9, atol=1e-10, err_msg=stage)


# --- section 2.1 of DeepSeek-V2, line by line ------------------------------------------------------


def rms(row: Array, eps: float, gain: Array) -> Array:
    return gain * row / np.sqrt(np.mean(row**2) + eps)


def turned(row: Array, position: int, base: float) -> Array:
    """Pairs of neighbours as complex numbers, each times exp(i · position · base^(-2j/d))."""
    pairs = row[0::2] + 1j * row[1::2]
    pairs = pairs * np.exp(1j * position * base ** (-np.arange(0, len(row), 2) / len(row)))
    return np.stack((pairs.real, pairs.imag), axis=-1).ravel()


@pytest.mark.parametrize("d_q", [None, 4])
@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")])
def test_the_lines_of_the_paper(engine: Engine, d_q: int | None) -> None:
    n, h, d_h, d_r, d_c = 5, 3, 4, 2, 7
    gains = [
        1.0 + 0.5 * np.random.default_rng(seed).standard_normal(width) for seed, width in ((5, d_c), (6, 4))
    ]
    experiment = small(
        heads=Heads(h, h, d_h),
        latent=Latent(
            d_c,
            d_q,
            d_r,
            Norm("rms", 1e-3, DrawnRow(5, 1.0, 0.5)),
            Norm("rms", 1e-2, DrawnRow(6, 1.0, 0.5)) if d_q else None,
        ),
        projections=Projections(Seeded(1), output=Seeded(2)),
        position=Rope(30.0),
        masks=(Causal(),),
        readout="none",
    )
    x = vectors_array(experiment.vectors)
    w = {role: latent_numbers(sited(experiment), role)() for role in experiment.layers[0].latent.roles()}  # type: ignore[union-attr]
    w_uq = projection_array(sited(experiment), "query")
    outputs = np.zeros((n, h * d_h))
    c = [rms(x[t] @ w["down"], 1e-3, gains[0]) for t in range(n)]
    k_rope = [turned(x[t] @ w["rope_key"], t, 30.0) for t in range(n)]
    for t in range(n):
        c_q = x[t] if d_q is None else rms(x[t] @ w["query_down"], 1e-2, gains[1])
        for i in range(h):
            q = (c_q @ w_uq).reshape(h, d_h + d_r)[i]
            q_content, q_rope = q[:d_h], turned(q[d_h:], t, 30.0)
            head = slice(i * d_h, (i + 1) * d_h)
            scores = [
                (q_content @ (c[j] @ w["up_key"][:, head]) + q_rope @ k_rope[j]) / np.sqrt(d_h + d_r)
                for j in range(t + 1)
            ]
            weights = np.exp(scores) / np.sum(np.exp(scores))
            outputs[t, head] = sum(weights[j] * (c[j] @ w["up_value"][:, head]) for j in range(t + 1))
    found = run(engine, experiment)["attention_output"]
    np.testing.assert_allclose(
        found, outputs @ projection_array(sited(experiment), "output"), rtol=1e-10, atol=1e-12
    )


# --- decoding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LATENT)
@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float32", "cpu")])
def test_cached_is_uncached(engine: Engine, name: str) -> None:
    decoding = decode(engine, SPREAD[name], steps=8)
    trace = run(engine, decoding.experiment)
    apart = parity(decoding, trace)
    assert set(apart) == set(trace.only.stages) >= {"latent", "k", "v", "weights", "probabilities"}
    assert max(apart.values()) < (1e-12 if engine.dtype == "float64" else 1e-5)


@pytest.mark.parametrize(("dtype", "itemsize"), [("float32", 4), ("float64", 8)])
def test_what_is_held_is_the_latent_and_the_rope_key(dtype: str, itemsize: int) -> None:
    decoding = decode(NumpyEngine(dtype), SPREAD["mla"])
    for step in decoding.steps:
        held = (3 + 2) * (step.index + 1) * itemsize
        (site,) = step.sites.values()
        assert step.cached.bytes_held == held
    assert site.cache.held_bytes == held
    assert decoding.keys.shape == (2, 5, 6) and decoding.values.shape == (2, 5, 4)
    whole = run(NumpyEngine(dtype), decoding.experiment)
    latent, rope_key = decoding.held("layers.0.self")
    np.testing.assert_allclose(latent[0], whole["latent"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rope_key[0], whole["k_rotated"][1, :, 4:], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(decoding.keys, whole["k_rotated"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(decoding.values, whole["v"], rtol=1e-5, atol=1e-6)


def test_what_a_step_costs() -> None:
    # d_model 6, d_c 3, d_rope 2, two heads of 4 features; W_Q 6x12, W_O 8x6; a norm with a gain takes 4.
    query, output = 2 * 6 * 12, 2 * 8 * 6
    made, expanded, pair = 2 * 6 * (3 + 2) + 4 * 3, 2 * 2 * 3 * 8, 2 * (2 * 6 + 2 * 4 + 5)
    one = replace(SPREAD["mla"], readout="none")
    cached, uncached = StepCosts(one, 8).step(3)
    assert cached.flops == query + output + made + 4 * expanded + 4 * pair
    assert uncached.flops == 4 * (query + output + made + expanded) + 10 * pair
    assert (cached.bytes_written, cached.bytes_read) == (5 * 8, 4 * 5 * 8)


def test_an_earlier_step_can_be_looked_at_again() -> None:
    decoding: Any = decode(NumpyEngine("float64"), SPREAD["mla"])
    (site,) = decoding.steps[2].sites.values()
    assert site.cache.keys(3).shape == (2, 3, 6)
    np.testing.assert_allclose(site.cache.keys(5)[:, :3], site.cache.keys(3), rtol=1e-13)


# --- positions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mla", "mla with query latent"])
@pytest.mark.parametrize("start", [1, 5000])
def test_scores_depend_on_distances_only(name: str, start: int) -> None:
    one = SPREAD[name]
    moved = with_fields(one, position=replace(one.layers[0].position, start=start))
    first, second = run(NumpyEngine("float64"), one), run(NumpyEngine("float64"), moved)
    np.testing.assert_allclose(second["scores"], first["scores"], rtol=1e-9, atol=1e-10)
    assert not np.allclose(second["k_rotated"], first["k_rotated"])


def test_the_rope_key_is_shared_and_the_content_does_not_turn() -> None:
    trace = run(NumpyEngine("float64"), SPREAD["mla"])
    assert (trace["k_rotated"][..., 4:] == trace["k_rotated"][:1, :, 4:]).all()
    np.testing.assert_array_equal(trace["k_rotated"][..., :4], trace["k"][..., :4])
    np.testing.assert_array_equal(trace["q_rotated"][..., :4], trace["q"][..., :4])
    np.testing.assert_allclose(
        np.linalg.norm(trace["q_rotated"], axis=-1), np.linalg.norm(trace["q"], axis=-1), rtol=1e-12
    )
    np.testing.assert_allclose(trace["scaled"], trace["scores"] / np.sqrt(4 + 2), rtol=1e-12)
