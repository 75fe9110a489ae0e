"""Measures of heads against numbers that follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.head_measures import mean_distance, mean_entropy, overlap


def test_entropy_of_even_and_sharp_rows() -> None:
    even = np.full((3, 8), 1 / 8)
    sharp = np.eye(3, 8)
    assert mean_entropy(even) == pytest.approx(3.0)
    assert mean_entropy(sharp) == 0.0
    assert mean_entropy(np.vstack([even[:1], sharp[:1]])) == pytest.approx(1.5)


def test_distance_of_the_previous_token_and_of_the_first() -> None:
    n = 6
    previous = np.eye(n, k=-1)
    previous[0, 0] = 1.0
    positions = np.arange(n)
    assert mean_distance(previous, positions) == pytest.approx(5 / 6)
    first = np.zeros((n, n))
    first[:, 0] = 0.5  # rows need not sum to one
    assert mean_distance(first, positions) == pytest.approx(positions.mean())
    assert mean_distance(first[[4]], np.array([4])) == 4.0


def test_overlap_is_one_minus_total_variation() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.dirichlet(np.ones(7), size=5) for _ in range(2))
    assert overlap(a, b) == pytest.approx(1 - 0.5 * np.abs(a - b).sum(axis=1).mean())
    assert overlap(a, a) == pytest.approx(1.0)
    assert overlap(np.eye(3), np.eye(3)[::-1]) == pytest.approx(1 / 3)


def test_rows_without_weight_do_not_count() -> None:
    weights = np.array([[0.0, 0.0], [0.5, 0.5]])
    assert mean_entropy(weights) == pytest.approx(1.0)
    assert mean_distance(weights, np.arange(2)) == pytest.approx(0.5)
    nothing = np.zeros((2, 2))
    assert np.isnan(mean_entropy(nothing)) and np.isnan(mean_distance(nothing, np.arange(2)))
