"""What a decoding keeps of the positions that it has seen: one cache for each site.

The decoder appends what the projections made and reads back what the scores and the mixture are to see; it
does not know how that is kept. Another kind (a ring, quantised numbers) is a class with these methods, and
one more branch in `cache_for`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.latent import expanded
from attnviz.model.experiment import Experiment
from attnviz.model.latent import cached_numbers, latent_of

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

    def append(self, made: Features) -> None:
        """Keep what the next positions need, of the stages that the site made of them."""

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

    def append(self, made: Features) -> None:
        keys, values = made.key(), made.value()
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


class LatentCache:
    """The latent and the turned RoPE key of every position: d_c + d_rope numbers, whatever the heads.

    Keys and values of the heads are made from them when they are read (DeepSeek-V2, section 2.1.2).
    """

    def __init__(self, engine: Engine, site: Experiment, capacity: int) -> None:
        self._engine, self._site = engine, site
        latent = latent_of(site)
        self._positions = np.arange(capacity)
        self._latent = engine.empty((capacity, latent.d_c))
        self._rope_key = engine.empty((capacity, latent.d_rope)) if latent.d_rope else None
        self._read: tuple[int, tuple[Array, Array]] | None = None
        self.length = self.held_bytes = 0

    def append(self, made: Features) -> None:
        latent = made.tf["latent"]
        end = self.length + latent.shape[0]
        self._latent[self.length : end, :] = latent
        if self._rope_key is not None:
            # Every head has the same one behind its content.
            self._rope_key[self.length : end, :] = made.key()[0, :, self._site.heads.d_head :]
        self.length = end
        self.held_bytes = end * cached_numbers(self._site) * latent.dtype.itemsize

    def keys(self, length: int) -> Array:
        return self._expanded(length)[0]

    def values(self, length: int) -> Array:
        return self._expanded(length)[1]

    def positions(self, length: int) -> Ints:
        return self._positions[:length]

    def _expanded(self, length: int) -> tuple[Array, Array]:
        """Keys and values of all heads; those of the last length that was asked for are at hand."""
        if self._read is None or self._read[0] != length:
            rope_key = None if self._rope_key is None else self._rope_key[:length, :]
            with self._engine.active():
                made = expanded(self._engine, self._site, self._latent[:length, :], rope_key)
            self._read = length, made
        return self._read[1]


def cache_for(engine: Engine, site: Experiment, capacity: int) -> Cache:
    """The cache of one site, given as an experiment of its own, for `capacity` positions at most."""
    if site.latent is not None:
        return LatentCache(engine, site, capacity)
    return FullCache(engine, capacity)
