"""Drawn arrays are made once, are the same for everybody, and do not fill the memory."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.model.operands import draws as drawn
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.rows import DrawnRow, row_array


def test_dozens_of_matrices_are_each_made_once() -> None:
    made: list[int] = []
    ones = Drawn(lambda n: made.append(n) or np.ones(n))  # type: ignore[func-returns-value]
    for _ in range(3):
        for n in range(1, 60):
            assert len(ones(n)) == n
    assert made == list(range(1, 60))
    with pytest.raises(ValueError, match="read-only"):
        ones(3)[0] = 2.0


def test_those_not_asked_for_are_let_go_past_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    arrays = Drawn(lambda name: made.append(name) or np.zeros(10))  # type: ignore[func-returns-value]
    monkeypatch.setattr(drawn, "KEPT_BYTES", 3 * 80)
    for name in "abcadb":  # d takes the place of b, which was not requested again
        arrays(name)
    assert made == ["a", "b", "c", "d", "b"]
    monkeypatch.setattr(drawn, "KEPT_BYTES", 1)
    assert arrays("e") is arrays("e")  # the last one, however large


def test_a_row_is_its_mean_and_its_seeded_numbers() -> None:
    row = DrawnRow(7, mean=1.0, std=0.5)
    np.testing.assert_array_equal(row_array(row, 4), 1.0 + 0.5 * np.random.default_rng(7).standard_normal(4))
    assert row_array(row, 4) is row_array(row, 4)
