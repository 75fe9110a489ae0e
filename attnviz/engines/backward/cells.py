"""The gradient by a score-shaped stage, (g, r, q, k), read by parts: stored, or a product made when read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine

At = tuple[Any, ...]
"""Groups, members, queries and keys: each a number or a slice."""

ALL: At = (slice(None),) * 4


@dataclass(frozen=True, eq=False)
class Cells:
    """`factor` times a stored array. Stages that differ by a factor share the array."""

    array: Array
    factor: float = 1.0

    def part(self, at: At = ALL) -> Array:
        """Some of the cells."""
        found = self.array[at]
        return found if self.factor == 1.0 else found * self.factor

    def into(self, engine: Engine, out: Array, at: At) -> None:
        """Write some of the cells into an array."""
        out[...] = self.part(at)

    def times(self, factor: float) -> Cells:
        """The same gradient times a number."""
        return replace(self, factor=self.factor * factor)


@dataclass(frozen=True, eq=False)
class Outer:
    """`rows` (g, r, q, d) times the transpose of `columns` (g, k, d): not stored, as large as the weights."""

    rows: Array
    columns: Array

    def part(self, at: At = ALL) -> Array:
        """Some of the cells."""
        rows, columns = self._factors(at)
        return rows @ columns.mT

    def into(self, engine: Engine, out: Array, at: At) -> None:
        """Multiply some of the cells into an array."""
        rows, columns = self._factors(at)
        engine.matmul_into(out, rows, columns.mT)

    def _factors(self, at: At) -> tuple[Array, Array]:
        groups, members, queries, keys = at
        columns = self.columns[groups, keys]
        return self.rows[groups, members, queries], columns if isinstance(groups, int) else columns[:, None]


Gradient = Cells | Outer
