"""Arrays that follow from a few numbers, such as a seed and a shape: computed once and cached."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from numpy.typing import NDArray

KEPT_BYTES = 256 * 1024**2
"""Bytes of one function's cached arrays; the latest one is kept however large it is."""


class Drawn:
    """`make`, cached by its arguments; the least recently used arrays are dropped.

    Counted in bytes, because a stack of layers needs dozens of small matrices in every step, and dozens of
    the largest ones would fill the memory. Arrays become read-only: every caller gets the same one.
    """

    def __init__(self, make: Callable[..., NDArray[Any]]) -> None:
        self._make = make
        self._kept: dict[Hashable, NDArray[Any]] = {}

    def __call__(self, *arguments: Hashable) -> NDArray[Any]:
        array = self._kept.get(arguments)
        if array is None:
            array = self._make(*arguments)
            array.setflags(write=False)
            self._kept[arguments] = array
            self._let_go()
        elif len(self._kept) > 1:
            self._kept.pop(arguments, None)  # to the end; another thread that misses it draws it again
            self._kept[arguments] = array
        return array

    def _let_go(self) -> None:
        """Forget the oldest past `KEPT_BYTES`; works on a copy, as another thread may do the same."""
        total = 0
        for index, (arguments, array) in enumerate(reversed(list(self._kept.items()))):
            total += array.nbytes
            if index and total > KEPT_BYTES:
                self._kept.pop(arguments, None)
