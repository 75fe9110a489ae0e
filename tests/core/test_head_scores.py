"""Scores of a head against weights whose scores are known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnviz.core.head_scores import HEAD_SCORE_BY_ID, HEAD_SCORES

N = 6
CAUSAL = np.triu(np.ones((N, N), np.bool_), 1)
EVEN = np.where(CAUSAL, 0, 1 / np.arange(1, N + 1)[:, None])
PREVIOUS = np.eye(N, k=-1)
PREVIOUS[0, 0] = 1
FIRST = np.zeros((N, N))
FIRST[:, 0] = 1


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (PREVIOUS, {"previous": 1, "first": 1 / (N - 1), "entropy": 0}),
        (FIRST, {"previous": 1 / (N - 1), "first": 1, "entropy": 0}),
        # Σ 1/(i + 1) over i = 1…5, divided by 5.
        (EVEN, {"previous": 0.29, "first": 0.29, "entropy": 1}),
    ],
    ids=["previous", "first", "even"],
)
def test_heads_of_a_known_kind(weights: np.ndarray, expected: dict[str, float]) -> None:
    for id_, value in expected.items():
        assert HEAD_SCORE_BY_ID[id_].of(weights, CAUSAL) == pytest.approx(value, abs=1e-12), id_


def test_half_the_weight_on_each_of_two_of_four_keys_is_half_the_entropy() -> None:
    weights = np.array([[0.5, 0.5, 0, 0]] * 3)
    assert HEAD_SCORE_BY_ID["entropy"].of(weights, None) == pytest.approx(0.5)


@pytest.mark.parametrize("row", HEAD_SCORES, ids=lambda row: row.id)
def test_one_token_has_no_score(row: object) -> None:
    assert math.isnan(row.of(np.ones((1, 1)), None))  # type: ignore[attr-defined]


@given(arrays.arrays(np.float64, (4, 4), elements=st.floats(1e-3, 1)))
def test_every_score_is_from_zero_to_one(raw: np.ndarray) -> None:
    weights = raw / raw.sum(axis=1, keepdims=True)
    for row in HEAD_SCORES:
        assert 0 <= row.of(weights, None) <= 1 + 1e-12, row.id


def test_a_nan_row_gives_nan_and_no_warning() -> None:
    weights = np.full((3, 3), np.nan)
    assert all(math.isnan(row.of(weights, None)) for row in HEAD_SCORES)
