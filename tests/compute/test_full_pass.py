"""A step without a cache: a pass over the tokens so far, whose last row is the step's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from experiments import DECODED, SPREAD, STACKS
from first_layer import with_fields
from msgspec.structs import replace

import attnviz
from attnviz.compute import full_pass as uncached_module
from attnviz.compute.decoding import Decoded, decode_and_compare
from attnviz.compute.execute import execute_decoding
from attnviz.compute.full_pass import uncached_step
from attnviz.compute.scheduler import Cancelled
from attnviz.engines.decode.decodable import up_to
from attnviz.engines.decode.run import Decoding
from attnviz.model.edit.edits import permute_tokens, set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import Rope
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature
from attnviz.model.spec.scalings import DynamicNtk

CASES = {**DECODED, **STACKS}


def decoded(experiment: Experiment) -> Decoded:
    return decode_and_compare(experiment, "numpy", "cpu", lambda: None, 1)


def nothing() -> None:
    pass


@pytest.mark.parametrize("case", CASES)
def test_its_row_is_the_row_of_the_step_and_of_the_whole_pass(case: str) -> None:
    found = decoded(CASES[case])
    for index in (0, 2, len(found.decoding.steps) - 1):
        alone = uncached_step(found.decoding, index, nothing, 1)
        assert alone.index == index and alone.seconds > 0
        assert list(alone.outputs) == list(found.decoding.steps[index].sites)
        for name, row in alone.outputs.items():
            size = float(np.nanmax(np.abs(found.full[name].output), initial=1.0))
            step = found.decoding.steps[index].site(name).attention_output
            np.testing.assert_allclose(row, found.full[name].output[index], rtol=0, atol=1e-12 * size)
            np.testing.assert_allclose(row, step, rtol=0, atol=1e-12 * size)


def test_it_is_a_pass_over_the_tokens_so_far_and_no_more() -> None:
    seen: list[int] = []
    writing = Writing(Sampling((Temperature(0.0),), stop=StopConditions(length=4)))
    found = decoded(replace(STACKS["two layers, pre"], writing=writing))
    for index in range(len(found.decoding.steps)):
        shorter = up_to(found.decoding.experiment, index + 1)
        assert shorter.tokens == tuple(step.token for step in found.decoding.steps[: index + 1])
        row = attnviz.run(shorter).site(next(iter(found.full)))["attention_output"]
        seen.append(len(row))
        alone = uncached_step(found.decoding, index, nothing, 1)
        np.testing.assert_array_equal(alone.outputs[next(iter(found.full))], row[-1])
    assert seen == list(range(1, len(found.decoding.steps) + 1))


def test_frequencies_that_depend_on_the_length_are_those_of_the_whole_text() -> None:
    rope = Rope(100.0, scaling=DynamicNtk(2.0, 2))
    experiment = with_fields(SPREAD["plain"], position=rope)
    found = decoded(experiment)
    assert found.is_equal
    alone = uncached_step(found.decoding, 2, nothing, 1).outputs["layers.0.self"]
    np.testing.assert_allclose(alone, found.full["layers.0.self"].output[2], rtol=1e-12)
    alone_in_the_world = attnviz.run(permute_tokens(found.decoding.experiment, (0, 1, 2)))
    assert not np.allclose(alone, alone_in_the_world["attention_output"][2], rtol=1e-6)


def test_beside_it_the_step_is_made_again_with_the_cache_of_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And no other step: what is measured is one token, or the prefill."""
    writing = Writing(Sampling((Temperature(0.0),), stop=StopConditions(False, 6)))
    experiment = STACKS["two layers, pre"]
    n = experiment.n_queries
    made: list[Decoding] = []

    def kept(*args: Any, **named: Any) -> Decoding:
        made.append(execute_decoding(*args, **named))
        return made[-1]

    monkeypatch.setattr(uncached_module, "execute_decoding", kept)
    written, fed = decoded(replace(experiment, writing=writing)), decoded(experiment)
    for found, index, reused in ((written, n + 2, n + 2), (written, n - 1, 0), (fed, 3, 3)):
        alone = uncached_step(found.decoding, index, nothing, 1)
        assert (len(made[-1].steps), made[-1].reused) == (index + 1, reused)
        assert alone.cached_seconds == sum(step.seconds for step in made[-1].steps[reused:]) > 0
        again, before = made[-1].steps[-1], found.decoding.steps[index]
        np.testing.assert_allclose(again.attention_output, before.attention_output, rtol=1e-12, atol=1e-14)


def test_it_computes_where_the_decoding_did() -> None:
    found = decode_and_compare(SPREAD["plain"], "torch", "cpu", nothing, 1)
    assert found.decoding.engine == "torch"
    row = uncached_step(found.decoding, 1, nothing, 1).outputs["layers.0.self"]
    np.testing.assert_allclose(row, found.full["layers.0.self"].output[1], rtol=1e-12)


def test_it_can_be_given_up_between_two_stages() -> None:
    found = decoded(STACKS["encoder and decoder"])
    calls: list[int] = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        uncached_step(found.decoding, 2, check, 1)
    assert len(calls) == 3


@pytest.mark.parametrize("change", [-2, 2])
def test_bytes_that_are_measured_are_those_of_the_formula_when_the_prompt_grows_or_shrinks(
    change: int,
) -> None:
    """Steps that are taken over were made by the prefill of the prompt as it was, and are counted so."""
    writing = Writing(Sampling((Temperature(0.0),), stop=StopConditions(False, 6)))
    experiment = replace(SPREAD["plain"], writing=writing)
    earlier = decoded(experiment).decoding
    tokens = experiment.tokens[:change] if change < 0 else (*experiment.tokens, *experiment.tokens[:change])
    again = decode_and_compare(set_tokens(experiment, tokens), "numpy", "cpu", nothing, 1, earlier).decoding
    assert again.reused >= min(len(tokens), len(experiment.tokens)) and not math.isnan(again.seconds)
    assert [s.held_bytes for s in again.steps] == [s.cached.bytes_held for s in again.steps]
