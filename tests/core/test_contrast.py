"""Two matrices on common axes: absent cells are no zeros, and the greatest changes are the greatest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnviz.core.contrast import difference, greatest, placed


def test_absent_cells_are_nan_and_said_to_be_absent() -> None:
    values, absent = placed(np.array([[1.0, 2.0], [3.0, 4.0]]), (0, None, 1), (None, 1, 0))
    np.testing.assert_array_equal(values, [[np.nan, 2, 1], [np.nan] * 3, [np.nan, 4, 3]])
    np.testing.assert_array_equal(absent, [[True, False, False], [True] * 3, [True, False, False]])


def test_the_difference_of_two_infinities_is_nan_and_of_one_is_infinite() -> None:
    change = difference(np.array([-np.inf, -np.inf, 1.0]), np.array([-np.inf, 2.0, -np.inf]))
    np.testing.assert_array_equal(change, [np.nan, np.inf, -np.inf])


FLOATS = st.sampled_from([0.0, -0.5, 0.5, 0.25, -3.0, np.nan, np.inf, -np.inf])


@given(arrays.arrays(np.float64, (4, 5), elements=FLOATS), st.integers(1, 25), st.data())
def test_the_greatest_are_those_that_sorting_finds(
    change: np.ndarray, most: int, data: st.DataObject
) -> None:
    counted = data.draw(arrays.arrays(np.bool_, (4, 5)))
    cells = [
        (-abs(change[r, c]), r, c)
        for r in range(4)
        for c in range(5)
        if counted[r, c] and not np.isnan(change[r, c]) and change[r, c] != 0
    ]
    assert greatest(change, counted, most) == [(r, c) for _size, r, c in sorted(cells)[:most]]


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (1, 1)])
def test_nothing_changes_where_nothing_is(shape: tuple[int, int]) -> None:
    assert greatest(np.zeros(shape), np.ones(shape, np.bool_), 3) == []
