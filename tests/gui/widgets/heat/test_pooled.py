"""Blocks of numbers pooled before they are coloured are the colours pooled."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.levels import RANGES
from attnviz.gui.look.colors import pool
from attnviz.gui.widgets.heat.content import cell_indices, color_kind, pooled_indices

SHAPES = ((7, 9), (64, 200), (1, 90))
ODD = {"finite": None, "NaN": np.nan, "-inf": -np.inf, "+inf": np.inf}


@pytest.mark.parametrize("range_id", [row.id for row in RANGES])
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("odd", ODD)
def test_the_pooled_bytes_are_those_of_all_cells(range_id: str, is_signed: bool, odd: str) -> None:
    numbers = np.random.default_rng(0)
    for shape in SHAPES:
        values = numbers.normal(size=shape).astype(np.float32)
        values = values if is_signed else np.abs(values)
        if ODD[odd] is not None:
            values[numbers.random(shape) < 0.02] = ODD[odd]
        for blocked in (None, numbers.random(shape) < 0.6):
            every, _ends = cell_indices(values, is_signed, range_id, None, blocked)
            for factors in ((1, 1), (2, 3), (5, 9)):
                expected = pool(every, factors, color_kind(is_signed, range_id))
                found = pooled_indices(values, is_signed, range_id, factors, None, blocked)
                np.testing.assert_array_equal(found, expected)
