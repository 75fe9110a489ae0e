"""The NumPy engine: always there, the default, in place and block by block."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.special import NumpySpecial, Special
from attnviz.engines.constants import Constants
from attnviz.engines.engine import EngineError, ForEach, Holding, Unwarned, as_they_are, one_by_one
from attnviz.engines.on_device import OnDevice
from attnviz.engines.stored_product import FLOATS, kernels
from attnviz.errors import FieldError, among

NUMPY_DTYPES = ("float16", "float32", "float64")

BLOCK_BYTES = 512 * 1024
"""Size of one block of scores. It and its softmax stay in a core's second-level cache."""

PRODUCT_ROWS = 256
"""Rows of a product with a weight matrix that are worth handing over to another thread."""

BOUND_ROWS = 64
"""Queries from which on it pays to find out how large the scores can be."""

PLAIN_SUM = 4096
"""Terms that may be added one after the other; past them NumPy's pairwise sum keeps the digits."""

COMPILED_ERF = 2**15
"""Numbers whose error function takes a sixth of the time in a compiled loop: 4 ms without."""

SHORT = 32
"""Keys up to which a maximum along a row takes longer than one across many rows."""


def _row_maxima(values: NDArray[Any]) -> NDArray[Any]:
    """Maxima over the last axis, kept."""
    n = values.shape[-1]
    if n > SHORT or values.size < n * SHORT:
        found: NDArray[Any] = np.maximum.reduce(values, axis=-1, keepdims=True)
        return found
    across = values.reshape(-1, n).T.copy()
    return np.maximum.reduce(across, axis=0).reshape(*values.shape[:-1], 1)


def _row_sums(values: NDArray[Any]) -> NDArray[Any]:
    """Sums over the last axis, kept. A product with ones takes a third of the time of NumPy's own sum."""
    n = values.shape[-1]
    if n > PLAIN_SUM:
        sums: NDArray[Any] = values.sum(axis=-1, keepdims=True)
        return sums
    product: NDArray[Any] = values @ _ones(n, values.dtype)
    return product


@lru_cache(maxsize=256)
def _ones(n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.ones((n, 1), dtype=dtype)


class EngineSpecial(NumpySpecial):
    """With a compiled loop for many numbers; the numbers are the same."""

    @staticmethod
    def erf(x: NDArray[Any]) -> NDArray[Any]:
        if x.size < COMPILED_ERF or x.dtype.name not in FLOATS or kernels() is None:
            return NumpySpecial.erf(x)
        given = np.ascontiguousarray(x)
        made = np.empty_like(given)
        kernels().error_function(given.reshape(-1), made.reshape(-1))
        return made


class NumpyEngine:
    """Computes with NumPy in float16 (whose products NumPy sums in float32), float32 or float64.

    `for_each` and `alone` are those of `Workers`; `constants` are those of an engine before this one.
    """

    name = "numpy"
    device = "cpu"
    xp: Any = np  # NumPy 2 is the array API; going through a wrapper costs a tenth of a second at the start
    special: Special = EngineSpecial()
    block_rows: int | None = PRODUCT_ROWS
    spares_keys = True
    on_device: OnDevice | None = None
    matmul = staticmethod(np.ndarray.dot)  # the same product as `a @ b`, reached sooner than by `np.dot`

    def __init__(
        self,
        dtype: str = "float32",
        for_each: ForEach = one_by_one,
        constants: Constants | None = None,
        alone: Holding = as_they_are,
    ) -> None:
        if dtype not in NUMPY_DTYPES:
            raise EngineError(FieldError("dtype", dtype, among(NUMPY_DTYPES, on="NumPy")).message)
        self.dtype = dtype
        self._dtype = np.dtype(dtype)
        self.constants = constants or Constants(self._converted)
        self.for_each = for_each
        self._one_thread = alone(())
        self.block_cells: int | None = BLOCK_BYTES // self._dtype.itemsize

    def active(self) -> Unwarned:
        return Unwarned(self._one_thread)

    def asarray(self, values: NDArray[Any]) -> NDArray[Any]:
        result: NDArray[Any] = self.constants(values)
        return result

    def shares(self, values: NDArray[Any]) -> bool:
        return values.dtype == self._dtype

    def _converted(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.astype(self._dtype, copy=False)

    def to_numpy(self, array: NDArray[Any]) -> NDArray[Any]:
        return array

    def empty(self, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.empty(shape, dtype=self._dtype)

    def zeros(self, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.zeros(shape, dtype=self._dtype)

    def workspace(self, part: NDArray[Any]) -> NDArray[Any]:
        # Rows that lie far apart fall into the same few lines of a cache.
        return part if part.flags.c_contiguous else np.empty(part.shape, dtype=self._dtype)

    def matmul_into(self, out: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
        np.matmul(a, b if a.ndim == b.ndim else b[:, None], out=out)

    def score_bound(self, q: NDArray[Any], k: NDArray[Any]) -> float:
        if q.shape[-2] < BOUND_ROWS:
            return math.inf
        longest = [np.einsum("...d,...d->...", x, x).max() for x in (q, k)]  # |q·k| <= |q| |k|
        return math.sqrt(longest[0]) * math.sqrt(longest[1])

    def softmax_(self, scores: NDArray[Any], is_bounded: bool = False) -> None:
        if not is_bounded:
            scores -= _row_maxima(scores)
        np.exp(scores, out=scores)
        scores /= _row_sums(scores)

    def fill_(self, array: NDArray[Any], where: NDArray[np.bool_], value: float) -> None:
        np.copyto(array, value, where=where, casting="same_kind")

    def multiply_(self, array: NDArray[Any], factors: NDArray[Any]) -> None:
        np.multiply(array, factors, out=array, casting="same_kind")

    def add_rows_(self, array: NDArray[Any], rows: NDArray[np.int64], numbers: NDArray[Any]) -> None:
        # Sums of sorted rows take a quarter of the time of `np.add.at`.
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        array[ordered[starts]] += np.add.reduceat(numbers[order], starts, axis=0)

    def synchronise(self) -> None:
        return None
