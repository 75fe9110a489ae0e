"""Entropy against torch's, and against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.entropy import effective_count, entropy_bits

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
