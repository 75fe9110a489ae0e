"""Large matrices reduced for thumbnails: what stands out must survive."""

from __future__ import annotations

import numpy as np

from attnviz.core.overview import SIDE, overview


def test_a_small_matrix_comes_back_as_it_is() -> None:
    values = np.arange(12.0).reshape(3, 4)
    blocked = values > 5
    assert overview(values, blocked) == (values, blocked)


def test_one_bright_and_one_dark_cell_survive() -> None:
    values = np.zeros((1000, 700))
    values[613, 402], values[77, 699] = 5.0, -7.0
    small, hidden = overview(values, None)
    assert hidden is None
    assert small.shape == (250, 234)
    assert max(small.shape) <= SIDE
    assert small[613 // 4, 402 // 3] == 5.0
    assert small[77 // 4, 699 // 3] == -7.0
    assert np.count_nonzero(small) == 2


def test_only_blocks_without_a_visible_cell_are_blocked() -> None:
    n = 600
    values = np.ones((n, n))
    blocked = np.triu(np.ones((n, n), dtype=bool), 1)
    values[blocked] = -np.inf
    small, hidden = overview(values, blocked)
    assert hidden is not None
    assert np.array_equal(hidden, np.triu(np.ones((200, 200), dtype=bool), 1))
    assert np.array_equal(small[~hidden], np.ones(200 * 201 // 2))


def test_nan_and_infinities_are_kept() -> None:
    values = np.zeros((512, 512))
    values[10, 10], values[200, 300] = np.nan, -np.inf
    small, _hidden = overview(values, None)
    assert np.isnan(small[5, 5])
    assert small[100, 150] == -np.inf
