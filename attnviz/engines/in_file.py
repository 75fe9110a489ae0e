"""A matrix that lies in a file, on an engine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.stored_product import stored_product
from attnviz.model.spec.arrays import Matrix

LARGE = 2**24
"""Numbers of a matrix, that of a vocabulary, which is not converted as a whole for one pass alone."""


class InFile:
    """The numbers of a matrix, or of its transpose, brought in at each call; a kept conversion is at hand."""

    __slots__ = ("_engine", "_is_large", "_key", "_matrix", "_transposes")

    def __init__(self, engine: Engine, matrix: Matrix, transposes: bool) -> None:
        self._engine, self._matrix, self._transposes = engine, matrix, transposes
        self._key = engine.name, engine.device, engine.dtype, transposes
        self._is_large = engine.on_device is None and math.prod(matrix.shape) >= LARGE

    def __call__(self) -> Array:
        on_device = self._engine.on_device
        if on_device is not None:
            whole = on_device.matrix(self._engine, self._matrix)
            return whole.T if self._transposes else whole
        form = self._matrix.form(self._key, self._shared)
        return self._engine.asarray(self._turned(self._matrix.array)) if form is None else form

    def times(self, x_tf: Array) -> Array | None:
        """x W with the numbers as they are stored; None where that is not possible."""
        return stored_product(self._engine, x_tf, self._matrix, self._transposes)

    def columns(self, n_rows: int) -> Iterator[tuple[slice, Array]] | None:
        """The columns of a large matrix, some at a time, for a product with `n_rows` rows.

        None where the whole is better: it is small or on a device; many rows share the work, or one row comes
        after the other, as in decoding.
        """
        if not self._is_large:
            return None
        engine, most = self._engine, self._engine.block_rows
        if most is None or not 1 < n_rows <= most:
            return None
        bands = self._matrix.bands(0 if self._transposes else 1)
        if bands is None:
            return None
        return ((band, engine.asarray(self._turned(numbers))) for band, numbers in bands)

    @property
    def width(self) -> int:
        """Count of the columns."""
        return self._matrix.shape[0 if self._transposes else 1]

    def _turned(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.T if self._transposes else array

    def _shared(self, array: NDArray[Any]) -> Array | None:
        """The array on the engine, if it takes no memory there."""
        turned = self._turned(array)
        return self._engine.asarray(turned) if self._engine.shares(turned) else None
