"""The pieces in which an attention is computed: some heads, some rows, and the keys that those rows see.

The pieces follow from the shapes and the masks alone, never from the number of threads. So a cell is the
sum of the same products in the same order in every run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

MASKED_ROWS = 64
"""Rows of a tile where masks hide keys: the fewer, the closer its keys are to what each row sees."""


@dataclass(frozen=True)
class Tile:
    """Key/value groups, query heads within them, and rows of the scores; `is_whole`: all of them."""

    groups: slice
    members: slice
    rows: slice
    is_whole: bool = False

    def has_head(self, group: int, member: int) -> bool:
        """True if the query head (group, member) is one of these."""
        is_group = self.groups.start <= group < self.groups.stop
        return is_group and self.members.start <= member < self.members.stop


@lru_cache(maxsize=64)
def tiles(cells: int | None, shape: tuple[int, ...], spares_keys: bool) -> tuple[Tile, ...]:
    """The tiles of scores (g, r, q, k), each of at most `cells` cells, or of one row; None: all at once.

    Where masks hide keys, a tile has `MASKED_ROWS` rows at most.
    """
    n_groups, group_size, n_queries, n_keys = shape
    is_small = cells is None or math.prod(shape) <= cells
    if is_small and (cells is None or not spares_keys or n_queries <= MASKED_ROWS):
        return (Tile(slice(0, n_groups), slice(0, group_size), slice(0, n_queries), is_whole=True),)
    assert cells is not None
    most = min(n_queries, max(1, cells // n_keys))
    rows = _even(n_queries, min(most, MASKED_ROWS) if spares_keys else most)
    heads = _heads(n_groups, group_size, max(1, cells // (n_keys * (rows[0].stop - rows[0].start))))
    return tuple(Tile(groups, members, some) for some in rows for groups, members in heads)


def _heads(n_groups: int, group_size: int, most: int) -> list[tuple[slice, slice]]:
    """(groups, members) of at most `most` heads each: whole groups where one fits."""
    if most < group_size:
        return [
            (slice(group, group + 1), members)
            for group in range(n_groups)
            for members in _even(group_size, most)
        ]
    return [(groups, slice(0, group_size)) for groups in _even(n_groups, most // group_size)]


def _even(count: int, most: int) -> list[slice]:
    """0 to `count` in as few parts as there can be of `most` each, of nearly equal length."""
    n_parts = -(-count // most)
    length = -(-count // n_parts)
    return [slice(start, min(start + length, count)) for start in range(0, count, length)]
