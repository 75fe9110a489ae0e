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
    must not reference its owner. The latest `most` owners are cached; None: all that live. An owner that is
    `like` another one has its result.
    """

    def __init__(
        self,
        find: Callable[[Owner], Found],
        most: int | None = None,
        like: Callable[[Owner, Owner], bool] | None = None,
    ) -> None:
        self._find, self._most, self._like = find, most, like
        self._found: dict[int, tuple[ref[Owner], Found]] = {}

    def __call__(self, owner: Owner) -> Found:
        key = id(owner)
        known = self._found.get(key)
        if known is None:
            # The id is reused by another owner only after this one and its results are gone.
            gone = ref(owner, lambda _gone: self._found.pop(key, None))
            alike = self._result_of_like(owner)
            known = self._found[key] = gone, self._find(owner) if alike is None else alike[0]
            if self._most is not None and len(self._found) > self._most:
                self._found.pop(next(iter(self._found)), None)
        return known[1]

    def _result_of_like(self, owner: Owner) -> tuple[Found] | None:
        """The result of a living owner that this one is like, the latest first."""
        if self._like is not None:
            for reference, result in reversed(list(self._found.values())):
                other = reference()
                if other is not None and self._like(owner, other):
                    return (result,)
        return None
