"""Compiled loops over weights as they are stored, in 16 bits or as `Codes` of 4 or 8 bits, and `erf`.

NumPy and Torch multiply float32 with float32 alone: a stored weight would come from memory as four bytes for
every product, or be converted by several passes over it. numba compiles the loops for the processor that it
finds, and keeps what it compiled beside this file or in the user's cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

exact = njit(**_OPTIONS)
"""Every operation is rounded."""

summing = njit(**_OPTIONS, fastmath={"contract", "reassoc"})
"""A sum is made in several parts, as BLAS makes it; NaN and infinities stay what they are."""


_HALF = np.float32(2.0**112)
"""The exponents of float32 begin so much lower than those of float16."""


@exact
def _widened(bits: Any, is_half: bool) -> Any:
    """The float32 of a float16, or of a bfloat16, which is its upper half."""
    if is_half:
        size, sign = (np.uint32(bits) & 0x7FFF) << 13, (np.uint32(bits) & 0x8000) << 16
        return np.uint32(size | sign).view(np.float32) * _HALF
    return np.uint32(np.uint32(bits) << 16).view(np.float32)


@exact
def short_numbers(bits: Any, is_half: bool, numbers: Any) -> None:
    """Write the numbers of W, (out, in), of 16 bits each."""
    for row in range(bits.shape[0]):
        stored, into = bits[row], numbers[row]
        for i in range(stored.size):
            into[i] = _widened(stored[i], is_half)


@summing
def short_product(bits: Any, is_half: bool, x: Any, y: Any) -> None:
    """y = W x; `bits` are those of W, (out, in)."""
    for row in range(y.size):
        stored, total = bits[row], x.dtype.type(0)
        for i in range(x.size):
            total += _widened(stored[i], is_half) * x[i]
        y[row] = total


@exact
def error_function(x: Any, y: Any) -> None:
    """y = erf(x), computed in float64."""
    for i in range(x.size):
        y[i] = math.erf(np.float64(x[i]))


_LOW, _UP = np.uint8(15), np.uint8(4)
"""The bits of the lower half of a byte, and the distance of the upper one."""


@exact
def codes_numbers(whole: Any, factors: Any, offsets: Any, numbers: Any) -> None:
    """Write the numbers of the transpose of W, (in, out), from the parts of `Codes`."""
    n_blocks, n_inputs, n_lanes = whole.shape
    length = n_inputs // factors.shape[1]
    for i in range(n_inputs):
        group = i // length
        for block in range(n_blocks):
            into, codes = numbers[i, block * n_lanes : (block + 1) * n_lanes], whole[block, i]
            factor = factors[block, group]
            if offsets is None:
                for lane in range(n_lanes):
                    into[lane] = np.float32(codes[lane]) * factor[lane]
            else:
                offset = offsets[block, group]
                for lane in range(n_lanes):
                    into[lane] = np.float32(codes[lane]) * factor[lane] + offset[lane]


@exact
def halves_numbers(pairs: Any, factors: Any, offsets: Any, numbers: Any) -> None:
    """`codes_numbers` of whole numbers of 4 bits, two in a byte."""
    n_blocks, n_pairs, n_lanes = pairs.shape
    half = n_pairs // factors.shape[1]
    for pair in range(n_pairs):
        group = pair // half
        first = group * half + pair
        for block in range(n_blocks):
            lanes = slice(block * n_lanes, (block + 1) * n_lanes)
            low, high, codes = numbers[first, lanes], numbers[first + half, lanes], pairs[block, pair]
            factor, offset = factors[block, group], offsets[block, group]
            for lane in range(n_lanes):
                low[lane] = np.float32(codes[lane] & _LOW) * factor[lane] + offset[lane]
                high[lane] = np.float32(codes[lane] >> _UP) * factor[lane] + offset[lane]


@summing
def _add_codes(whole: Any, x: Any, group: int, length: int, part: Any) -> Any:
    """Add the products of a group to `part`, (lane,); returns the sum of its x."""
    sum_x = np.float32(0)
    for i in range(group * length, (group + 1) * length, 4):
        # Four at a time: `part` is read and written a quarter as often.
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        q0, q1, q2, q3 = whole[i], whole[i + 1], whole[i + 2], whole[i + 3]
        for lane in range(part.size):
            first = np.float32(q0[lane]) * x0 + np.float32(q1[lane]) * x1
            part[lane] += first + np.float32(q2[lane]) * x2 + np.float32(q3[lane]) * x3
        sum_x += (x0 + x1) + (x2 + x3)
    return sum_x


@summing
def _add_halves(pairs: Any, x: Any, group: int, length: int, part: Any) -> Any:
    """`_add_codes` of whole numbers of 4 bits, two in a byte."""
    half, sum_x = length // 2, np.float32(0)
    for pair in range(group * half, (group + 1) * half, 4):
        i = group * half + pair
        j = i + half
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        z0, z1, z2, z3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        a, b, c, d = pairs[pair], pairs[pair + 1], pairs[pair + 2], pairs[pair + 3]
        for lane in range(part.size):
            low = np.float32(a[lane] & _LOW) * x0 + np.float32(b[lane] & _LOW) * x1
            low += np.float32(c[lane] & _LOW) * x2 + np.float32(d[lane] & _LOW) * x3
            high = np.float32(a[lane] >> _UP) * z0 + np.float32(b[lane] >> _UP) * z1
            high += np.float32(c[lane] >> _UP) * z2 + np.float32(d[lane] >> _UP) * z3
            part[lane] += low + high
        sum_x += (x0 + x1) + (x2 + x3) + ((z0 + z1) + (z2 + z3))
    return sum_x


@summing
def codes_product(whole: Any, factors: Any, offsets: Any, are_halves: bool, x: Any, y: Any) -> None:
    """y = W x, (block, lane), of the parts of `Codes`: a group's sum first, then its factor and offset."""
    n_groups, n_lanes = factors.shape[1], factors.shape[2]
    length = x.size // n_groups
    part = np.empty(n_lanes, np.float32)
    for block in range(y.shape[0]):
        total = y[block]
        total[:] = 0
        for group in range(n_groups):
            part[:] = 0
            if are_halves:
                sum_x = _add_halves(whole[block], x, group, length, part)
            else:
                sum_x = _add_codes(whole[block], x, group, length, part)
            for lane in range(n_lanes):
                total[lane] += part[lane] * factors[block, group, lane]
            if offsets is not None:
                for lane in range(n_lanes):
                    total[lane] += sum_x * offsets[block, group, lane]
