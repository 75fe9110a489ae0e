"""A matrix that is read in windows of its rows: its source stores it, or computes what is read.

An array is one window, so that a function over `windows` reads either, with the same digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Read = Callable[[slice, slice], Array]


class Matrix:
    """Numbers (rows, columns) of which `read(rows, columns)` computes a window of at most `most_cells`.

    Indices are whole numbers and slices, as of an array; what they name must fit into one window.
    """

    ndim = 2

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], read: Read, most_cells: int) -> None:
        self.shape, self.dtype, self.most_cells, self._read = shape, dtype, most_cells, read

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.shape[0] * self.shape[1]

    @property
    def T(self) -> Matrix:
        """The same cells with rows and columns exchanged."""
        turned = self.shape[1], self.shape[0]
        return Matrix(turned, self.dtype, lambda rows, columns: self._read(columns, rows).T, self.most_cells)

    def part(self, rows: slice, columns: slice = slice(None)) -> Matrix:
        """The cells of some rows and columns."""
        down, across = range(self.shape[0])[rows], range(self.shape[1])[columns]

        def read(own_rows: slice, own_columns: slice) -> Array:
            return self._read(_inside(down, own_rows), _inside(across, own_columns))

        return Matrix((len(down), len(across)), self.dtype, read, self.most_cells)

    def __getitem__(self, part: Any) -> Any:
        places = part if isinstance(part, tuple) else (part, slice(None))
        ends = tuple(_span(place, size) for place, size in zip(places, self.shape, strict=True))
        inside = tuple(slice(None) if isinstance(place, slice) else 0 for place in places)
        return self._read(*ends)[inside]


AnyMatrix = Array | Matrix
"""A matrix at hand, or one that is read in windows."""


def windows(values: AnyMatrix, most_cells: int | None = None, step: int = 1) -> Iterator[tuple[slice, Array]]:
    """The rows of `values` from the first to the last: which they are, and their numbers.

    Each window has at most `most_cells` and what the source gives at once, but `step` rows, of which all but
    the last have a multiple. An array without `most_cells` is one window.
    """
    n_rows, n_columns = values.shape
    most = values.size if isinstance(values, np.ndarray) else values.most_cells
    most = most if most_cells is None else min(most, most_cells)
    height = max(1, most // max(1, n_columns) // step) * step
    if isinstance(values, np.ndarray) and height >= n_rows:
        yield slice(0, n_rows), values
        return
    for first in range(0, max(1, n_rows), height):
        part = slice(first, min(first + height, n_rows))
        yield part, values[part]


def part_of(values: AnyMatrix, rows: slice, columns: slice = slice(None)) -> AnyMatrix:
    """Some rows and columns, which are read as `values` are."""
    if rows == columns == slice(None):
        return values
    return values[rows, columns] if isinstance(values, np.ndarray) else values.part(rows, columns)


def by_rows(of: Callable[[Array], Array], values: AnyMatrix) -> Array:
    """The numbers that `of` computes of each row alone, (rows, ...)."""
    found = [of(window) for _rows, window in windows(values)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def taken(values: AnyMatrix, rows: slice = slice(None)) -> Array:
    """Some rows as an array: for a caller with a bound of how many cells it reads."""
    return by_rows(np.asarray, part_of(values, rows))


def cells(values: AnyMatrix, rows: NDArray[np.integer], columns: NDArray[np.integer]) -> Array:
    """The numbers in the cells (rows[i], columns[i]), in their order and shape; both are broadcast."""
    if isinstance(values, np.ndarray):
        return np.asarray(values[rows, columns])
    rows, columns = np.broadcast_arrays(rows, columns)
    found = np.empty(rows.shape, values.dtype)
    for part, window in windows(values):
        inside = (part.start <= rows) & (rows < part.stop)
        found[inside] = window[rows[inside] - part.start, columns[inside]]
    return found


def column_sums(
    values: AnyMatrix, dtype: type[np.floating] | None = None, of: Callable[[Array], Array] = np.asarray
) -> Array:
    """The sum of each column of `of` the numbers in `dtype`, row after row as NumPy adds them."""
    total: Array | None = None
    for _rows, found in windows(values):
        window = of(found)
        if total is None:
            total = np.asarray(window.sum(axis=0, dtype=dtype))
        else:
            for row in window:
                total += row
    assert total is not None  # also no row is a window
    return total


def column_means(values: AnyMatrix, dtype: type[np.floating] | None = None) -> Array:
    """The mean of each column in `dtype`; that of float16 is added in float32."""
    if isinstance(values, np.ndarray):
        return np.asarray(values.mean(axis=0, dtype=dtype))
    wide = np.float32 if dtype is None and values.dtype == np.float16 else dtype
    means = column_sums(values, wide) / len(values)
    return means.astype(values.dtype if dtype is None else dtype, copy=False)


def rank(values: Callable[[], Iterator[Array]], place: int) -> float:
    """The number at `place`, counted from 0, among the numbers of all windows in ascending order.

    `values()` yields the windows, flat and without NaN; they pass once for each 16 bits of a number: a digit
    of the sought one is found by counting, as in a radix sort, so that nothing is stored.
    """
    known, bits = 0, 0
    width = 0
    while bits == 0 or bits < width:
        counts = np.zeros(1 << 16, np.int64)
        for window in values():
            width = window.dtype.itemsize * 8
            keys = _ordered(window)
            if bits:
                keys = keys[keys >> np.uint64(width - bits) == np.uint64(known)]
            digits = (keys >> np.uint64(width - bits - 16)) & np.uint64(0xFFFF)
            counts += np.bincount(digits.astype(np.int64), minlength=1 << 16)
        passed = np.cumsum(counts)
        digit = int(np.searchsorted(passed, place, side="right"))
        place -= int(passed[digit] - counts[digit])
        known, bits = known << 16 | digit, bits + 16
    return _number(known, width)


def _ordered(values: Array) -> NDArray[np.uint64]:
    """Whole numbers in the order of the floats: the sign bit is exchanged, and negative numbers fall."""
    width = values.dtype.itemsize * 8
    plain = np.ascontiguousarray(values).view(f"u{width // 8}").astype(np.uint64)
    sign = np.uint64(1 << (width - 1))
    every = np.uint64((1 << width) - 1)
    return np.where(plain & sign, ~plain & every, plain | sign)


def _number(key: int, width: int) -> float:
    sign = 1 << (width - 1)
    plain = key ^ sign if key & sign else ~key & ((1 << width) - 1)
    return float(np.array([plain], np.dtype(f"u{width // 8}")).view(f"f{width // 8}")[0])


def _inside(whole: range, own: slice) -> slice:
    """A part of `whole` by its own indices, as indices of what `whole` is a part of."""
    met = whole[own]
    return slice(met.start, met.stop, met.step)


def _span(place: Any, size: int) -> slice:
    """A place on an axis as a slice."""
    if isinstance(place, slice):
        return slice(*place.indices(size))
    at = range(size)[int(place)]
    return slice(at, at + 1)
