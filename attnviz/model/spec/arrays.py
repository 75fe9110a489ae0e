"""`Matrix`: the one array type that a document holds: two-dimensional, finite, float64, never changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.errors import FINITE, FieldError, Message, must_be, of_length

MAX_NUMBERS = 64_000_000
"""Largest number of entries that a document's matrix may have (512 MB in float64)."""

MAX_DRAWN = 2**28
"""Largest number of entries of a matrix that is drawn from a seed (2 GB in float64)."""

COMPARED_AT_ONCE = 2**15
"""Numbers of two matrices that are compared before it is asked whether some differ."""

WHERE = "matrix"
"""What a matrix is called in errors until it is known which field holds it."""

ROWS_OF_NUMBERS = must_be("a list of rows, each a list of numbers")

_NO_NUMBERS = (bool, str, dict, list, tuple)


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
            raise _refused(
                Message("shape {shape}", shape=list(array.shape)),
                must_be("a matrix of at least one row and one column"),
            )
        if array.size > MAX_NUMBERS:
            most = must_be("a matrix of at most {most:,} numbers", most=MAX_NUMBERS)
            raise _refused(Message("{n:,} numbers", n=array.size), most)
        if not np.isfinite(array).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise FieldError(f"{WHERE}[{row}][{column}]", float(array[row, column]), FINITE)
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
    if not isinstance(values, np.ndarray):
        rows = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else None
        if rows is None or not all(isinstance(row, Sequence | np.ndarray) for row in rows):
            raise _refused(values, ROWS_OF_NUMBERS)
        for index, row in enumerate(rows):
            if len(row) != len(rows[0]):
                as_first = must_be("a row of length {n}, as row 0 is", n=len(rows[0]))
                raise FieldError(f"{WHERE}[{index}]", of_length(len(row)), as_first)
            for column, value in enumerate(row):
                if value is None or isinstance(value, _NO_NUMBERS):
                    raise FieldError(f"{WHERE}[{index}][{column}]", value, must_be("a number"))
    try:
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise _refused(values, ROWS_OF_NUMBERS) from None


def _refused(value: object, requirement: Message) -> FieldError:
    return FieldError(WHERE, value, requirement)
