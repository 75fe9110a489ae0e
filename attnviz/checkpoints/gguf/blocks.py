"""Numbers of the simple quantised types: blocks of 32 whole numbers of 4 or 8 bits with common factors.

In the words of GGML (ggml-common.h), a block has d, in float16, for `q` · d, or d and m for `q` · d + m.
Of 4 bits, the lower halves of the 16 bytes come first. Some blocks are computed together, so that their
numbers stay in the fast memory: the package gguf passes over the whole tensor for every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH = 32
"""Numbers of a block."""

AT_ONCE = 2048
"""Blocks that are computed together."""


def _bytes(codes: NDArray[Any], made: NDArray[Any]) -> None:
    made[...] = codes.view(np.int8)


def _halves(codes: NDArray[Any], made: NDArray[Any]) -> None:
    half = LENGTH // 2
    made[:, :half], made[:, half:] = codes & 0xF, codes >> 4


def _signed_halves(codes: NDArray[Any], made: NDArray[Any]) -> None:
    _halves(codes, made)
    made -= 8


@dataclass(frozen=True)
class Kind:
    """One type: the bytes of a block, the count of its factors, and the whole numbers `q` of the others."""

    n_bytes: int
    factors: int
    read: Callable[[NDArray[Any], NDArray[Any]], None]


KINDS = {2: Kind(18, 1, _signed_halves), 3: Kind(20, 2, _halves), 8: Kind(34, 1, _bytes)}
"""Q4_0, Q4_1 and Q8_0, by the number that the format gives them."""


def numbers(raw: NDArray[np.uint8], kind: Kind) -> tuple[NDArray[np.float32], bool]:
    """(the numbers of rows of blocks, whether all are finite); `raw` is (rows, bytes).

    The products are those of the package gguf, bit for bit.
    """
    head = 2 * kind.factors
    blocks = raw.reshape(-1, kind.n_bytes)
    made, is_finite = np.empty((len(blocks), LENGTH), np.float32), True
    for start in range(0, len(blocks), AT_ONCE):
        part, into = blocks[start : start + AT_ONCE], made[start : start + AT_ONCE]
        factors = np.ascontiguousarray(part[:, :head]).view(np.float16).astype(np.float32)
        is_finite = is_finite and bool(np.isfinite(factors).all())
        kind.read(part[:, head:], into)
        into *= factors[:, :1]
        if kind.factors == 2:
            into += factors[:, 1:]
    return made.reshape(len(raw), -1), is_finite
