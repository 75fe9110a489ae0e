"""Conversions of stored matrices to numbers that engines compute with, in a bounded part of the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import ref

from numpy.typing import NDArray

LIMIT = 1024**3
"""Bytes of conversions that are kept, unless the memory of the machine allows less."""


@dataclass
class _Kept:
    """One owner, the turn of its last use, and the conversion, if it is kept."""

    owner: ref[Any]
    used: int
    array: NDArray[Any] | None = None


class Conversions:
    """`make`, kept for each owner as long as it lives and room is left.

    A pass reads the matrices of all layers in turn. If they do not fit, the latest ones stay out, rather than
    each displacing the one that is needed next: an owner takes the place of another only if that was used
    before the owner's own last use. What does not fit is converted at each use and let go.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._known: dict[int, _Kept] = {}
        self._turn = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        return sum(array.nbytes for one in list(self._known.values()) if (array := one.array) is not None)

    def of(self, owner: Any, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The conversion of an owner, which has weak references."""
        key, self._turn = id(owner), self._turn + 1
        known = self._known.get(key)
        if known is None:
            # The id is reused by another owner only after this one and its conversion are gone.
            known = self._known[key] = _Kept(ref(owner, lambda _gone: self._forget(key)), 0)
        before, known.used = known.used, self._turn
        if known.array is not None:
            return known.array
        array = make()
        if self._has_room(array.nbytes, before) and known.array is None:
            known.array = array
        return array

    def _has_room(self, n_bytes: int, before: int) -> bool:
        """Make room for `n_bytes` among what was used last before a turn."""
        total = self.nbytes + n_bytes
        for known in sorted(self._known.values(), key=lambda known: known.used):
            if total <= self.limit or known.used >= before:
                break
            if known.array is not None:
                total -= known.array.nbytes
                known.array = None
        return total <= self.limit

    def _forget(self, key: int) -> None:
        self._known.pop(key, None)


CONVERSIONS = Conversions()
"""The conversions of all documents."""
