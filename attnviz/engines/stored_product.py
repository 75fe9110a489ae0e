"""Products with weights as their file has them: to read the weights is most of the time of few rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine, spread
from attnviz.model.spec.arrays import BAND_NUMBERS, Matrix
from attnviz.model.spec.codes import LANES, Codes

ROW_NUMBERS = 2**21
"""Numbers of a matrix that a thread multiplies by one row: some tenths of a millisecond, several times the
handover.
"""

FLOATS = ("float32", "float64")
"""Precisions in which the compiled loops compute."""


def stored_product(engine: Engine, x_tf: Array, matrix: Matrix, transposes: bool) -> Array | None:
    """x W, (token, in) -> (token, out); W is a matrix of a file, or its transpose.

    One row is multiplied by the numbers as they are stored. For more rows, some columns of W at a time are
    made, and used while they are in the fast memory. The numbers have 16 bits, and those of a column lie
    together, or they are the codes of a quantised file; None for others, on a device, and without numba.
    Raises `FileChanged`.
    """
    if engine.on_device is not None or engine.dtype not in FLOATS or kernels() is None:
        return None
    stored = _stored(matrix, transposes)
    if stored is None:
        return None
    n_columns = matrix.shape[0 if transposes else 1]
    if x_tf.shape[0] == 1:
        x = np.ascontiguousarray(engine.to_numpy(x_tf)[0])
        if stored.can_multiply(x):
            return _of_one_row(engine, x, stored, n_columns)
    return _of_rows(engine, x_tf, stored, n_columns)


def _of_one_row(engine: Engine, x: NDArray[Any], stored: _Stored, n_columns: int) -> Array:
    """x W of one row; a large W is shared out in bands."""
    n = stored.n_parts
    made = engine.empty((1, n * stored.width))
    y = engine.to_numpy(made)[0]
    n_bands = x.size * n_columns // ROW_NUMBERS
    if n_bands < 2:
        stored.multiply(x, y, slice(0, n))
    else:
        length = -(-n // n_bands)
        bands = [slice(start, start + length) for start in range(0, n, length)]
        engine.for_each(lambda band: stored.multiply(x, y, band), bands)
    return made if y.size == n_columns else made[:, :n_columns]


def _of_rows(engine: Engine, x_tf: Array, stored: _Stored, n_columns: int) -> Array:
    """x W of several rows, some columns of W after the other."""
    n_rows, n_in = x_tf.shape
    made = engine.empty((n_rows, n_columns))
    n_bands = max(1, n_in * n_columns // BAND_NUMBERS)
    length = -(-stored.n_parts // n_bands)

    def columns(start: int) -> None:
        part = slice(start * stored.width, min((start + length) * stored.width, n_columns))
        numbers = stored.numbers(engine, slice(start, start + length))
        engine.matmul_into(made[:, part], x_tf, numbers[:, : part.stop - part.start])

    spread(engine, columns, range(0, stored.n_parts, length), 2 * n_rows * n_in * n_columns)
    return made


class _Stored(Protocol):
    """The numbers of W in parts of `width` columns."""

    @property
    def n_parts(self) -> int: ...

    @property
    def width(self) -> int: ...

    def can_multiply(self, x: NDArray[Any]) -> bool:
        """True if a row can be multiplied by the numbers as they are stored."""

    def multiply(self, x: NDArray[Any], y: NDArray[Any], parts: slice) -> None:
        """Write x W of some parts into their place in y."""

    def numbers(self, engine: Engine, parts: slice) -> Array:
        """W of some parts, (in, out)."""


@dataclass(frozen=True, eq=False)
class _Short:
    """Bits of numbers in 16 bits, (out, in), float16 if `is_half`, else bfloat16."""

    bits: NDArray[np.uint16]
    is_half: bool
    width = 1

    @property
    def n_parts(self) -> int:
        return len(self.bits)

    def can_multiply(self, x: NDArray[Any]) -> bool:
        return True

    def multiply(self, x: NDArray[Any], y: NDArray[Any], parts: slice) -> None:
        kernels().short_product(self.bits[parts], self.is_half, x, y[parts])

    def numbers(self, engine: Engine, parts: slice) -> Array:
        bits = self.bits[parts]
        made = engine.empty(bits.shape)
        kernels().short_numbers(bits, self.is_half, engine.to_numpy(made))
        return made.T


@dataclass(frozen=True, eq=False)
class _Coded:
    """`Codes`, whose parts are their blocks."""

    codes: Codes
    width = LANES

    @property
    def n_parts(self) -> int:
        return len(self.codes.whole)

    def can_multiply(self, x: NDArray[Any]) -> bool:
        # Infinity times the whole number 0 is NaN, although the weight may have an offset.
        return x.dtype == np.float32 and math.isfinite(x.sum())

    def multiply(self, x: NDArray[Any], y: NDArray[Any], parts: slice) -> None:
        lanes = y.reshape(-1, LANES)[parts]
        kernels().codes_product(*self.codes.of(parts), self.codes.are_halves, x, lanes)

    def numbers(self, engine: Engine, parts: slice) -> Array:
        whole, factors, offsets = self.codes.of(parts)
        made = engine.empty((self.codes.n_inputs, len(whole) * LANES))
        write = kernels().halves_numbers if self.codes.are_halves else kernels().codes_numbers
        write(whole, factors, offsets, engine.to_numpy(made))
        return made


def _stored(matrix: Matrix, transposes: bool) -> _Stored | None:
    bits = matrix.bits
    if bits is not None:
        by_column = bits if transposes else bits.T
        is_usable = by_column.flags.c_contiguous and by_column.flags.aligned
        return _Short(by_column, matrix.stored == "F16") if is_usable else None
    codes = matrix.codes(0 if transposes else 1)
    return None if codes is None else _Coded(codes)


@cache
def kernels() -> Any:
    """The compiled loops; None where numba is missing, or cannot work with this NumPy or this folder."""
    try:
        from attnviz.engines import kernels as found
    except (ImportError, RuntimeError):
        return None
    return found
