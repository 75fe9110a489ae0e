"""Conversions live with their owner and while they fit; passes over too many keep those that do."""

from __future__ import annotations

import gc

import numpy as np

from attnviz.model.spec.conversions import Conversions


class Owner:
    pass


def test_a_conversion_is_made_once_and_goes_with_its_owner() -> None:
    made: list[int] = []

    def make() -> np.ndarray:
        made.append(1)
        return np.zeros(4)

    kept, owner = Conversions(1000), Owner()
    assert kept.of(owner, make) is kept.of(owner, make)
    assert len(made) == 1 and kept.nbytes == 32
    del owner
    gc.collect()
    assert kept.nbytes == 0 and not kept._known


def test_passes_over_more_than_fits_convert_only_what_does_not_fit() -> None:
    owners, made = [Owner() for _ in range(5)], list[int]()
    kept = Conversions(3 * 80)

    def a_pass() -> int:
        made.clear()
        for number, owner in enumerate(owners):
            kept.of(owner, lambda number=number: made.append(number) or np.zeros(10))
        return len(made)

    assert [a_pass(), a_pass(), a_pass()] == [5, 2, 2]
    assert kept.nbytes <= 240


def test_what_is_used_again_displaces_what_is_not() -> None:
    old, new = [Owner() for _ in range(3)], [Owner() for _ in range(3)]
    kept = Conversions(3 * 80)
    for owners in (old, new, new):
        arrays = [kept.of(owner, lambda: np.zeros(10)) for owner in owners]
    again = [kept.of(owner, lambda: np.ones(10)) for owner in new]
    assert all(one is two for one, two in zip(arrays, again, strict=True))
