"""The matrices of a document on an engine: each is converted and transferred once, not at every use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array

KEPT_BYTES = 2 * 1024**3
"""Bytes of originals whose conversions are cached; beyond them the oldest are dropped first."""


class Constants:
    """`convert`, cached for arrays that cannot change: read-only ones, or views of read-only ones.

    A decoding step, and the next frame of a drag, multiply by the same weight matrices as the one before;
    converting 512 x 512 numbers takes several times as long as the product with one row. A conversion lives
    as long as its original: it is freed with the last document that holds the matrix.
    """

    def __init__(self, convert: Callable[[NDArray[Any]], Array]) -> None:
        self._convert = convert
        self._kept: dict[Hashable, _Converted] = {}
        self._taken = 0

    def __call__(self, values: NDArray[Any]) -> Array:
        whole = self._kept.get(id(values))  # a matrix of a document, at the thousandth step
        if whole is not None:
            return whole.made
        key = _key(values)
        if key is None:
            return self._convert(values)
        found = self._kept.get(key)
        if found is None:
            made = self._convert(values)
            if made is values:  # the array needed no conversion; cached, it would keep its own original alive
                return made
            owner = values if values.base is None else values.base
            # The place in memory becomes another array's only after the original has gone, and this with it.
            original = ref(owner, lambda _gone: self._kept.pop(key, None))
            found = self._kept[key] = _Converted(original, values.nbytes, made)
            self._taken += values.nbytes
            if self._taken > KEPT_BYTES // 16:  # the sum over all takes longer than a small conversion
                self._taken = 0
                self._let_go()
        return found.made

    def _let_go(self) -> None:
        """Forget the oldest past `KEPT_BYTES`; works on a copy, as another thread may do the same."""
        total = 0
        for key, converted in reversed(list(self._kept.items())):
            total += converted.nbytes
            if total > KEPT_BYTES:
                self._kept.pop(key, None)


class _Converted(NamedTuple):
    """A converted array, and a weak reference to its original."""

    original: ref[Any]
    nbytes: int
    made: Array


def _key(values: NDArray[Any]) -> Hashable:
    """Identity of an array that cannot change, a view by its content; None for all others.

    A tied projection, a row of a matrix and an unembedding are views that are created at every use.
    """
    if values.flags.writeable:
        return None
    base = values.base
    if base is None:
        return id(values)
    if not isinstance(base, np.ndarray) or base.flags.writeable or base.base is not None:
        return None
    return id(base), values.ctypes.data, values.shape, values.strides, values.dtype.char
