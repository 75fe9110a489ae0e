"""Equal to rounding: the larger the numbers, the larger their rounding; a wrong number stays wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from attnviz.compute.decoded import Decoded, decode_and_compare
from attnviz.model import parts as p
from attnviz.model.experiment import Experiment


def decoded(scale: float) -> Decoded:
    """Eight tokens of six seeded numbers, all multiplied by `scale`, with every projection the identity."""
    values = np.random.default_rng(3).standard_normal((8, 6)) * scale
    experiment = Experiment(
        tuple("abcdefgh"),
        p.ExplicitVectors(values),
        heads=p.Heads(1, 1, 6),
        masks=(p.Causal(),),
        dtype="float64",
    )
    return decode_and_compare(experiment, "numpy", "cpu", lambda: None, 1)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8, 1e100])
def test_rounding_of_large_numbers_is_no_difference(scale: float) -> None:
    assert decoded(scale).is_equal(1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e100])
@pytest.mark.parametrize(("stage", "share"), [("q", 1e-9), ("weights", 0.01), ("mixed", 0.01)])
def test_a_wrong_number_is_a_difference_at_every_size(scale: float, stage: str, share: float) -> None:
    right = decoded(scale)
    size = 1.0 if stage == "weights" else 4 * scale
    for wrong in (share * size, float("inf")):
        assert not dataclasses.replace(right, differences={stage: wrong}).is_equal(1e-12)


def test_near_one_the_tolerance_is_what_it_says() -> None:
    right = decoded(0.1)
    assert dataclasses.replace(right, differences={"weights": 0.9e-12}).is_equal(1e-12)
    assert not dataclasses.replace(right, differences={"weights": 1.1e-12}).is_equal(1e-12)
