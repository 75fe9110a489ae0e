"""Weak memoisation of values derived from one owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

Owner = TypeVar("Owner")
Found = TypeVar("Found")


class WeakMemo(Generic[Owner, Found]):
    """`find`, cached for every owner (an experiment, a site) as long as that lives.

    By identity: an owner never changes, and comparing one by value takes longer than most answers. The result
    must not reference its owner. The latest `most` owners are cached; None: all that live.
    """

    def __init__(self, find: Callable[[Owner], Found], most: int | None = None) -> None:
        self._find, self._most = find, most
        self._found: dict[int, tuple[ref[Owner], Found]] = {}

    def __call__(self, owner: Owner) -> Found:
        key = id(owner)
        known = self._found.get(key)
        if known is None:
            # The id is reused by another owner only after this one and its results are gone.
            gone = ref(owner, lambda _gone: self._found.pop(key, None))
            known = self._found[key] = gone, self._find(owner)
            if self._most is not None and len(self._found) > self._most:
                self._found.pop(next(iter(self._found)), None)
        return known[1]
