"""Equal to rounding: the larger the numbers, the larger their rounding; a wrong number stays wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from experiments import STACKS
from first_layer import stacked
from msgspec.structs import replace

from attnviz.compute.decoding import Decoded, decode_and_compare
from attnviz.model.sites.sites import site_names
from attnviz.model.spec import parts as p


def decoded(scale: float) -> Decoded:
    """Eight tokens of six seeded numbers, all multiplied by `scale`, with every projection the identity."""
    values = np.random.default_rng(3).standard_normal((8, 6)) * scale
    experiment = stacked(
        tuple("abcdefgh"),
        p.ExplicitVectors(values),
        heads=p.Heads(1, 1, 6),
        masks=(p.Causal(),),
        dtype="float64",
    )
    return decode_and_compare(experiment, "numpy", "cpu", lambda: None, 1)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8, 1e100])
def test_rounding_of_large_numbers_is_no_difference(scale: float) -> None:
    assert decoded(scale).is_equal


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e100])
@pytest.mark.parametrize(("stage", "share"), [("q", 1e-9), ("weights", 0.01), ("mixed", 0.01)])
def test_a_wrong_number_is_a_difference_at_every_size(scale: float, stage: str, share: float) -> None:
    right = decoded(scale)
    size = 1.0 if stage == "weights" else 4 * scale
    for wrong in (share * size, float("inf")):
        assert not dataclasses.replace(right, differences={stage: wrong}).is_equal


def test_near_one_the_tolerance_is_what_it_says() -> None:
    right = decoded(0.1)
    assert dataclasses.replace(right, differences={"weights": 0.9e-12}).is_equal
    assert not dataclasses.replace(right, differences={"weights": 1.1e-12}).is_equal


@pytest.mark.parametrize("scale", [1e200, 1.0])
def test_nan_on_both_sides_is_neither_equal_nor_different(scale: float) -> None:
    """Products of 1e200 are past float64: every weight is NaN, with the cache and without."""
    found = decoded(scale)
    assert found.is_equal == (scale == 1.0)
    assert found.undefined.get("weights", (0, 64)) == ((64, 64) if scale > 1.0 else (0, 64))
    n_vocabulary = len(found.decoding.vocabulary)
    if scale > 1.0:
        assert found.undefined["probabilities"] == (8 * n_vocabulary, 8 * n_vocabulary)
        assert "q" not in found.undefined


# --- several attentions ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", STACKS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_every_site_of_a_stack_is_compared_and_equal(case: str, dtype: str, tolerance: float) -> None:
    found = decode_and_compare(replace(STACKS[case], dtype=dtype), "numpy", "cpu", lambda: None, 1)
    sites = site_names(found.decoding.experiment)
    assert {name.rpartition(".")[0] for name in found.differences} == set(sites)
    assert found.is_equal and found.worst < 1e-4


@pytest.mark.parametrize("name", ["decoder.0.self.scores", "decoder.1.self.q", "decoder.1.cross.ffn_hidden"])
def test_a_wrong_number_of_any_site_is_a_difference(name: str) -> None:
    right = decode_and_compare(STACKS["encoder and decoder"], "numpy", "cpu", lambda: None, 1)
    assert name in right.differences
    for share in (1e-6, float("inf")):
        wrong = {**right.differences, name: share * max(right.sizes[name], 1.0)}
        assert not dataclasses.replace(right, differences=wrong).is_equal


def test_scores_are_measured_by_the_vectors_that_are_multiplied() -> None:
    """q · k that cancels to nothing still has the rounding of its terms."""
    found = decoded(1e6)
    tiny = {**found.sizes, "scores": 1e-3}
    off_by_rounding = {"scores": found.scores * 1e-14}
    assert dataclasses.replace(found, sizes=tiny, differences=off_by_rounding).is_equal
    assert not dataclasses.replace(found, sizes=tiny, differences={"scores": found.scores * 1e-9}).is_equal
