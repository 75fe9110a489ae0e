"""Masks against their definitions, cell by cell, and against counts that somebody else made."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.core import masks

Positions = NDArray[np.int64]

SPANS = [
    (np.arange(6), np.arange(6)),
    (np.arange(4), np.arange(7)),
    (np.arange(7), np.arange(3)),
    (np.array([9]), np.arange(10)),
    (np.array([3, 4, 5]), np.array([1, 2, 8])),
    (np.array([-2, -1, 0]), np.arange(4)),
]


@pytest.mark.parametrize(("q", "k"), SPANS)
def test_causal_blocks_what_comes_later(q: Positions, k: Positions) -> None:
    assert masks.causal(q, k).tolist() == [[j > i for j in k] for i in q]


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize(("left", "right"), [(0, 0), (2, 0), (0, 3), (1, 2), (100, 100)])
def test_window_counts_neighbours_besides_the_own_position(
    q: Positions, k: Positions, left: int, right: int
) -> None:
    expected = [[not (i - left <= j <= i + right) for j in k] for i in q]
    assert masks.window(q, k, left, right).tolist() == expected


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize("tokens", [(), (0,), (2, 8), (1, 1, 99)])
def test_padding_blocks_whole_columns(q: Positions, k: Positions, tokens: tuple[int, ...]) -> None:
    assert masks.padding(q, k, tokens).tolist() == [[j in tokens for j in k] for _ in q]


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize("cells", [(), ((0, 0),), ((3, 2), (4, 8), (9, 9), (1000, 1000))])
def test_paint_names_absolute_positions(
    q: Positions, k: Positions, cells: tuple[tuple[int, int], ...]
) -> None:
    assert masks.painted(q, k, cells).tolist() == [[(i, j) in cells for j in k] for i in q]


def test_a_decoding_step_sees_the_row_of_the_full_pass() -> None:
    everything = np.arange(8)
    for step in range(8):
        row, seen = np.array([step]), np.arange(step + 1)
        for mask, arguments in (
            (masks.causal, ()),
            (masks.window, (2, 1)),
            (masks.padding, ((1, 5),)),
            (masks.painted, (((6, 2), (3, 3)),)),
        ):
            full = mask(everything, everything, *arguments)
            np.testing.assert_array_equal(mask(row, seen, *arguments)[0], full[step, : step + 1])


def allowed_pairs(n: int, keys_in_window: int | None) -> int:
    """Pairs that a causal mask, and a window of that many keys with the own one, leave."""
    positions = np.arange(n)
    blocked = masks.causal(positions, positions)
    if keys_in_window is not None:
        blocked = blocked | masks.window(positions, positions, keys_in_window - 1, 0)
    return int((~blocked).sum())


def test_pairs_of_a_causal_and_of_a_local_window() -> None:
    """100,000 tokens: 5,000,050,000 causal pairs, 51,069,184 with a window of 512 keys."""
    n, w = 100_000, 512
    triangle = allowed_pairs(w, w)
    assert triangle == allowed_pairs(w, None) == 131_328
    for rows in range(1, 40, 13):  # past the first w rows, each has w pairs
        assert allowed_pairs(w + rows, w) == triangle + rows * w
        assert allowed_pairs(w + rows, None) == (w + rows) * (w + rows + 1) // 2
    last = masks.causal(np.array([n - 1]), np.arange(n)) | masks.window(
        np.array([n - 1]), np.arange(n), w - 1, 0
    )
    assert int((~last).sum()) == w
    assert triangle + (n - w) * w == 51_069_184
    assert n * (n + 1) // 2 == 5_000_050_000
    assert round(5_000_050_000 / 51_069_184, 1) == 97.9


def test_transformers_window_of_w_keys_is_left_w_minus_1() -> None:
    positions = np.arange(9)
    w = 3
    theirs = (positions[:, None] - positions[None, :] >= w) | (positions[None, :] > positions[:, None])
    ours = masks.window(positions, positions, w - 1, 0)
    np.testing.assert_array_equal(ours, theirs)
