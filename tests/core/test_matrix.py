"""A matrix that is read in windows has, in every function of it, the digits of the array at once."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnviz.core.head_measures import entropy_bits
from attnviz.core.head_scores import HEAD_SCORES, Head, Repeats
from attnviz.core.levels import RANGES, better_range, levels
from attnviz.core.matrix import (
    AnyMatrix,
    Matrix,
    by_rows,
    cells,
    column_means,
    column_sums,
    rank,
    taken,
    windows,
)
from attnviz.core.overview import overview

N, MOST = 83, 700
RNG = np.random.default_rng(0)
WEIGHTS = np.tril(RNG.random((N, N)))
WEIGHTS /= WEIGHTS.sum(axis=1, keepdims=True)
BLOCKED = np.triu(np.ones((N, N), np.bool_), 1)
SPOILT = RNG.standard_normal((N, N))
SPOILT[3, 4], SPOILT[70, 2], SPOILT[71, 8] = math.nan, math.inf, -math.inf
ARRAYS = {"weights": WEIGHTS, "signed": RNG.standard_normal((N, N)), "spoilt": SPOILT}
DTYPES = ("float16", "float32", "float64")


def in_windows(array: np.ndarray[Any, Any]) -> Matrix:
    """The array, of which nobody gets more than `MOST` cells."""

    def read(rows: slice, columns: slice) -> np.ndarray[Any, Any]:
        window = array[rows, columns]
        assert window.size <= MOST or 1 in window.shape
        return window

    return Matrix(array.shape, array.dtype, read, MOST)


def spoken(found: object) -> Any:
    """Bits of a result."""
    parts = found if isinstance(found, tuple) else (found,)
    return [None if part is None else np.asarray(part).tobytes() for part in parts]


FUNCTIONS: dict[str, Callable[[AnyMatrix], Any]] = {
    "row sums": lambda m: by_rows(lambda rows: rows.sum(axis=1), m),
    "entropy": lambda m: by_rows(entropy_bits, m),
    "column sums": column_sums,
    "column sums, wide": lambda m: column_sums(m, np.float64),
    "column means": column_means,
    "column means, wide": lambda m: column_means(m, np.float64),
    "every third row": lambda m: taken(m, slice(1, None, 3)),
    "all": taken,
    "cells": lambda m: cells(m, np.array([80, 0, 41, 0]), np.array([1, 82, 41, 0])),
    "block": lambda m: cells(m, *np.ix_([2, 60], [5, 7, 81])),
    "turned": lambda m: by_rows(np.asarray, m.T),
    "column": lambda m: m[:, 7],
    "row": lambda m: m[-1],
    "cell": lambda m: m[5, 6],
    "overview": lambda m: overview(m, None, 12),
    "overview of a mask": lambda m: overview(m, BLOCKED, 12),
    "readable": lambda m: np.array(ord(better_range(m, BLOCKED)[:1] or " ")),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("array", ARRAYS.values(), ids=list(ARRAYS))
def test_functions_of_windows_have_the_digits_of_the_array(array: np.ndarray[Any, Any], dtype: str) -> None:
    array = array.astype(dtype)
    for name, of in FUNCTIONS.items():
        assert spoken(of(in_windows(array))) == spoken(of(array)), name
    for row in RANGES:
        for signed in (False, True):
            for blocked in (None, BLOCKED):
                found = levels(in_windows(array), row.id, signed, blocked)
                assert found == levels(array, row.id, signed, blocked), (row.id, signed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_of_a_head_have_the_digits_of_the_array(dtype: str) -> None:
    weights, repeats = WEIGHTS.astype(dtype), Repeats(np.arange(N) % 7)
    heads = (Head(one, BLOCKED, repeats, ((9, 2), (4, 1))) for one in (weights, in_windows(weights)))
    whole, part = ([row.of(head) for row in HEAD_SCORES] for head in heads)
    assert part == whole


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_number_at_a_place_is_that_of_the_sorted_ones(dtype: str) -> None:
    numbers = np.concatenate([RNG.standard_normal(997), [0.0, 1e4, -1e4]]).astype(dtype)
    in_order = np.sort(numbers)
    for place in (0, 1, 499, 998, 999):
        assert rank(lambda: iter(np.array_split(numbers, 9)), place) == float(in_order[place])


def test_windows_cover_the_rows_once_and_in_order() -> None:
    for step in (1, 3, 8):
        rows = [part for part, _values in windows(in_windows(WEIGHTS), step=step)]
        assert [row for part in rows for row in range(N)[part]] == list(range(N))
        assert all(len(range(N)[part]) % step == 0 for part in rows[:-1])
