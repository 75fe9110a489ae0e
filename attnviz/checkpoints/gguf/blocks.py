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
Whole = NDArray[np.int8]

LENGTH = 32
"""Numbers of a block of a simple type."""

LONG = 256
"""Numbers of a block of a type whose scales are quantised too."""

AT_ONCE = 2**16
"""Numbers that are computed together."""

HALF = 16
"""Whole numbers below this have half a byte."""


def _floats(raw: Bytes) -> Floats:
    """Numbers in float16, two bytes each."""
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)


def _factor(raw: Bytes) -> tuple[Floats, None]:
    return _floats(raw[:, :2]), None


def _factor_and_offset(raw: Bytes) -> tuple[Floats, Floats]:
    return _floats(raw[:, :2]), _floats(raw[:, 2:4])


def _factors(raw: Bytes) -> tuple[Floats, None]:
    """16 scales of 8 bits, then d."""
    return _floats(raw[:, 208:]) * raw[:, 192:208].view(np.int8).astype(np.float32), None


def _factors_and_minima(raw: Bytes) -> tuple[Floats, Floats]:
    """d and dmin, then eight scales and eight minima of 6 bits each in 12 bytes: factors and offsets."""
    both, low, middle, high = _floats(raw[:, :4]), raw[:, 4:8], raw[:, 8:12], raw[:, 12:16]
    scales = np.concatenate((low & 0x3F, (high & 0xF) | ((low >> 6) << 4)), axis=1)
    minima = np.concatenate((middle & 0x3F, (high >> 4) | ((middle >> 6) << 4)), axis=1)
    return both[:, :1] * scales.astype(np.float32), -(both[:, 1:] * minima.astype(np.float32))


def _bytes(raw: Bytes, whole: Whole) -> None:
    whole[...] = raw[:, 2:].view(np.int8)


def _pairs(raw: Bytes) -> Bytes:
    """The bytes of whole numbers of 4 bits, at the end of a block."""
    return raw[:, -LENGTH // 2 :]


def _halves(raw: Bytes, whole: Whole) -> None:
    _split(_pairs(raw), whole)


def _signed_halves(raw: Bytes, whole: Whole) -> None:
    _halves(raw, whole)
    whole -= HALF // 2


def _split(pairs: Bytes, whole: Whole) -> None:
    """The lower halves of the bytes come first."""
    n = pairs.shape[1]
    whole[:, :n], whole[:, n:] = pairs & 0xF, pairs >> 4


def _four_bits(raw: Bytes, whole: Whole) -> None:
    for start in range(0, LONG // 2, LENGTH):
        pairs = raw[:, 16 + start : 16 + start + LENGTH]
        _split(pairs, whole[:, 2 * start : 2 * (start + LENGTH)])


def _pairs_of_four_bits(raw: Bytes) -> Bytes:
    """In the file a byte has the numbers of two groups, the lower halves those of the first."""
    first, second = np.split(raw[:, 16:].reshape(-1, LENGTH), 2, axis=1)
    low, high = (first & 0xF) | (second << 4), (first >> 4) | (second & 0xF0)
    return np.concatenate((low, high), axis=1).reshape(len(raw), -1)


def _five_bits(raw: Bytes, whole: Whole) -> None:
    fifth = raw[:, 16 : 16 + LENGTH]
    for group in range(LONG // LENGTH):
        start = 16 + LENGTH * (1 + group // 2)
        codes = raw[:, start : start + LENGTH]
        low = codes >> 4 if group % 2 else codes & 0xF
        whole[:, group * LENGTH : (group + 1) * LENGTH] = low | (((fifth >> group) & 1) << 4)


def _six_bits(raw: Bytes, whole: Whole) -> None:
    for quarter in range(LONG // LENGTH):
        half, place = divmod(quarter, 4)
        start = 64 * half + LENGTH * (place % 2)
        codes = raw[:, start : start + LENGTH]
        low = codes >> 4 if place >= 2 else codes & 0xF
        upper = raw[:, 128 + LENGTH * half : 128 + LENGTH * (half + 1)]
        whole[:, quarter * LENGTH : (quarter + 1) * LENGTH] = low | (((upper >> (2 * place)) & 3) << 4)
    whole -= 32


@dataclass(frozen=True)
class Kind:
    """One type: its name, the bytes and the numbers of a block, and the numbers that share a factor.

    `factors` returns the factors of the groups of some blocks, and their offsets, if the type has any;
    `write` writes the whole numbers. `pairs` returns those of 4 bits as `Codes` have them, two in a byte,
    from 0 on.
    """

    name: str
    n_bytes: int
    length: int
    group: int
    factors: Callable[[Bytes], tuple[Floats, Floats | None]]
    write: Callable[[Bytes, Whole], None]
    pairs: Callable[[Bytes], Bytes] | None = None


KINDS = {
    2: Kind("Q4_0", 18, LENGTH, LENGTH, _factor, _signed_halves, _pairs),
    3: Kind("Q4_1", 20, LENGTH, LENGTH, _factor_and_offset, _halves, _pairs),
    8: Kind("Q8_0", 34, LENGTH, LENGTH, _factor, _bytes),
    12: Kind("Q4_K", 144, LONG, LENGTH, _factors_and_minima, _four_bits, _pairs_of_four_bits),
    13: Kind("Q5_K", 176, LONG, LENGTH, _factors_and_minima, _five_bits),
    14: Kind("Q6_K", 210, LONG, 16, _factors, _six_bits),
}
"""By the number that the format gives each type."""


def numbers(raw: Bytes, kind: Kind) -> tuple[Floats, bool]:
    """(the numbers of rows of blocks, whether all are finite); `raw` is (rows, bytes).

    The products are those of the package gguf, bit for bit.
    """
    blocks, step = raw.reshape(-1, kind.n_bytes), max(1, AT_ONCE // kind.length)
    numbers, is_finite = np.empty((len(blocks), kind.length), np.float32), True
    whole = np.empty((min(step, len(blocks)), kind.length), np.int8)
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        factors, offsets = kind.factors(part)
        kind.write(part, whole[: len(part)])
        into = numbers[start : start + step].reshape(-1, kind.group)
        into[...] = whole[: len(part)].reshape(-1, kind.group)
        into *= factors.reshape(-1, 1)
        if offsets is not None:
            into += offsets.reshape(-1, 1)
        is_finite = is_finite and _are_finite(factors, offsets)
    return numbers.reshape(len(raw), -1), is_finite


def codes(raw: Bytes, kind: Kind) -> Codes | None:
    """The codes of rows of blocks, one output for each; None where a factor or an offset is not finite."""
    n, blocks = len(raw), raw.reshape(-1, kind.n_bytes)
    factors, offsets = kind.factors(blocks)
    if not _are_finite(factors, offsets):
        return None
    whole: Whole | Bytes
    if kind.pairs is None:
        whole = np.empty((len(blocks), kind.length), np.int8)
        kind.write(blocks, whole)
    else:
        whole = kind.pairs(blocks)
        # q f = (q + 8) f - 8 f without rounding: f has 11 bits.
        offsets = np.float32(-HALF // 2) * factors if offsets is None else offsets
    by_row = None if offsets is None else offsets.reshape(n, -1)
    return codes_of_rows(whole.reshape(n, -1), factors.reshape(n, -1), by_row)


def _are_finite(factors: Floats, offsets: Floats | None) -> bool:
    return all(one is None or bool(np.isfinite(one).all()) for one in (factors, offsets))
