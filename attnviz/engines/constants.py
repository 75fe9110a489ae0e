"""The matrices of a document on an engine: each is converted and transferred once, not at every use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array

KEPT_BYTES = 128 * 1024**2
"""Bytes of originals that are remembered; the oldest are let go first."""


class Constants:
    """`convert`, remembered for arrays that cannot change: read-only ones, or views of read-only ones.

    A decoding step, and the next frame of a drag, multiply by the same weight matrices as the one before;
    converting 512 x 512 numbers takes several times as long as the product with one row.
    """

    def __init__(self, convert: Callable[[NDArray[Any]], Array]) -> None:
        self._convert = convert
        self._kept: dict[Hashable, tuple[NDArray[Any], Array]] = {}

    def __call__(self, values: NDArray[Any]) -> Array:
        key = _key(values)
        if key is None:
            return self._convert(values)
        found = self._kept.get(key)
        if found is None:
            # The original is kept as well: its place in memory must not become another array's.
            found = self._kept[key] = values, self._convert(values)
            self._let_go()
        return found[1]

    def _let_go(self) -> None:
        """Forget the oldest past `KEPT_BYTES`; works on a copy, as another thread may do the same."""
        total = 0
        for key, (original, _made) in reversed(list(self._kept.items())):
            total += original.nbytes
            if total > KEPT_BYTES:
                self._kept.pop(key, None)


def _key(values: NDArray[Any]) -> Hashable:
    """What tells an array that cannot change from all others, a view by what it shows; None for the rest.

    A tied projection, a row of a matrix and an unembedding are views that are made anew at every use.
    """
    if values.flags.writeable:
        return None
    base = values.base
    if base is None:
        return id(values)
    if not isinstance(base, np.ndarray) or base.flags.writeable or base.base is not None:
        return None
    return id(base), values.ctypes.data, values.shape, values.strides, values.dtype.char
