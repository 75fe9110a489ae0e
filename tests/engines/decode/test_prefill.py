"""The prefill: a prompt read in one pass makes what its tokens make when they are fed one after the other."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from experiments import DECODED, small
from msgspec.structs import replace

from attnviz.engines import program
from attnviz.engines.decode.run import Decoding, decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.caches import CACHES, Cache, FullCache, RingCache, SinkCache
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import ExplicitVectors, Heads, NoPosition, Projections, Seeded
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature

ENGINES = [NumpyEngine("float64"), TorchEngine("float64")]
N_NEW = 9

WITHOUT_LOGITS = {"fully masked as nan", "head off, dropout"}
"""Their last row is NaN: no token can be chosen."""


def writes(experiment: Experiment, cache: Cache, n_new: int = N_NEW) -> Experiment:
    """The experiment with the most probable tokens behind its own."""
    stop = StopConditions(end_token=False, length=n_new)
    return replace(experiment, writing=Writing(Sampling((Temperature(0.0),), stop=stop), cache))


def stack() -> Experiment:
    layer = Layer(heads=Heads(2, 1, 4), projections=small().layers[0].projections)
    return small(heads=Heads(2, 1, 4), behind=(layer,))


def latent() -> Experiment:
    projections = Projections(query=Seeded(1), output=Seeded(2))
    return small(heads=Heads(2, 2, 4), latent=Latent(3), position=NoPosition(), projections=projections)


def as_prompt(written: Decoding, cache: Cache) -> Experiment:
    """All that a decoding was fed, as the tokens of a document that goes on."""
    return writes(written.experiment, cache, 2)


def apart(one: Decoding, other: Decoding, steps: int) -> float:
    """The greatest difference of any stage of any site between the first steps of two decodings."""
    found = 0.0
    for a, b in zip(one.steps[:steps], other.steps[:steps], strict=True):
        assert list(a.sites) == list(b.sites)
        for name, site in a.sites.items():
            again = b.site(name)
            assert site.stages == again.stages and site.seen == again.seen
            np.testing.assert_array_equal(site.key_positions, again.key_positions)
            for stage in site.stages:
                x, y = site[stage], again[stage]
                assert x.shape == y.shape, (name, stage)
                known = np.isfinite(y)
                np.testing.assert_array_equal(x[~known], y[~known])
                found = max(found, float(np.abs(x[known] - y[known]).max(initial=0.0)))
    return found


@pytest.mark.parametrize("engine", ENGINES, ids=["numpy", "torch"])
@pytest.mark.parametrize("experiment", [stack(), latent()], ids=["stack", "latent"])
@pytest.mark.parametrize("cache", [row.kind() for row in CACHES] + [RingCache(4), SinkCache(2, 3)])
def test_a_prompt_makes_what_its_tokens_made_one_by_one(
    engine: Any, experiment: Experiment, cache: Cache
) -> None:
    step_by_step = decode(engine, writes(experiment, cache))
    at_once = decode(engine, as_prompt(step_by_step, cache))
    n = experiment.n_queries
    assert [step.prefill for step in step_by_step.steps] == [range(n)] * n + [None] * (N_NEW - 1)
    assert at_once.steps[-2].prefill == range(n + N_NEW - 1) and at_once.steps[-1].prefill is None
    assert apart(step_by_step, at_once, len(step_by_step.steps)) < 1e-13


@pytest.mark.parametrize("name", sorted(DECODED.keys() - WITHOUT_LOGITS))
def test_the_prefill_of_every_mechanism_equals_its_steps(name: str) -> None:
    given = DECODED[name]
    one_by_one = decode(ENGINES[0], replace(given, writing=None))
    at_once = decode(ENGINES[0], writes(given, FullCache(), 1))
    assert at_once.steps[0].prefill == range(given.n_queries)
    assert apart(one_by_one, at_once, given.n_queries) < 1e-12


def test_a_prompt_is_attended_in_one_pass_for_each_site(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = []
    attend = program.attend

    def counted(engine: Any, experiment: Any, features: Any, q_positions: Any, *rest: Any) -> Any:
        queries.append(len(q_positions))
        return attend(engine, experiment, features, q_positions, *rest)

    monkeypatch.setattr(program, "attend", counted)
    decode(ENGINES[0], writes(stack(), FullCache(), 3))
    assert queries == [5, 5, 1, 1, 1, 1]


def test_what_follows_an_edited_token_is_read_in_one_pass() -> None:
    values = vectors_array(stack().vectors).copy()
    values[2] *= 0.5
    edited = writes(replace(stack(), vectors=ExplicitVectors(Matrix(values))), FullCache())
    first = decode(ENGINES[0], writes(stack(), FullCache()))
    again, alone = decode(ENGINES[0], edited, earlier=first), decode(ENGINES[0], edited)
    assert again.reused == 2
    assert [step.prefill for step in again.steps[:6]] == [range(5)] * 5 + [None]
    assert apart(again, alone, len(alone.steps)) < 1e-13


def facts(decoding: Decoding) -> list[Any]:
    """Facts of a step beside its numbers, except times."""
    return [
        (step.prefill, step.cached, step.uncached, step.held_bytes, step.generated, step.read, step.appended)
        for step in decoding.steps
    ]


@pytest.mark.parametrize("cache", [row.kind() for row in CACHES] + [RingCache(4)])
def test_steps_that_are_taken_over_say_what_they_would_say_anew(cache: Cache) -> None:
    """Of a prompt that is shorter, longer, or goes on with what was written."""
    long = decode(ENGINES[0], writes(stack(), cache)).experiment
    first = decode(ENGINES[0], writes(long, cache))
    n = stack().n_queries
    short = replace(
        long, tokens=long.tokens[:n], vectors=ExplicitVectors(Matrix(vectors_array(long.vectors)[:n]))
    )
    again = decode(ENGINES[0], writes(short, cache), earlier=first)
    assert again.reused >= n and facts(again) == facts(decode(ENGINES[0], writes(short, cache)))
    back = decode(ENGINES[0], writes(long, cache), earlier=again)
    assert back.reused >= n and facts(back) == facts(first)


def test_a_step_that_is_taken_over_keeps_nothing_of_the_rest() -> None:
    """Else every edit would keep the whole pass before it, and the cache."""

    def edited(row: int) -> Experiment:
        values = vectors_array(stack().vectors).copy()
        values[row] *= 0.5
        return writes(replace(stack(), vectors=ExplicitVectors(Matrix(values))), FullCache())

    first = decode(ENGINES[0], writes(stack(), FullCache()))
    kept = [weakref.ref(step.features) for step in first.steps[0].sites.values()]
    kept += [weakref.ref(step.cache) for step in first.steps[0].sites.values()]
    again = decode(ENGINES[0], edited(2), earlier=first)
    assert again.reused == 2
    # The read-out of the last one is made anew: by similarity to tokens that have changed.
    assert [site.features.n_tokens for site in again.steps[0].sites.values()] == [2, 1]
    del first
    gc.collect()
    assert [ref() for ref in kept] == [None] * 4


def test_a_prefill_costs_as_much_with_a_cache_as_without() -> None:
    steps = decode(ENGINES[0], writes(stack(), FullCache())).steps
    layers, n, row = 2, 5, 2 * 4 * 8
    decoding = decode(ENGINES[0], writes(stack(), FullCache()))
    with_cache, without = decoding.total(n - 1)
    for cost in (with_cache, without):
        assert cost.kv_projections == layers * n
        assert cost.score_pairs == layers * n * (n + 1) // 2
        assert (cost.bytes_read, cost.bytes_written) == (layers * n * row, layers * n * row)
    assert with_cache.flops == without.flops
    assert (with_cache.bytes_held, without.bytes_held) == (layers * n * row, 0)
    assert {step.held_bytes for step in steps[:n]} == {layers * n * row}
    after, all_again = steps[n].cached, steps[n].uncached
    assert (after.kv_projections, all_again.kv_projections) == (layers, layers * (n + 1))
    assert (after.score_pairs, all_again.score_pairs) == (layers * (n + 1), layers * (n + 1) * (n + 2) // 2)


def test_the_tokens_of_a_prefill_share_its_time() -> None:
    decoding = decode(ENGINES[0], writes(stack(), FullCache()))
    assert len({step.seconds for step in decoding.steps[:5]}) == 1
    assert 0 < sum(step.seconds for step in decoding.steps) <= decoding.seconds
