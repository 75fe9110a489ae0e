"""The matrices of a document on an engine: each is converted and transferred once, not at every use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from attnviz.core.dims import Array


class Constants:
    """`convert`, remembered for arrays that cannot change: read-only ones that own their numbers.

    A decoding step multiplies by the same weight matrices as the step before; converting 512 x 512
    numbers takes several times as long as the product with one row.
    """

    def __init__(self, convert: Callable[[NDArray[Any]], Array]) -> None:
        self._convert = convert
        self._kept: dict[int, tuple[NDArray[Any], Array]] = {}

    def __call__(self, values: NDArray[Any]) -> Array:
        if values.flags.writeable or values.base is not None:
            return self._convert(values)
        found = self._kept.get(id(values))
        if found is None:
            # The original is kept as well: its id must not become another array's.
            found = self._kept[id(values)] = values, self._convert(values)
        return found[1]
