"""Masks against their definitions, cell by cell, and against counts that somebody else made."""

from __future__ import annotations

import math

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


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_a_prefix_is_seen_whole_and_the_rest_is_causal(q: Positions, k: Positions, n: int) -> None:
    assert masks.prefix(q, k, n).tolist() == [[not (j <= i or j < n) for j in k] for i in q]


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize(("left", "right", "dilation"), [(0, 0, 2), (2, 0, 2), (1, 2, 3), (2, 1, 1)])
def test_dilated_counts_keys_not_positions(
    q: Positions, k: Positions, left: int, right: int, dilation: int
) -> None:
    seen = [{i - step * dilation for step in range(-right, left + 1)} for i in q]
    assert masks.dilated(q, k, left, right, dilation).tolist() == [[j not in row for j in k] for row in seen]
    np.testing.assert_array_equal(masks.dilated(q, k, left, right, 1), masks.window(q, k, left, right))


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize("stride", [1, 2, 3, 50])
def test_strided_goes_back_in_steps(q: Positions, k: Positions, stride: int) -> None:
    seen = [set(range(int(i), -200, -stride)) for i in q]
    assert masks.strided(q, k, stride).tolist() == [[j not in row for j in k] for row in seen]


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize(("size", "previous"), [(1, 0), (2, 0), (3, 1), (4, 2), (50, 0)])
def test_blocks_see_themselves_and_those_before(q: Positions, k: Positions, size: int, previous: int) -> None:
    def block(position: int) -> int:
        return math.floor(position / size)

    seen = [range(block(i) - previous, block(i) + 1) for i in q]
    assert masks.blocks(q, k, size, previous).tolist() == [[block(j) not in row for j in k] for row in seen]


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize("tokens", [(), (0,), (3, 8), (1, 1, 99)])
def test_global_tokens_see_all_and_are_seen_by_all(
    q: Positions, k: Positions, tokens: tuple[int, ...]
) -> None:
    expected = [[i not in tokens and j not in tokens for j in k] for i in q]
    assert masks.global_tokens(q, k, tokens).tolist() == expected


@pytest.mark.parametrize(("q", "k"), SPANS)
@pytest.mark.parametrize("starts", [(), (0,), (0, 3), (2, 3, 8)])
def test_nobody_sees_across_the_start_of_a_document(
    q: Positions, k: Positions, starts: tuple[int, ...]
) -> None:
    def document(position: int) -> int:
        return sum(start <= position for start in starts)

    assert masks.documents(q, k, starts).tolist() == [[document(i) != document(j) for j in k] for i in q]


def test_the_strided_pattern_of_the_sparse_transformer_is_written_out() -> None:
    """Child et al. 2019: A1 = {max(0, i - l) ... i}, A2 = {j <= i : (i - j) mod l = 0}, here for l = 4."""
    i = np.arange(16)
    both = masks.window(i, i, 4, 0) & masks.strided(i, i, 4)
    rows = [np.flatnonzero(~row).tolist() for row in both]
    assert rows[3] == [0, 1, 2, 3]
    assert rows[10] == [2, 6, 7, 8, 9, 10]
    assert rows[15] == [3, 7, 11, 12, 13, 14, 15]


def test_a_decoding_step_sees_the_row_of_the_full_pass() -> None:
    everything = np.arange(8)
    for step in range(8):
        row, seen = np.array([step]), np.arange(step + 1)
        for mask, arguments in (
            (masks.causal, ()),
            (masks.window, (2, 1)),
            (masks.padding, ((1, 5),)),
            (masks.prefix, (4,)),
            (masks.dilated, (2, 1, 2)),
            (masks.strided, (3,)),
            (masks.blocks, (3, 1)),
            (masks.global_tokens, ((0, 6),)),
            (masks.documents, ((0, 3, 5),)),
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
