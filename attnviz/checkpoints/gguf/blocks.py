"""Numbers of the usual quantised types: whole numbers of at most 8 bits with factors that some of them share.

A number is q · f + o; q is a whole number, f the factor of its group and o the offset of its group, if the
type has offsets. In the words of GGML (ggml-common.h, ggml-quants.c), f is d, or d times a scale of 6 or 8
bits, and o is m, or -dmin times a minimum of 6 bits. Some blocks are computed together, so that their numbers
stay in the fast memory: the package gguf passes over the whole tensor for every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.model.spec.codes import Codes, codes_of_rows

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

LENGTH = 32
"""Numbers of a block of a simple type."""

LONG = 256
"""Numbers of a block of a type whose scales are quantised too."""

AT_ONCE = 2**16
"""Numbers that are computed together."""

Read = Callable[[Bytes, NDArray[np.int8]], tuple[Floats, Floats | None]]
"""Writes the whole numbers of blocks; returns the factors and the offsets of their groups."""


def _floats(raw: Bytes) -> Floats:
    """Numbers in float16, two bytes each."""
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)


def _q8_0(raw: Bytes, whole: NDArray[np.int8]) -> tuple[Floats, None]:
    whole[...] = raw[:, 2:].view(np.int8)
    return _floats(raw[:, :2]), None


def _halves(codes: Bytes, whole: NDArray[np.int8]) -> None:
    """The lower halves of the bytes come first."""
    n = codes.shape[1]
    whole[:, :n], whole[:, n:] = codes & 0xF, codes >> 4


def _q4_0(raw: Bytes, whole: NDArray[np.int8]) -> tuple[Floats, None]:
    _halves(raw[:, 2:], whole)
    whole -= 8
    return _floats(raw[:, :2]), None


def _q4_1(raw: Bytes, whole: NDArray[np.int8]) -> tuple[Floats, Floats]:
    _halves(raw[:, 4:], whole)
    factors = _floats(raw[:, :4])
    return factors[:, :1], factors[:, 1:]


def _of_six_bits(raw: Bytes) -> tuple[Floats, Floats]:
    """d and dmin, then eight scales and eight minima of 6 bits each in 12 bytes: factors and offsets."""
    both, low, middle, high = _floats(raw[:, :4]), raw[:, 4:8], raw[:, 8:12], raw[:, 12:16]
    scales = np.concatenate((low & 0x3F, (high & 0xF) | ((low >> 6) << 4)), axis=1)
    minima = np.concatenate((middle & 0x3F, (high >> 4) | ((middle >> 6) << 4)), axis=1)
    return both[:, :1] * scales.astype(np.float32), -(both[:, 1:] * minima.astype(np.float32))


def _q4_k(raw: Bytes, whole: NDArray[np.int8]) -> tuple[Floats, Floats]:
    for start in range(0, LONG // 2, LENGTH):
        codes = raw[:, 16 + start : 16 + start + LENGTH]
        _halves(codes, whole[:, 2 * start : 2 * (start + LENGTH)])
    return _of_six_bits(raw)


def _q5_k(raw: Bytes, whole: NDArray[np.int8]) -> tuple[Floats, Floats]:
    fifth = raw[:, 16 : 16 + LENGTH]
    for group in range(LONG // LENGTH):
        start = 16 + LENGTH * (1 + group // 2)
        codes = raw[:, start : start + LENGTH]
        low = codes >> 4 if group % 2 else codes & 0xF
        whole[:, group * LENGTH : (group + 1) * LENGTH] = low | (((fifth >> group) & 1) << 4)
    return _of_six_bits(raw)


def _q6_k(raw: Bytes, whole: NDArray[np.int8]) -> tuple[Floats, None]:
    for quarter in range(LONG // LENGTH):
        half, place = divmod(quarter, 4)
        start = 64 * half + LENGTH * (place % 2)
        codes = raw[:, start : start + LENGTH]
        low = codes >> 4 if place >= 2 else codes & 0xF
        upper = raw[:, 128 + LENGTH * half : 128 + LENGTH * (half + 1)]
        whole[:, quarter * LENGTH : (quarter + 1) * LENGTH] = low | (((upper >> (2 * place)) & 3) << 4)
    whole -= 32
    return _floats(raw[:, 208:]) * raw[:, 192:208].view(np.int8).astype(np.float32), None


@dataclass(frozen=True)
class Kind:
    """One type: its name, the bytes and the numbers of a block, and the numbers that share a factor.

    `are_halves` if its whole numbers have 4 bits.
    """

    name: str
    n_bytes: int
    length: int
    group: int
    read: Read
    are_halves: bool = False


KINDS = {
    2: Kind("Q4_0", 18, LENGTH, LENGTH, _q4_0, are_halves=True),
    3: Kind("Q4_1", 20, LENGTH, LENGTH, _q4_1, are_halves=True),
    8: Kind("Q8_0", 34, LENGTH, LENGTH, _q8_0),
    12: Kind("Q4_K", 144, LONG, LENGTH, _q4_k, are_halves=True),
    13: Kind("Q5_K", 176, LONG, LENGTH, _q5_k),
    14: Kind("Q6_K", 210, LONG, 16, _q6_k),
}
"""By the number that the format gives each type."""


def numbers(raw: Bytes, kind: Kind) -> tuple[Floats, bool]:
    """(the numbers of rows of blocks, whether all are finite); `raw` is (rows, bytes).

    The products are those of the package gguf, bit for bit.
    """
    blocks, step = raw.reshape(-1, kind.n_bytes), max(1, AT_ONCE // kind.length)
    made, is_finite = np.empty((len(blocks), kind.length), np.float32), True
    whole = np.empty((min(step, len(blocks)), kind.length), np.int8)
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        factors, offsets = kind.read(part, whole[: len(part)])
        into = made[start : start + step].reshape(-1, kind.group)
        into[...] = whole[: len(part)].reshape(-1, kind.group)
        into *= factors.reshape(-1, 1)
        if offsets is not None:
            into += offsets.reshape(-1, 1)
        is_finite = is_finite and _are_finite(factors, offsets)
    return made.reshape(len(raw), -1), is_finite


def codes(raw: Bytes, kind: Kind) -> Codes | None:
    """The codes of rows of blocks, one output for each; None where a factor or an offset is not finite."""
    blocks = raw.reshape(-1, kind.n_bytes)
    whole = np.empty((len(blocks), kind.length), np.int8)
    factors, offsets = kind.read(blocks, whole)
    if not _are_finite(factors, offsets):
        return None
    n = len(raw)
    by_row = None if offsets is None else offsets.reshape(n, -1)
    return codes_of_rows(whole.reshape(n, -1), factors.reshape(n, -1), by_row, kind.are_halves)


def _are_finite(factors: Floats, offsets: Floats | None) -> bool:
    return all(one is None or bool(np.isfinite(one).all()) for one in (factors, offsets))
