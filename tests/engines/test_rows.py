"""Rows that are added to rows of an array, several to one."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import ALONE


@pytest.mark.parametrize("name", ENGINE_BY_ID)
@pytest.mark.parametrize("rows", [[2], [0, 0, 0], [4, 1, 4, 0, 1, 4]])
def test_every_row_is_added_to_its_own(name: str, rows: list[int]) -> None:
    engine = ENGINE_BY_ID[name].make("float64", "cpu", ALONE)
    numbers = np.random.default_rng(0).normal(size=(len(rows), 3))
    expected = np.ones((5, 3))
    np.add.at(expected, rows, numbers)
    with engine.active():
        array = engine.zeros((5, 3))
        array += 1
        engine.add_rows_(array, np.array(rows), engine.asarray(numbers))
        found = engine.to_numpy(array)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
