"""Dropout: the generator against its published numbers, and what a fair coin does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.core import dropout
from attnviz.core.dropout import keep


def kept(seed: int, p: float, n_heads: int, n: int) -> NDArray[np.bool_]:
    return keep(seed, p, np.arange(n_heads), np.arange(n), np.arange(n))


def test_splitmix64_gives_its_published_sequence() -> None:
    """Outputs of SplitMix64 for the seed 1234567, as printed with the reference C code's ports."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    step = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + i * step) % 2**64 for i in range(4)], dtype=np.uint64)
    assert dropout._mix(states).tolist() == expected


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_each_weight_is_dropped_with_probability_p(p: float) -> None:
    cells = kept(7, p, 4, 100)
    deviation = np.sqrt(p * (1 - p) / cells.size)
    assert abs(1 - cells.mean() - p) < 4 * deviation
    for axis in range(3):  # no head, row or column is better off
        others = tuple(a for a in range(3) if a != axis)
        share = 1 - cells.mean(axis=others)
        assert np.abs(share - p).max() < 5 * np.sqrt(p * (1 - p) / (cells.size / cells.shape[axis]))


def test_neighbours_are_independent() -> None:
    cells = kept(3, 0.5, 3, 120).astype(float)
    for axis in range(3):
        here = np.take(cells, range(cells.shape[axis] - 1), axis=axis).ravel()
        there = np.take(cells, range(1, cells.shape[axis]), axis=axis).ravel()
        assert abs(np.corrcoef(here, there)[0, 1]) < 5 / np.sqrt(here.size)


def test_a_part_has_the_same_zeros_as_the_whole() -> None:
    whole = kept(11, 0.4, 3, 20)
    part = keep(11, 0.4, np.array([[2], [0]]), np.array([5, 19]), np.arange(3, 9))
    assert part.shape == (2, 1, 2, 6)
    np.testing.assert_array_equal(part[0, 0], whole[2][[5, 19]][:, 3:9])
    np.testing.assert_array_equal(part[1, 0], whole[0][[5, 19]][:, 3:9])


def test_seeds_heads_and_transposition_make_a_difference() -> None:
    whole = kept(1, 0.5, 2, 30)
    assert (whole != kept(2, 0.5, 2, 30)).mean() > 0.4
    assert (whole[0] != whole[1]).mean() > 0.4
    assert (whole[0] != whole[0].T).mean() > 0.4
    np.testing.assert_array_equal(whole, kept(1, 0.5, 2, 30))


def test_a_larger_p_drops_more_of_the_same_weights() -> None:
    rare, often = kept(5, 0.2, 2, 30), kept(5, 0.6, 2, 30)
    assert (often <= rare).all() and often.sum() < rare.sum()
    assert kept(5, 0.0, 2, 30).all()


def test_the_largest_seed() -> None:
    assert kept(2**32 - 1, 0.5, 1, 40).mean() == pytest.approx(0.5, abs=0.06)
