"""Kinds of caches: exact ones equal the full pass, others are off by what they say; bytes are measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import sited, small
from first_layer import with_fields
from msgspec.structs import replace

from attnviz.core.quantise import quantise, quantised_bytes
from attnviz.engines.decode.cache import cache_for, store_for
from attnviz.engines.decode.run import Decoding, decode
from attnviz.engines.features import Features
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.resolution import resolve
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.caches import CACHES, Cache, FullCache, PagedCache, QuantisedCache, RingCache, SinkCache
from attnviz.model.edit.edits import set_d_model
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import (
    Causal,
    Explicit,
    ExplicitVectors,
    Heads,
    NoPosition,
    Projections,
    Seeded,
    Window,
)
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature

ENGINES = [NumpyEngine("float64"), TorchEngine("float64")]


def stack(cache: Cache, **changes: Any) -> Experiment:
    """Two layers of two heads on one; ten tokens after the five that are given, drawn."""
    layer = Layer(
        heads=Heads(2, 1, 4), masks=changes.get("masks", ()), projections=small().layers[0].projections
    )
    writing = Writing(Sampling((Temperature(1.0),), 3, StopConditions(length=10)), cache)
    return small(heads=Heads(2, 1, 4), behind=(layer,), writing=writing, **changes)


def difference(decoding: Decoding) -> float:
    return max(parity(decoding, run(decoding.made_by, decoding.experiment)).values())


@pytest.mark.parametrize("engine", ENGINES, ids=["numpy", "torch"])
@pytest.mark.parametrize("cache", [FullCache(), PagedCache(4), RingCache(14), SinkCache(2, 12)])
def test_a_cache_that_loses_nothing_equals_the_full_pass(engine: Any, cache: Cache) -> None:
    decoding = decode(engine, stack(cache))
    assert len(decoding.steps) == 14 and difference(decoding) < 1e-13


@pytest.mark.parametrize("cache", [RingCache(4), SinkCache(0, 4)])
def test_a_ring_is_exact_where_a_window_hides_the_rest(cache: Cache) -> None:
    windowed = stack(cache, masks=(Causal(), Window(3)))
    assert difference(decode(ENGINES[0], windowed)) < 1e-13
    assert difference(decode(ENGINES[0], stack(cache))) > 1e-3


def test_a_ring_sees_the_last_positions_and_its_weights_are_a_softmax_of_them() -> None:
    decoding = decode(ENGINES[0], stack(RingCache(4)))
    for step in decoding.steps:
        site = step.main
        assert site.key_positions.tolist() == list(range(max(0, step.index - 3), step.index + 1))
        scores = site["scaled"]
        expected = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(site["weights"], expected, rtol=1e-13)


def test_sinks_stay_in_sight() -> None:
    last = decode(ENGINES[0], stack(SinkCache(2, 3))).steps[-1]
    assert last.main.key_positions.tolist() == [0, 1, 11, 12, 13]


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("engine", ENGINES, ids=["numpy", "torch"])
def test_a_quantised_cache_gives_back_what_the_numbers_of_its_bits_can_say(engine: Any, bits: int) -> None:
    decoding = decode(engine, stack(QuantisedCache(bits)))  # type: ignore[arg-type]
    keys, _values = decoding.cache("layers.0.self")
    made = np.stack([step.main["k"] for step in decoding.steps], axis=1)
    whole, steps = quantise(np, made, bits)
    np.testing.assert_allclose(keys, whole * steps, rtol=1e-6, atol=1e-7)
    assert 1e-6 < difference(decoding) < (0.05 if bits == 8 else 1.0)


def test_bytes_are_those_that_the_formulas_say() -> None:
    for cache, held in (
        (FullCache(), 14 * 8 * 8),
        (RingCache(4), 4 * 8 * 8),
        (SinkCache(2, 4), 6 * 8 * 8),
        (PagedCache(4), 16 * 8 * 8),
        (QuantisedCache(8), 2 * quantised_bytes(14, 4, 8)),
        (QuantisedCache(4), 2 * quantised_bytes(14, 4, 4)),
    ):
        decoding = decode(ENGINES[0], stack(cache))
        assert decoding.steps[-1].main.cache.held_bytes == held, cache


@pytest.mark.parametrize("row", CACHES, ids=[row.id for row in CACHES])
def test_every_kind_holds_a_latent_too(row: Any) -> None:
    experiment = small(
        heads=Heads(2, 2, 4),
        latent=Latent(3),
        position=NoPosition(),
        projections=Projections(query=Seeded(1), output=Seeded(2)),
        writing=Writing(cache=row.kind()),
    )
    decoding = decode(ENGINES[0], experiment, steps=9)
    assert decoding.steps[-1].main.cache.length == 9
    assert not row.is_exact or difference(decoding) < 1e-13


def test_a_row_of_zeros_is_quantised_to_zeros() -> None:
    cache = cache_for(ENGINES[0], resolve(ENGINES[0], sited(small())), 2, QuantisedCache(4))
    cache.append(Features(heads={"k": np.zeros((1, 2, 3)), "v": np.ones((1, 2, 3))}))
    assert cache.keys(2).tolist() == np.zeros((1, 2, 3)).tolist()
    np.testing.assert_allclose(cache.values(2), np.ones((1, 2, 3)), rtol=1e-6)


# --- what an earlier decoding has computed ---------------------------------------------------------


@pytest.mark.parametrize("cache", [row.kind() for row in CACHES], ids=[row.id for row in CACHES])
def test_a_token_changed_in_the_middle_leaves_the_steps_before_it(cache: Cache) -> None:
    engine = NumpyEngine("float64")
    first = decode(engine, stack(cache))
    vectors = vectors_array(stack(cache).vectors).copy()
    vectors[3:] = 1.0
    changed = replace(
        stack(cache), tokens=("the", "cat", "the", "new", "猫"), vectors=ExplicitVectors(Matrix(vectors))
    )
    again = decode(engine, changed, earlier=first)
    alone = decode(engine, changed)
    assert again.reused == 3 and alone.reused == 0
    assert [step.token for step in again.steps] == [step.token for step in alone.steps]
    for one, other in zip(again.steps, alone.steps, strict=True):
        for name, site in one.sites.items():
            for stage in site.stages:
                np.testing.assert_allclose(
                    site[stage],
                    other.sites[name][stage],
                    rtol=1e-12,
                    atol=1e-14,
                    err_msg=f"{one.index} {name} {stage}",
                )


def test_another_draw_reuses_all_steps_with_the_same_tokens() -> None:
    engine = NumpyEngine("float64")
    first = decode(engine, stack(FullCache()))
    same = decode(engine, stack(FullCache()), earlier=first)
    assert same.reused == 14 and [s.token for s in same.steps] == [s.token for s in first.steps]
    greedy = replace(stack(FullCache()), writing=Writing(Sampling((Temperature(0.0),))))
    other = decode(engine, greedy, steps=14, earlier=first)
    fed = [(a.token, b.token) for a, b in zip(first.steps, other.steps, strict=True)]
    shared = next((i for i, (a, b) in enumerate(fed) if a != b), 14)
    assert 5 <= other.reused == shared
    assert difference(other) < 1e-13


def test_nothing_is_reused_of_another_model() -> None:
    engine = NumpyEngine("float64")
    first = decode(engine, stack(FullCache()))
    assert decode(engine, with_fields(stack(FullCache()), temperature=2.0), earlier=first).reused == 0
    assert decode(engine, stack(RingCache(4)), earlier=first).reused == 0
    assert decode(NumpyEngine("float32"), stack(FullCache()), earlier=first).reused == 0


def test_nothing_is_reused_of_vectors_of_another_width() -> None:
    """Also where the old weights, made explicit, would not fit the new vectors."""
    engine = NumpyEngine("float64")
    written = Projections(key=Explicit(Matrix(np.ones((6, 4)))))
    for before in (small(masks=(Causal(),)), small(masks=(Causal(),), projections=written)):
        first = decode(engine, before)
        wider = set_d_model(before, 8)
        again = decode(engine, wider, earlier=first)
        assert again.reused == 0
        assert again.experiment.d_model == 8 and difference(again) < 1e-13


# --- counts and times ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CACHES, ids=[row.id for row in CACHES])
def test_the_bytes_of_the_formulas_are_the_measured_ones_at_every_step(row: Any) -> None:
    latent = small(
        heads=Heads(2, 2, 4),
        latent=Latent(3),
        position=NoPosition(),
        projections=Projections(query=Seeded(1), output=Seeded(2)),
        writing=Writing(Sampling(stop=StopConditions(length=20)), row.kind()),
    )
    for experiment in (stack(row.kind()), latent):
        for step in decode(ENGINES[0], experiment).steps:
            assert step.cached.bytes_held == step.held_bytes > 0, step.index


def test_a_ring_reads_and_multiplies_what_it_keeps() -> None:
    steps = decode(ENGINES[0], stack(RingCache(4))).steps
    row = 2 * 4 * 8  # a key and a value of one head of four features, in float64
    for step in steps:
        kept = min(step.index + 1, 4)
        assert step.cached.score_pairs == 2 * kept  # two layers
        assert (step.cached.bytes_read, step.cached.bytes_written) == (2 * kept * row, 2 * row)
        t = step.index + 1  # the five given tokens are read in one pass, with a cache or without one
        assert step.uncached.score_pairs == 2 * (t if t <= 5 else t * (t + 1) // 2)


def test_a_step_is_timed_once_however_often_it_is_reused() -> None:
    first = decode(ENGINES[0], stack(FullCache()))
    again = decode(ENGINES[0], stack(FullCache()), earlier=first)
    assert all(0 < step.seconds < first.seconds for step in first.steps)
    assert [step.seconds for step in again.steps] == [step.seconds for step in first.steps]


@pytest.mark.parametrize("cache", [row.kind() for row in CACHES], ids=[row.id for row in CACHES])
def test_what_was_reused_is_reused_again_from_the_last_that_had_it(cache: Cache) -> None:
    engine = NumpyEngine("float64")
    vectors = vectors_array(stack(cache).vectors)

    def changed(row: int) -> Experiment:
        values = vectors.copy()
        values[row:] = values[row:] * 0.5 + 1.0 if row == 2 else values[row:]
        if row == 4:
            values[2:] = values[2:] * 0.5 + 1.0
            values[4] = -1.0
        return replace(stack(cache), vectors=ExplicitVectors(Matrix(values)))

    first = decode(engine, stack(cache))
    second = decode(engine, changed(2), earlier=first)
    third, alone = decode(engine, changed(4), earlier=second), decode(engine, changed(4))
    assert second.reused == 2 and third.reused == 4
    for one, other in zip(third.steps, alone.steps, strict=True):
        assert one.token == other.token
        for name, site in one.sites.items():
            for stage in site.stages:
                np.testing.assert_allclose(site[stage], other.sites[name][stage], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("bits", [4, 8])
def test_sixteen_bits_do_not_wrap_around(dtype: str, bits: int) -> None:
    engine = TorchEngine(dtype)
    x = np.random.default_rng(1).standard_normal((1, 2000, 32)) * 1e-3
    rows = engine.asarray(x)
    store = store_for(engine, QuantisedCache(bits), 2000)  # type: ignore[arg-type]
    store.append((rows,))
    back, given = engine.to_numpy(store.rows(2000)[0]), engine.to_numpy(rows)
    steps = np.abs(given).max(axis=-1, keepdims=True) / (2 ** (bits - 1) - 1)
    assert (np.abs(back.astype(np.float64) - given) <= steps * 0.5 + np.abs(given).max() * 2**-8).all()


def test_a_learned_table_ends_the_writing() -> None:
    writing = Writing(Sampling((), 3, StopConditions(length=50)))
    decoding = decode(ENGINES[0], small(position=Learned(8), writing=writing))
    assert len(decoding.steps) == 8 and str(decoding.stopped) == "the position table ends here"


def test_too_long_a_text_is_refused_in_words() -> None:
    writing = Writing(Sampling((), 3, StopConditions(length=1_000_000)))
    with pytest.raises(
        ValueError,
        match=r"sampling\.stop\.length must be at most 100,000 with the prompt; got 1,000,004 tokens\.",
    ):
        decode(ENGINES[0], small(writing=writing))
