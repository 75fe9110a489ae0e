"""Arrays that follow from a few numbers, such as a seed and a shape: made once and kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from numpy.typing import NDArray

KEPT_BYTES = 256 * 1024**2
"""Bytes that one function's arrays may take; the one asked for last is kept however large it is."""


class Drawn:
    """`make`, remembered by its arguments; the arrays that were longest not asked for are let go.

    Counted in bytes, because a stack of layers asks for dozens of small matrices in every step, and dozens of
    the largest ones would fill the memory. Arrays become read-only: whoever asks gets the same one.
    """

    def __init__(self, make: Callable[..., NDArray[Any]]) -> None:
        self._make = make
        self._kept: OrderedDict[Hashable, NDArray[Any]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __call__(self, *arguments: Hashable) -> NDArray[Any]:
        with self._lock:
            found = self._kept.get(arguments)
            if found is not None:
                self._kept.move_to_end(arguments)
                return found
        made = self._make(*arguments)
        made.setflags(write=False)
        with self._lock:
            if arguments not in self._kept:
                self._bytes += made.nbytes
                self._kept[arguments] = made
            while self._bytes > KEPT_BYTES and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
            return self._kept.get(arguments, made)
