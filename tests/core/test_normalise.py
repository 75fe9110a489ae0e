"""Normalisers against the textbook's formulas, one number at a time in Python's own arithmetic."""

from __future__ import annotations

import math
from typing import get_args

import array_api_compat.numpy as xp
import numpy as np
import pytest

from attnviz.core.normalise import relu_squared_, sigmoid_, softmax_with_sinks_
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.spec.parts import Normaliser

ROWS = [[0.3, -1.2, -math.inf, 2.5], [-math.inf, 0.0, 0.0, 0.0], [30.0, -40.0, 5.0, -math.inf]]
VISIBLE = [3, 3, 3]


def scores() -> np.ndarray:  # type: ignore[type-arg]
    return np.array(ROWS)[None, None]


def test_a_sigmoid_looks_at_one_score_and_at_how_many_are_seen() -> None:
    found = scores()
    sigmoid_(xp, found, np.array(VISIBLE, dtype=float)[:, None])
    for row, n, weights in zip(ROWS, VISIBLE, found[0, 0], strict=True):
        for score, weight in zip(row, weights, strict=True):
            expected = 0.0 if score == -math.inf else 1 / (1 + math.exp(-(score - math.log(n))))
            assert weight == pytest.approx(expected, rel=1e-14)
    assert found[0, 0, 1].sum() == pytest.approx(3 * (1 / 3) / (1 + 1 / 3))  # n / (n + 1)
    assert (found[np.isneginf(scores())] == 0).all()


def test_squared_relu_looks_at_one_score_and_divides_by_how_many_are_seen() -> None:
    found = scores()
    relu_squared_(xp, found, np.array(VISIBLE, dtype=float)[:, None])
    for row, n, weights in zip(ROWS, VISIBLE, found[0, 0], strict=True):
        assert weights.tolist() == pytest.approx([max(0.0, score) ** 2 / n for score in row], rel=1e-15)
    assert (found[np.isneginf(scores())] == 0).all()


@pytest.mark.parametrize("sink", [-2.0, 0.0, 29.0, 900.0, -900.0])
def test_a_sink_is_one_more_score_whose_weight_is_left_out(sink: float) -> None:
    found = scores()
    softmax_with_sinks_(xp, found, np.full((1, 1, 1, 1), sink))
    for row, weights in zip(ROWS, found[0, 0], strict=True):
        top = max(*row, sink)
        total = math.fsum(math.exp(score - top) for score in (*row, sink))
        assert weights.tolist() == pytest.approx([math.exp(s - top) / total for s in row], rel=1e-14)
        left = math.exp(sink - top) / total
        assert weights.sum() + left == pytest.approx(1.0, rel=1e-14)


def test_nan_stays_nan() -> None:
    for apply in (sigmoid_, relu_squared_):
        found = np.array([[[[np.nan, 1.0]]]])
        apply(xp, found, np.array([[2.0]]))
        assert np.isnan(found[0, 0, 0, 0]) and not np.isnan(found[0, 0, 0, 1])


def test_the_table_has_every_normaliser_that_a_document_can_name() -> None:
    assert tuple(row.id for row in NORMALISERS) == get_args(Normaliser)
    assert [row.id for row in NORMALISERS if row.rule.is_shared] == ["softmax"]
