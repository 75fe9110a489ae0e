"""Positions cached by a decoding: one cache for each site.

The decoder appends projections and reads back the inputs of the scores and the mixture. The cached numbers
are keys and values, or the latent that they are projected from; their storage is the store's concern.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.decode.stores import Rows, Store, store_for
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.steps import add
from attnviz.model import caches

Ints = NDArray[np.int64]


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
