"""Positions cached by a decoding: one cache for each site.

The decoder appends projections and reads back the inputs of the scores and the mixture. The cached numbers
are keys and values, or the latent that they are projected from; their storage is the store's concern.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.quantise import packed, quantise, unpacked
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.steps import add
from attnviz.model import caches
from attnviz.model.caches import FullCache, PagedCache, QuantisedCache, RestartingCache, RingCache, SinkCache

Ints = NDArray[np.int64]
Rows = tuple[Array, ...]


class Store(Protocol):
    """Rows of positions: of several arrays side by side, (g, position, d) each, whatever they mean.

    `length` in a call is how many had been appended at the moment that is meant. `bytes_of` is measured: the
    bytes of the arrays that contain the positions.
    """

    length: int

    def bytes_of(self, length: int) -> int:
        """Bytes of the arrays in which the first `length` positions lay, when they were all."""

    def append(self, rows: Rows) -> None:
        """Take the rows of the next positions, (g, n, d) each."""

    def rows(self, length: int) -> Rows:
        """The rows that are left of the first `length` positions, as they are read."""

    def positions(self, length: int) -> Ints:
        """The absolute position of each of those rows."""

    def take_over(self, older: Store, length: int) -> None:
        """Begin with the first `length` positions of another store of the same kind."""


class FullStore:
    """Every row as appended, in arrays that are allocated once for `capacity` positions."""

    def __init__(self, engine: Engine, capacity: int) -> None:
        self._engine = engine
        self._positions = np.arange(capacity)
        self._arrays: Rows = ()
        self._bytes_each = 0
        self._read: tuple[int, Rows] = -1, ()
        self.length = 0

    def append(self, rows: Rows) -> None:
        if not self._arrays:
            capacity = len(self._positions)
            self._arrays = tuple(self._engine.empty((r.shape[0], capacity, r.shape[2])) for r in rows)
            self._bytes_each = sum(_bytes(array[:, :1, :]) for array in self._arrays)
        end = self.length + rows[0].shape[1]
        for array, row in zip(self._arrays, rows, strict=True):
            array[:, self.length : end, :] = row
        self.length = end

    def bytes_of(self, length: int) -> int:
        return length * self._bytes_each

    def rows(self, length: int) -> Rows:
        """Views; those of the last requested length are cached, for keys and values in turn."""
        known, found = self._read
        if known != length:
            found = tuple(array[:, :length, :] for array in self._arrays)
            self._read = length, found
        return found

    def take_over(self, older: Store, length: int) -> None:
        self.append(older.rows(length))

    def positions(self, length: int) -> Ints:
        return self._positions[:length]


class KeptStore:
    """The first rows and the last ones: a new row overwrites the oldest row that may be evicted.

    A record of all rows lies beside the slots. It is not part of the cache: it allows to show an earlier step
    again.
    """

    def __init__(self, engine: Engine, kind: RingCache | SinkCache, capacity: int) -> None:
        self._engine, self._kind = engine, kind
        self._n_sinks = kind.n_sinks
        self._record = FullStore(engine, capacity)
        self._slots: Rows = ()
        self.length = 0

    def append(self, rows: Rows) -> None:
        if not self._slots:
            n_slots = self._n_sinks + self._kind.window
            self._slots = tuple(self._engine.empty((r.shape[0], n_slots, r.shape[2])) for r in rows)
        self._record.append(rows)
        for index in range(rows[0].shape[1]):
            slot = int(self._slot_of(np.array([self.length]))[0])
            for array, row in zip(self._slots, rows, strict=True):
                array[:, slot, :] = row[:, index, :]
            self.length += 1

    def bytes_of(self, length: int) -> int:
        used = min(length, self._n_sinks + self._kind.window)
        return sum(_bytes(array[:, :used, :]) for array in self._slots)

    def rows(self, length: int) -> Rows:
        kept = self.positions(length)
        if length != self.length:
            return tuple(
                self._engine.xp.take(r, self._indices(kept), axis=1) for r in self._record.rows(length)
            )
        slots = self._indices(self._slot_of(kept))
        return tuple(self._engine.xp.take(array, slots, axis=1) for array in self._slots)

    def take_over(self, older: Store, length: int) -> None:
        assert isinstance(older, KeptStore)
        self.append(older._record.rows(length))

    def positions(self, length: int) -> Ints:
        first, last = self._kind.kept(length)
        return np.array([*first, *last], dtype=np.int64)

    def _slot_of(self, positions: Ints) -> Ints:
        """Slot of the row of a position: sinks in front, the others in turn after them."""
        later = self._n_sinks + (positions - self._n_sinks) % self._kind.window
        return np.where(positions < self._n_sinks, positions, later)

    def _indices(self, positions: Ints) -> Array:
        xp = self._engine.xp
        return xp.asarray(positions, dtype=xp.int64, device=self._engine.device)


class QuantisedStore:
    """Every row as whole numbers of 8 or 4 bits, two of the latter to a byte, and one float32 step."""

    def __init__(self, engine: Engine, bits: int, capacity: int) -> None:
        self._engine, self._bits = engine, bits
        self._positions = np.arange(capacity)
        self._widths: tuple[int, ...] = ()
        self._codes: Rows = ()
        self._steps: Rows = ()
        self.length = 0

    def append(self, rows: Rows) -> None:
        xp = self._engine.xp
        made = [quantise(xp, row, self._bits) for row in rows]
        self._widths = tuple(row.shape[2] for row in rows)
        self._keep(
            [packed(xp, whole, self._bits) for whole, _steps in made],
            [xp.astype(steps, xp.float32) for _whole, steps in made],
        )

    def _keep(self, codes: list[Array], steps: list[Array]) -> None:
        """Store the codes and steps of the next positions."""
        xp, end = self._engine.xp, self.length + codes[0].shape[1]
        if not self._codes:
            self._codes = tuple(self._room(part, xp.uint8) for part in codes)
            self._steps = tuple(self._room(part, xp.float32) for part in steps)
        for kept, part in zip((*self._codes, *self._steps), (*codes, *steps), strict=True):
            kept[:, self.length : end, :] = part
        self.length = end

    def bytes_of(self, length: int) -> int:
        return sum(_bytes(array[:, :length, :]) for array in (*self._codes, *self._steps))

    def rows(self, length: int) -> Rows:
        xp = self._engine.xp
        dtype = self._engine.empty((0,)).dtype
        found = []
        for codes, steps, width in zip(self._codes, self._steps, self._widths, strict=True):
            whole = unpacked(xp, codes[:, :length, :], self._bits, width)
            found.append(xp.astype(xp.astype(whole, xp.float32) * steps[:, :length, :], dtype))
        return tuple(found)

    def take_over(self, older: Store, length: int) -> None:
        assert isinstance(older, QuantisedStore)
        self._widths = older._widths
        self._keep([array[:, :length, :] for array in older._codes], [a[:, :length, :] for a in older._steps])

    def positions(self, length: int) -> Ints:
        return self._positions[:length]

    def _room(self, part: Array, dtype: object) -> Array:
        shape = (part.shape[0], len(self._positions), part.shape[2])
        return self._engine.xp.empty(shape, dtype=dtype, device=self._engine.device)


class PagedStore:
    """Every row, in blocks of a fixed size that are allocated when the first row of each comes."""

    def __init__(self, engine: Engine, block: int, capacity: int) -> None:
        self._engine, self._block = engine, block
        self._positions = np.arange(capacity)
        self._pages: list[Rows] = []
        self.length = 0

    def append(self, rows: Rows) -> None:
        for index in range(rows[0].shape[1]):
            page, slot = divmod(self.length, self._block)
            if page == len(self._pages):
                made = tuple(self._engine.empty((r.shape[0], self._block, r.shape[2])) for r in rows)
                self._pages.append(made)
            for array, row in zip(self._pages[page], rows, strict=True):
                array[:, slot, :] = row[:, index, :]
            self.length += 1

    def bytes_of(self, length: int) -> int:
        return sum(sum(map(_bytes, page)) for page in self._pages[: -(-length // self._block)])

    def rows(self, length: int) -> Rows:
        pages = self._pages[: -(-length // self._block)]
        whole = [self._engine.xp.concat(parts, axis=1) for parts in zip(*pages, strict=True)]
        return tuple(array[:, :length, :] for array in whole)

    def take_over(self, older: Store, length: int) -> None:
        self.append(older.rows(length))

    def positions(self, length: int) -> Ints:
        return self._positions[:length]


def store_for(engine: Engine, kind: caches.Cache, capacity: int) -> Store:
    """The store of one kind of cache, for `capacity` positions at most."""
    return STORES[type(kind)](engine, kind, capacity)


STORES: dict[type, Callable[[Engine, Any, int], Store]] = {
    FullCache: lambda engine, kind, capacity: FullStore(engine, capacity),
    RingCache: KeptStore,
    SinkCache: KeptStore,
    QuantisedCache: lambda engine, kind, capacity: QuantisedStore(engine, kind.bits, capacity),
    RestartingCache: lambda engine, kind, capacity: FullStore(engine, capacity),
    PagedCache: lambda engine, kind, capacity: PagedStore(engine, kind.block, capacity),
}
"""The store of each kind of cache."""


def _bytes(array: Array) -> int:
    return math.prod(array.shape) * int(array.dtype.itemsize)


class Cache(Protocol):
    """Keys and values of one site.

    `length` is the number of positions appended at the requested moment, so that an earlier step can be shown
    again.
    """

    @property
    def length(self) -> int:
        """Positions that were appended so far."""

    @property
    def held_bytes(self) -> int:
        """Bytes of the arrays in which they lie."""

    def bytes_of(self, length: int) -> int:
        """The same, after `length` positions."""

    def append(self, made: Features) -> None:
        """Append what the next positions need, from the stages of the site."""

    def keys(self, length: int) -> Array:
        """The keys as the scores read them, (g, k, d)."""

    def values(self, length: int) -> Array:
        """The values as the mixture reads them, (g, k, d)."""

    def positions(self, length: int) -> Ints:
        """The absolute position of each of those keys, (k,)."""

    def held(self, length: int) -> Rows:
        """The cached numbers of those positions, (g, k, numbers) each: keys and values, or their sources."""

    def take_over(self, older: Cache, length: int) -> None:
        """Begin with the first `length` positions of another cache of the same kind."""


class _Stored:
    """Common parts of all caches with a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def length(self) -> int:
        return self._store.length

    @property
    def held_bytes(self) -> int:
        return self.bytes_of(self.length)

    def bytes_of(self, length: int) -> int:
        return self._store.bytes_of(length)

    def positions(self, length: int) -> Ints:
        return self._store.positions(length)

    def held(self, length: int) -> Rows:
        return self._store.rows(length)

    def take_over(self, older: Cache, length: int) -> None:
        assert isinstance(older, _Stored)
        self._store.take_over(older._store, length)


class KeyValueCache(_Stored):
    """The keys and values of every key/value head, as the scores and the mixture read them."""

    def append(self, made: Features) -> None:
        self._store.append((made.key(), made.value()))

    def keys(self, length: int) -> Array:
        return self._store.rows(length)[0]

    def values(self, length: int) -> Array:
        return self._store.rows(length)[1]


class LatentCache(_Stored):
    """The latent and the rotated RoPE key of every position: d_c + d_rope numbers, independent of the heads.

    Keys and values of the heads are projected from them on reading (DeepSeek-V2, section 2.1.2).
    """

    def __init__(self, engine: Engine, operands: Operands, store: Store) -> None:
        super().__init__(store)
        self._engine, self._operands = engine, operands
        self._read: tuple[int, tuple[Array, Array]] | None = None

    def append(self, made: Features) -> None:
        rows: Rows = (made.tf["latent"][None, :, :],)
        if "rope_key" in made.tf:
            # Every head has the same one behind its content.
            rows = (*rows, made.key()[:1, :, -made.tf["rope_key"].shape[1] :])
        self._store.append(rows)
        self._read = None

    def keys(self, length: int) -> Array:
        return self._expanded(length)[0]

    def values(self, length: int) -> Array:
        return self._expanded(length)[1]

    def _expanded(self, length: int) -> tuple[Array, Array]:
        """Keys and values of all heads; those of the last requested length are cached."""
        read = self._read
        if read is None or read[0] != length:
            latent, *rope_keys = (rows[0] for rows in self._store.rows(length))
            made = Features({"latent": latent}, order=["latent"])
            if rope_keys:
                made.add("rope_key", rope_keys[0])
            with self._engine.active():
                steps = self._operands.steps("k", "v")
                add(self._engine, self._operands, made, steps, self.positions(length))
            self._read = read = length, (made.heads["k"], made.heads["v"])
        return read[1]


def cache_for(engine: Engine, operands: Operands, capacity: int, kind: caches.Cache) -> Cache:
    """The cache of one site, for `capacity` positions at most."""
    store = store_for(engine, kind, capacity)
    return (
        KeyValueCache(store) if "latent" not in operands.operations else LatentCache(engine, operands, store)
    )
