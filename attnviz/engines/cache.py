"""What a decoding keeps of the positions that it has seen: one cache for each site.

The decoder appends what the projections made and reads back what the scores and the mixture are to see; it
does not know how that is kept. Another kind (a ring, quantised numbers, a latent) is a class with these
methods, and one more branch in `cache_for`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.model.experiment import Experiment

Ints = NDArray[np.int64]


class Cache(Protocol):
    """Keys and values of one site.

    `length` says how many positions had been appended at the moment that is meant, so that an earlier step
    can be looked at again.
    """

    length: int
    """Positions that were appended so far."""
    held_bytes: int
    """Bytes that the positions so far take."""

    def append(self, keys: Array, values: Array) -> None:
        """Keep the keys and values of the next positions, (g, position, d) each."""

    def keys(self, length: int) -> Array:
        """The keys as the scores read them, (g, k, d)."""

    def values(self, length: int) -> Array:
        """The values as the mixture reads them, (g, k, d)."""

    def positions(self, length: int) -> Ints:
        """The absolute position of each of those keys, (k,)."""


class FullCache:
    """Every position, as it was appended, in arrays that are allocated once for `capacity` positions."""

    def __init__(self, engine: Engine, capacity: int) -> None:
        self._engine = engine
        self._positions = np.arange(capacity)
        self._keys: Array | None = None
        self._values: Array | None = None
        self.length = self.held_bytes = 0

    def append(self, keys: Array, values: Array) -> None:
        if self._keys is None:
            self._keys, self._values = (self._room_for(part) for part in (keys, values))
        assert self._values is not None
        end = self.length + keys.shape[1]
        self._keys[:, self.length : end, :] = keys
        self._values[:, self.length : end, :] = values
        self.length = end
        per_position = sum(part.shape[0] * part.shape[2] for part in (keys, values))
        self.held_bytes = end * per_position * keys.dtype.itemsize

    def keys(self, length: int) -> Array:
        assert self._keys is not None
        return self._keys[:, :length, :]

    def values(self, length: int) -> Array:
        assert self._values is not None
        return self._values[:, :length, :]

    def positions(self, length: int) -> Ints:
        return self._positions[:length]

    def _room_for(self, part: Array) -> Array:
        return self._engine.empty((part.shape[0], len(self._positions), part.shape[2]))


def cache_for(engine: Engine, site: Experiment, capacity: int) -> Cache:
    """The cache of one site, given as an experiment of its own, for `capacity` positions at most."""
    return FullCache(engine, capacity)
