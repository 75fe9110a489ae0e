"""A matrix that lies in a file, on an engine."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.model.spec.arrays import Matrix


class InFile:
    """The numbers of a matrix, or of its transpose, brought in at each call; a kept conversion is at hand."""

    __slots__ = ("_engine", "_key", "_matrix", "_transposes")

    def __init__(self, engine: Engine, matrix: Matrix, transposes: bool) -> None:
        self._engine, self._matrix, self._transposes = engine, matrix, transposes
        self._key = engine.name, engine.device, engine.dtype, transposes

    def __call__(self) -> Array:
        form = self._matrix.form(self._key, self._shared)
        return self._engine.asarray(self._turned(self._matrix.array)) if form is None else form

    def _turned(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.T if self._transposes else array

    def _shared(self, array: NDArray[Any]) -> Array | None:
        """The array on the engine, if it takes no memory there."""
        turned = self._turned(array)
        return self._engine.asarray(turned) if self._engine.shares(turned) else None
