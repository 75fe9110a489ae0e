"""Measures of heads against numbers that follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.head_measures import effective_count, entropy_bits, mean_distance, mean_entropy, overlap


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


torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_entropy_is_that_of_torch(dtype: type) -> None:
    weights = np.exp(np.random.default_rng(4).standard_normal((40, 17)) * 3)
    weights[:, 3:9] *= weights[:, 3:9] > 1  # exact zeros, as of masked keys
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(dtype)
    distribution = torch.distributions.Categorical(probs=torch.tensor(weights.astype(np.float64)))
    expected = (distribution.entropy() / np.log(2)).numpy()
    np.testing.assert_allclose(entropy_bits(weights), expected, rtol=1e-9)


def test_known_spreads() -> None:
    rows = np.array([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0], [0.5, 0.25, 0.125, 0.125]])
    assert entropy_bits(rows).tolist() == [0, 2, 1, 1.75]
    assert effective_count(entropy_bits(rows)).tolist() == pytest.approx([1, 4, 2, 2**1.75])


def test_a_row_is_divided_by_its_sum() -> None:
    rows = np.array([[0.1, 0.1, 0.0], [3.0, 1.0, 0.0]])
    assert entropy_bits(rows).tolist() == pytest.approx([1.0, 2 - 0.75 * np.log2(3)])


def test_a_row_that_is_no_distribution_has_none() -> None:
    rows = np.array([[0, 0], [np.nan, 1], [np.inf, 1], [-1, 2], [1, 0]], dtype=np.float32)
    assert np.isnan(entropy_bits(rows)).tolist() == [True, True, True, True, False]
    assert entropy_bits(np.zeros((0, 3))).shape == (0,) and np.isnan(entropy_bits(np.zeros((2, 0)))).all()
