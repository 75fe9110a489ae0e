"""Conversions of stored matrices to numbers that engines compute with, in a bounded part of a memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize, ref

import numpy as np
from numpy.typing import NDArray

Memory = NDArray[np.uint8]

LIMIT = 1024**3
"""Bytes of conversions that are kept, unless the memory of the machine allows less."""


@dataclass
class _Kept:
    """One owner, the turn of its last use, and the conversion, if it is kept, with its forms.

    `is_brief` if a pass can convert a part of its numbers at a time: the conversion does not outlast a rest.
    """

    owner: ref[Any]
    used: int = 0
    is_brief: bool = False
    array: Any = None
    forms: dict[Hashable, Any] = field(default_factory=dict)


def _empty(known: _Kept) -> None:
    """Let a conversion go, with its forms."""
    known.array = None
    known.forms.clear()


MOST_SPARE = 128 * 1024**2
"""Bytes that wait for the next conversion that is not kept."""


class _Lent:
    """Memory that is in use as long as this lives.

    Every array in it, a view of one too, keeps this alive: NumPy refers from a view to the last array of
    all that it is a view of, and lets those between go.
    """

    def __init__(self, memory: Memory) -> None:
        self.__array_interface__ = memory.__array_interface__


class Conversions:
    """`make`, kept for each owner as long as it lives and room is left: `limit` bytes.

    A pass reads the matrices of all layers in turn. If they do not fit, the latest ones stay out, rather than
    each displacing the one that is needed next: an owner takes the place of another only if that was used
    before the owner's own last use. What does not fit is converted at each use and let go.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._known: dict[tuple[int, Hashable], _Kept] = {}
        self._turn = 0
        self._spare: dict[int, Memory] = {}
        """By address: threads take memory by one step each, so that no two have the same."""
        self._held: list[_Kept] | None = None
        """Conversions that stay past the limit for now; None: no more than the limit allows."""

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        return sum(array.nbytes for one in list(self._known.values()) if (array := one.array) is not None)

    def of(
        self, owner: Any, n_bytes: int, make: Callable[[Memory | None], Any], kind: Hashable = None
    ) -> Any:
        """The conversion of an owner, which has weak references; it takes `n_bytes`.

        An owner may have one of each `kind`. `make` may put what is not kept into the memory that it is
        given, which is used again: to get memory from the system takes longer than a conversion.
        """
        converted = self.kept(owner, n_bytes, lambda: make(None), kind)
        if converted is not None:
            return converted
        if self._held is not None:
            known = self._of(owner, kind)
            known.array = array = make(None)
            self._held.append(known)
            return array
        return make(self._lent(n_bytes))

    def kept(self, owner: Any, n_bytes: int, make: Callable[[], Any], kind: Hashable = None) -> Any:
        """The same, but None where it is not kept and no room is left."""
        self._turn += 1
        known = self._of(owner, kind)
        before, known.used = known.used, self._turn
        array = known.array  # another thread may let it go
        if array is None and self._has_room(n_bytes, before):
            known.array = array = make()
        return array

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep what is converted, also past the limit, until the end of the context.

        For weights of one site that many passes use one after the other.
        """
        before, self._held = self._held, []
        try:
            yield
        finally:
            for known in self._held or ():
                _empty(known)
            self._held = before

    def goes_in_parts(self, owner: Any, n_bytes: int) -> bool:
        """True where an owner that can be converted a part at a time should be: nothing of it is kept, and no
        `held` says that many passes follow, or the whole, of `n_bytes`, has no room.

        A part is used while it is in the fast memory, so a pass takes little longer than with the whole.
        """
        known, self._turn = self._of(owner), self._turn + 1
        known.used, known.is_brief = self._turn, True
        return known.array is None and (self._held is None or self.nbytes + n_bytes > self.limit)

    def rest(self, present: Iterable[object]) -> None:
        """Let go what the next use can convert a part at a time, and memory for the next conversion.

        Of owners that are not `present`, as those of a document to which undo returns, let go everything.
        """
        stays = {id(owner) for owner in present}
        for key, known in list(self._known.items()):
            if known.is_brief or key[0] not in stays:
                _empty(known)
                known.used = 0
        self._spare.clear()

    def form_of(self, owner: Any, key: Hashable, share: Callable[[NDArray[Any]], Any]) -> Any:
        """The kept conversion of an owner as `share` returns it, in no memory of its own.

        None where no conversion is kept. A model is generated from token by token: its matrices are at hand.
        """
        known = self._known.get((id(owner), None))
        array = None if known is None else known.array
        if known is None or array is None:
            return None
        self._turn += 1
        known.used = self._turn
        form = known.forms.get(key)
        if form is None:
            form = known.forms[key] = share(array)
        return form

    def _of(self, owner: Any, kind: Hashable = None) -> _Kept:
        key = id(owner), kind
        known = self._known.get(key)
        if known is None:
            # The id is reused by another owner only after this one and its conversion are gone.
            known = self._known[key] = _Kept(ref(owner, lambda _gone: self._forget(key)))
        return known

    def _lent(self, n_bytes: int) -> Memory | None:
        """Memory for what is not kept; nothing that reads it outlives the conversion."""
        memory = self._spare_of(n_bytes)
        lent = _Lent(memory)
        finalize(lent, self._take_back, memory).atexit = False
        return np.asarray(lent)

    def _spare_of(self, n_bytes: int) -> Memory:
        """Memory of so much at least that nobody uses."""
        for address, memory in list(self._spare.items()):
            if memory.size >= n_bytes and self._spare.pop(address, None) is not None:
                return memory
        return np.empty(n_bytes, np.uint8)

    def _take_back(self, memory: Memory) -> None:
        if memory.size + sum(spare.size for spare in list(self._spare.values())) <= MOST_SPARE:
            self._spare[memory.ctypes.data] = memory

    def _has_room(self, n_bytes: int, before: int) -> bool:
        """Make room for `n_bytes` among what was used last before a turn."""
        total = self.nbytes + n_bytes
        for known in sorted(self._known.values(), key=lambda known: known.used):
            if total <= self.limit or known.used >= before:
                break
            if known.array is not None:
                total -= known.array.nbytes
                _empty(known)
        return total <= self.limit

    def _forget(self, key: tuple[int, Hashable]) -> None:
        self._known.pop(key, None)


CONVERSIONS = Conversions()
"""The conversions of all documents."""

CODES = Conversions()
"""The codes of their quantised matrices; a run sets the limit by the free memory, as they are small and take
long to make.
"""
