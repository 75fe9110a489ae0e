"""The matrices of files in the memory of a device: they live there, or are brought in for each use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attnviz.core.dims import Array
from attnviz.engines.engine import ITEMSIZE, Engine
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.conversions import CODES, CONVERSIONS, Conversions, Memory

SHARE = 0.75
"""Part of the free memory that matrices may take; the rest is for one that is brought in for a single use."""


class OnDevice(Conversions):
    """Matrices of one device, in each precision that an engine computes with.

    `free()` are the bytes that neither these matrices nor anything else takes. A model that fits stays on the
    device; of a larger one, as many matrices stay as fit, and the others are read from their file for each
    use: the layers stream through.
    """

    def __init__(self, free: Callable[[], int]) -> None:
        super().__init__(limit=0)
        self._free = free

    def leave(self, n_bytes: int) -> None:
        """Leave `n_bytes` to the run that follows, and let go what takes more than the rest allows.

        Nothing is kept before the first call.
        """
        self.limit = max(0, int(SHARE * (self._free() + self.nbytes - n_bytes)))
        self._has_room(0, before=self._turn + 1)

    def matrix(self, engine: Engine, matrix: Matrix) -> Array:
        """The numbers of a matrix that lies in a file, (rows, columns). Raises `FileChanged`."""

        def make(_memory: Memory | None) -> Array:
            made = engine.empty(matrix.shape)
            for strip, numbers in matrix.strips():
                made[strip] = engine.asarray(numbers)
            return made

        n_bytes = math.prod(matrix.shape) * ITEMSIZE[engine.dtype]
        return self.of(matrix, n_bytes, make, kind=engine.dtype)

    def _lent(self, n_bytes: int) -> Memory | None:
        return None  # the device's library uses memory again by itself


_BY_DEVICE: dict[str, OnDevice] = {}


def on_device(device: str, free: Callable[[], int]) -> OnDevice:
    """The matrices of a device, the same for all engines on it."""
    found = _BY_DEVICE.get(device)
    if found is None:
        found = _BY_DEVICE[device] = OnDevice(free)
    return found


def rest(present: Sequence[Matrix]) -> None:
    """Let go, on the machine and on each device, what the next use can do without; see `Conversions.rest`."""
    for kept in (CONVERSIONS, CODES, *_BY_DEVICE.values()):
        kept.rest(present)
