"""The arrays of a page: one block of bytes that typed arrays of the browser read, compressed."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNED = 8
"""Every array begins at a multiple of these bytes, as a typed array must."""

TYPES = {"float64": "f8", "float32": "f4", "float16": "f2"}


class Block:
    """Arrays one after the other, little-endian."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def add(self, array: NDArray[Any]) -> dict[str, Any]:
        """Append an array of floats; returns its place, type and shape for the page."""
        kind = TYPES[array.dtype.name]
        at = self._append(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
        return {"at": at, "type": kind, "shape": list(array.shape)}

    def add_bits(self, cells: NDArray[np.bool_]) -> dict[str, Any]:
        """Append true and false as bits, the first cell the highest bit; returns their place."""
        packed = np.packbits(cells.ravel()).tobytes()
        return {"at": self._append(packed), "length": len(packed)}

    def text(self) -> str:
        """All bytes, compressed by gzip, in base64."""
        # No time in the header: equal documents make equal pages.
        return base64.b64encode(gzip.compress(b"".join(self._parts), 6, mtime=0)).decode("ascii")

    def _append(self, data: bytes) -> int:
        at = self.size
        data += bytes(-len(data) % ALIGNED)
        self._parts.append(data)
        self.size += len(data)
        return at
