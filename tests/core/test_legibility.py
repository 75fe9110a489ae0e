"""Proposed ranges, for maps of the four kinds that long texts lead to."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.legibility import LONG, better_range
from attnviz.core.levels import RANGE_BY_ID

N = 128
FUTURE = np.triu(np.ones((N, N), dtype=bool), 1)


def causal(scores: np.ndarray) -> np.ndarray:
    """Softmax over the keys that a causal mask leaves."""
    shifted = np.exp(np.where(FUTURE, -np.inf, scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


RANDOM = np.random.default_rng(2).standard_normal((N, N))
SINK = RANDOM + 8 * (np.arange(N) == 0)
DIAGONAL = RANDOM + 9 * np.eye(N)


@pytest.mark.parametrize(
    ("scores", "expected"), [(RANDOM, "row"), (SINK, "without_first"), (DIAGONAL, "log"), (6 * RANDOM, "")]
)
def test_the_range_tells_what_one_token_hides(scores: np.ndarray, expected: str) -> None:
    found = better_range(causal(scores), FUTURE)
    assert found == expected and (not found or found in RANGE_BY_ID)


def test_short_maps_and_maps_without_weight_need_none() -> None:
    short = slice(0, LONG - 1)
    assert better_range(causal(SINK)[short, short], FUTURE[short, short]) == ""
    assert better_range(np.zeros((N, N)), None) == ""
    assert better_range(np.full((N, N), np.nan), None) == ""
