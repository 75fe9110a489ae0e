"""Windows of the score-shaped stages before the softmax, which no run stores: recomputed from q and k.

A window is cut out of the tiles in which the run computed: a sum of products depends, in its last digit, on
the shape of the product that it is part of. So a cell has one value, in every window, and it is the one that
the softmax has read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.operands import Scoring
from attnviz.engines.program import Scores

KEPT_CELLS = 1 << 18
"""Cells of a piece that is kept for the next window, which is often its neighbour."""


class ScoreWindows:
    """Windows of one attention's scores, up to the stage before the softmax."""

    def __init__(self, engine: Engine, scoring: Scoring, scores: Scores) -> None:
        self._engine, self._scoring, self._scores = engine, scoring, scores
        self._kept: tuple[tuple[int, int], Array] | None = None

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> Array:
        """One head's rows and columns of a stage, (query, key)."""
        group, member = divmod(head, self._scoring.group_size)
        n_queries, n_keys = self._scores.qk[0].shape[2], self._scores.sight.n_keys
        wanted_rows, wanted_columns = range(n_queries)[rows], range(n_keys)[columns]
        for axis, wanted in enumerate((wanted_rows, wanted_columns)):
            if wanted.step < 0:
                forward = slice(wanted[-1], wanted[0] + 1, -wanted.step) if wanted else slice(0, 0)
                parts = (forward, columns) if axis == 0 else (rows, forward)
                return self._engine.xp.flip(self.window(stage, head, *parts), axis=axis)
        found = self._engine.empty((len(wanted_rows), len(wanted_columns)))
        for index, tile in enumerate(self._scores.tiles):
            if not tile.has_head(group, member):
                continue
            for keys in self._pieces(index):
                to_row, from_row = _meeting(wanted_rows, tile.rows)
                to_column, from_column = _meeting(wanted_columns, keys)
                if _is_empty(to_row) or _is_empty(to_column):
                    continue
                piece = self._piece(stage, index, keys, (group, member))
                found[to_row, to_column] = piece[from_row, from_column]
        return found

    def _pieces(self, index: int) -> Iterator[slice]:
        """The keys that a tile multiplied, and those before and behind them, which its rows do not see."""
        keys = self._scores.seen[index].keys
        n_keys = self._scores.sight.n_keys
        yield keys
        if keys.start > 0:
            yield slice(0, keys.start)
        if keys.stop < n_keys:
            yield slice(keys.stop, n_keys)

    def _piece(self, stage: str, index: int, keys: slice, head: tuple[int, int]) -> Array:
        """A stage of one head (group, member) of a tile in some keys, (q, k)."""
        scores, tile = self._scores, self._scores.tiles[index]
        seen = scores.sight.of(tile.rows, keys)
        part = tuple(slice(at, at + 1) for at in head)
        products = self._products(index, keys)
        operations = self._scoring.operations
        shaped = self._scoring.to_weights[1:-1]
        if all(operations[one].reach == "cell" and operations[one].is_exact for one in shaped):
            # Each cell is transformed by itself, so that one head is enough.
            products = products[_within(part[0], tile.groups), _within(part[1], tile.members)]
            tile = replace(tile, groups=part[0], members=part[1], is_whole=False)
        made = self._engine.xp.asarray(products, copy=True)
        scores.shape_(self._engine, self._scoring, stage, tile, seen, made)
        return made[head[0] - tile.groups.start, head[1] - tile.members.start]

    def _products(self, index: int, keys: slice) -> Array:
        """The products of a whole tile in some keys, (g, r, q, k)."""
        key = index, keys.start
        kept = self._kept
        if kept is not None and kept[0] == key:
            return kept[1]
        scores, tile = self._scores, self._scores.tiles[index]
        made = scores.products(self._engine, tile, scores.sight.of(tile.rows, keys))
        if math.prod(made.shape) <= KEPT_CELLS:
            self._kept = key, made
        return made


def _within(part: slice, whole: slice) -> slice:
    """A part of the same axis as `whole`, counted from its start."""
    return slice(part.start - whole.start, part.stop - whole.start)


def _meeting(wanted: range, part: slice) -> tuple[slice, slice]:
    """Indices of the common members of `wanted` and `part`: in `wanted`, and in `part`."""
    first = max(0, -(-(part.start - wanted.start) // wanted.step))
    stop = min(len(wanted), max(first, -(-(part.stop - wanted.start) // wanted.step)))
    met = wanted[first:stop]
    if not met:
        return slice(0, 0), slice(0, 0)
    return slice(first, stop), slice(met[0] - part.start, met[-1] - part.start + 1, wanted.step)


def _is_empty(part: slice) -> bool:
    return part.stop <= part.start
