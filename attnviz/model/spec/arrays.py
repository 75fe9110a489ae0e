"""`Matrix`: the one array type that a document holds: two-dimensional, finite, float64, never changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_NUMBERS = 64_000_000
"""Largest number of entries that a document's matrix may have (512 MB in float64)."""

MAX_DRAWN = 2**28
"""Largest number of entries of a matrix that is drawn from a seed (2 GB in float64)."""

COMPARED_AT_ONCE = 2**15
"""Numbers of two matrices that are compared before it is asked whether some differ."""

_REAL_KINDS = "iuf"
"""Dtypes of whole numbers and of floating-point numbers, as NumPy abbreviates their kinds."""

_NO_NUMBERS = (bool, np.bool_, str, complex, dict, list, tuple)


class Matrix:
    """An immutable (rows, columns) matrix of finite float64 numbers, compared by value.

    Raises `ValueError` with one sentence when the input is not rectangular, is empty, is not
    numeric, has more than `MAX_NUMBERS` entries, or holds NaN or an infinity.
    """

    __slots__ = ("_hash", "array")

    array: NDArray[np.float64]

    def __init__(self, values: ArrayLike) -> None:
        array = _as_array(values)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"a matrix needs at least one row and one column, got shape {array.shape}")
        if array.size > MAX_NUMBERS:
            raise ValueError(f"a matrix may have {MAX_NUMBERS:,} numbers at most, got {array.size:,}")
        if not np.isfinite(array).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(
                f"row {row}, column {column} is {array[row, column]}; only finite numbers are legal"
            )
        self._take(array)

    def _take(self, array: NDArray[np.float64]) -> None:
        array.setflags(write=False)
        self.array = array
        self._hash: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.array.shape
        return rows, columns

    def replaced(self, row: int, column: int, value: float) -> Matrix:
        """This matrix with one entry changed."""
        array = self.array.copy()
        array[row, column] = value
        if not math.isfinite(array[row, column]):
            return Matrix(array)  # which says what is wrong
        changed = Matrix.__new__(Matrix)  # its other numbers have been checked
        changed._take(array)
        return changed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        if self is other or self.shape != other.shape:
            return self is other
        # Part by part: two that differ mostly do so early, and are compared several times for one edit.
        step = max(1, COMPARED_AT_ONCE // self.shape[1])
        starts = range(0, self.shape[0], step)
        return all(np.array_equal(self.array[i : i + step], other.array[i : i + step]) for i in starts)

    def __hash__(self) -> int:
        if self._hash is None:
            # -0.0 equals 0.0, so it must hash alike: adding 0.0 removes the sign.
            self._hash = hash((self.array.shape, (self.array + 0.0).tobytes()))
        return self._hash

    def __repr__(self) -> str:
        return f"Matrix({self.shape[0]}x{self.shape[1]})"


def _as_array(values: Any) -> NDArray[np.float64]:
    """A private float64 copy of nested sequences or of an array."""
    if isinstance(values, np.ndarray):
        values = _of_numbers(values)
    if not isinstance(values, np.ndarray):
        rows = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else None
        if rows is None or not all(isinstance(row, Sequence | np.ndarray) for row in rows):
            raise ValueError("a matrix is a list of rows, each a list of numbers")
        for index, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise ValueError(f"row {index} has length {len(row)}, row 0 has length {len(rows[0])}")
            for column, value in enumerate(row):
                if value is None or isinstance(value, _NO_NUMBERS):
                    plain = value.item() if isinstance(value, np.generic) else value
                    said = f"{plain!r:.60}"
                    raise ValueError(f"row {index}, column {column} is {said}; a number is legal")
    try:
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"a matrix is a list of rows, each a list of numbers ({error})") from None


def _of_numbers(array: NDArray[Any]) -> NDArray[Any] | list[Any]:
    """The array; as lists, which are checked number by number, where its dtype is not one of real numbers.

    Raises `ValueError` for a masked element: what lies under a mask is no number of the matrix.
    """
    if np.ma.is_masked(array) and array.ndim == 2:
        row, column = (int(index) for index in np.argwhere(np.ma.getmaskarray(array))[0])
        raise ValueError(f"row {row}, column {column} is masked; a number is legal")
    return array if array.dtype.kind in _REAL_KINDS or array.ndim != 2 else list(array.tolist())
