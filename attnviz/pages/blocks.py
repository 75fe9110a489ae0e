"""The arrays of a page: blocks of text that typed arrays of the browser read, each when it is first shown."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"float64": "f8", "float32": "f4", "float16": "f2"}

LEVEL = 1
"""Of zlib: higher levels take twice as long and save a hundredth."""


class Blocks:
    """Arrays, each compressed by itself: a browser unpacks the one that it draws."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, array: NDArray[Any]) -> int:
        """Append an array of floats, little-endian, and return its number.

        The first bytes of all numbers stand together, then the second ones, and so on: exponents are alike,
        so that they compress.
        """
        ordered = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        planes = ordered.reshape(-1, 1).view(np.uint8).T
        return self._append(np.ascontiguousarray(planes).tobytes())

    def add_bits(self, cells: NDArray[np.bool_]) -> int:
        """Append true and false as bits, the first cell the highest bit; returns their number."""
        return self._append(np.packbits(cells.ravel()).tobytes())

    def elements(self, first: Iterable[int]) -> tuple[str, str]:
        """The elements of a page: those of the numbers in `first`, and all others."""
        wanted = set(first)
        found: tuple[list[str], list[str]] = ([], [])
        for number, text in enumerate(self._texts):
            element = f'<script type="application/octet-stream" data-block="{number}">{text}</script>\n'
            found[number not in wanted].append(element)
        return "".join(found[0]), "".join(found[1])

    def _append(self, data: bytes) -> int:
        self._texts.append(b64encode(zlib.compress(data, LEVEL)).decode("ascii"))
        return len(self._texts) - 1
