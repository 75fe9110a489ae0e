"""Visible keys of the rows of an attention, and so the keys that a block of rows must multiply."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.engines.tiles import Tile, tiles
from attnviz.model.masks import blocked_by_all
from attnviz.model.spec.parts import Causal, Mask
from attnviz.operations.operation import Seen

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KEYS_TOGETHER = 16
"""Ranges of keys begin and end at multiples of this, where products and exponentials are fast."""


class Plan(NamedTuple):
    """The tiles of scores, the keys that each multiplies, and whether one leaves keys out."""

    tiles: tuple[Tile, ...]
    seen: tuple[Seen, ...]
    is_narrow: bool


class Sight:
    """Cells that all masks block together, `hidden` (query, key); None if every query sees every key."""

    def __init__(self, hidden: Bools | None, n_keys: int) -> None:
        if hidden is not None:
            hidden.setflags(write=False)  # runs of the same masks have the same one
        self.hidden, self.n_keys = hidden, n_keys
        self.whole = slice(0, n_keys)
        """All keys."""
        self._plans: dict[tuple[int | None, tuple[int, ...], bool], Plan] = {}
        self._seen: dict[tuple[int, int], Seen] = {}

    def plan(self, cells: int | None, shape: tuple[int, ...], spares_keys: bool) -> Plan:
        """The plan for scores (g, r, q, k), of `cells` at a time.

        If it `spares_keys`, a tile multiplies the shortest range that contains all keys that its rows see.
        """
        known = self._plans.get((cells, shape, spares_keys))
        if known is None:
            pieces = tiles(cells, shape, spares_keys)
            seen = [
                self._nearest(tile.rows) if spares_keys else self.of(tile.rows, self.whole) for tile in pieces
            ]
            is_narrow = any(one.keys != self.whole for one in seen)
            known = self._plans[cells, shape, spares_keys] = Plan(pieces, tuple(seen), is_narrow)
        return known

    def _nearest(self, rows: slice) -> Seen:
        known = self._seen.get((rows.start, rows.stop))
        if known is None:
            known = self._seen[rows.start, rows.stop] = self.of(rows, self._hull(rows))
        return known

    def of(self, rows: slice, keys: slice) -> Seen:
        """Visibility of a range of keys for some rows."""
        if self.hidden is None:
            return Seen(keys)
        hidden = self.hidden[rows, keys]
        touched = _hull(np.asarray(hidden.any(axis=0)))
        if touched is None:
            return Seen(keys)
        empty = self.empty[rows]
        blocked = np.array(hidden[:, touched])
        blocked.setflags(write=False)  # an engine converts it once
        return Seen(keys, hidden, touched, blocked, empty if empty.any() else None)

    def queries(self, keys: slice) -> slice:
        """The shortest range that contains all queries that see one of these keys; all queries where none
        does.
        """
        assert self.hidden is not None
        found = _hull(np.asarray(~self.hidden[:, keys].all(axis=1)))
        return slice(0, len(self.hidden)) if found is None else found

    @cached_property
    def empty(self) -> Bools:
        """True for the queries that see no key, (query,)."""
        assert self.hidden is not None
        return np.asarray(self.hidden.all(axis=1))

    def _hull(self, rows: slice) -> slice:
        """The shortest range of keys, in steps, that has all that are seen; all keys where none is."""
        if self.hidden is None:
            return self.whole
        found = _hull(np.asarray(~self.hidden[rows].all(axis=0)))
        if found is None:
            return self.whole
        start = found.start // KEYS_TOGETHER * KEYS_TOGETHER
        stop = -(-found.stop // KEYS_TOGETHER) * KEYS_TOGETHER
        return slice(start, min(stop, self.n_keys))


def _hull(columns: Bools) -> slice | None:
    """From the first to the last column that is true; None where none is."""
    first = int(columns.argmax())
    if not columns[first]:
        return None
    return slice(first, len(columns) - int(columns[::-1].argmax()))


KEPT_CELLS = 1 << 22
"""Cells of a sight that is kept for the next run, most often of the same masks."""


FEW_CELLS = 1 << 12
"""Cells of a sight that is kept for any positions: a step of decoding reads its own once a stage."""


class Masks:
    """The masks of an attention whose queries stand `offset` positions behind their rows."""

    def __init__(self, masks: tuple[Mask, ...], offset: int = 0) -> None:
        self._masks, self._offset = masks, offset
        self._are_causal = all(isinstance(mask, Causal) for mask in masks)
        self._latest: tuple[Ints, Ints, Sight] | None = None

    def blocked(self, q_positions: Ints, k_positions: Ints) -> Bools | None:
        """Cells of some queries and keys that the masks block together, (query, key); None without masks."""
        return blocked_by_all(self._masks, q_positions + self._offset, k_positions)

    def sight(self, q_positions: Ints, k_positions: Ints) -> Sight:
        """Visible keys of some queries; both ascend, and the queries are numbered from 0."""
        latest = self._latest
        if latest is not None and latest[0] is q_positions and latest[1] is k_positions:
            return latest[2]
        n_queries, n_keys = len(q_positions), len(k_positions)
        # For a single new token, causal masks alone leave every key visible: nothing to fill.
        if self._are_causal and k_positions[-1] <= q_positions[0] + self._offset:
            return Sight(None, n_keys)
        is_whole = q_positions[-1] == n_queries - 1 and k_positions[-1] == n_keys - 1
        if is_whole and n_queries * n_keys <= KEPT_CELLS:
            found = _whole(self._masks, self._offset, n_queries, n_keys)
            if not (q_positions.flags.writeable or k_positions.flags.writeable):
                self._latest = q_positions, k_positions, found
            return found
        if n_queries * n_keys <= FEW_CELLS:
            return _few(self._masks, (q_positions + self._offset).tobytes(), k_positions.tobytes())
        return Sight(self.blocked(q_positions, k_positions), n_keys)


@lru_cache(maxsize=8)
def _whole(masks: tuple[Mask, ...], offset: int, n_queries: int, n_keys: int) -> Sight:
    """The sight of all queries on all keys. A drag changes numbers, and the masks stay."""
    return Sight(blocked_by_all(masks, np.arange(n_queries) + offset, np.arange(n_keys)), n_keys)


@lru_cache(maxsize=256)
def _few(masks: tuple[Mask, ...], q_bytes: bytes, k_bytes: bytes) -> Sight:
    """The sight of queries on keys, by the bytes of their positions, the offset of the queries included."""
    q_positions, k_positions = (np.frombuffer(part, np.int64) for part in (q_bytes, k_bytes))
    return Sight(blocked_by_all(masks, q_positions, k_positions), len(k_positions))
