"""Quantisation to integers of a few bits: the smaller cache, and the error that it costs.

Symmetric quantisation by absolute maximum (Jacob et al. 2018, section 2; Dettmers et al. 2022, section 2.1):
each row has one step, its largest magnitude divided by the largest integer.
"""

from __future__ import annotations

from typing import Any

from attnviz.core.dims import Array
from attnviz.core.precision import at_least_single

SCALE_BYTES = 4
"""Bytes of one row's step, stored as a float32."""


def largest(bits: int) -> int:
    """The largest signed integer of `bits` bits; its negative is used as well: 127, or 7."""
    return 2 ** (bits - 1) - 1


def quantise(xp: Any, x: Array, bits: int) -> tuple[Array, Array]:
    """(integers, steps) of x (..., d) with x ≈ integer · step over its last axis; floats of 32 bits or more.

    step = max |x| / (2^(bits - 1) - 1), of shape (..., 1); integer = round(x / step), halves to even. A row
    of zeros has step 0 and stays zero.
    """
    x = at_least_single(xp, x)  # in 16 bits the quotient could exceed the largest integer
    steps = xp.max(xp.abs(x), axis=-1, keepdims=True) / largest(bits)
    whole = xp.round(x / xp.where(steps == 0, xp.ones_like(steps), steps))
    return xp.clip(whole, -largest(bits), largest(bits)), steps


def packed(xp: Any, whole: Array, bits: int) -> Array:
    """Pack integers (..., d) into bytes: one each, or two of 4 bits per byte, the even index in the lower
    half.

    Each is stored plus 2^(bits - 1), so that bytes have no sign; an odd d is padded with a zero.
    """
    codes = xp.astype(whole + 2 ** (bits - 1), xp.uint8)
    if bits == 8:
        return codes
    if codes.shape[-1] % 2:
        codes = xp.concat([codes, xp.zeros_like(codes[..., :1])], axis=-1)
    return codes[..., 0::2] + codes[..., 1::2] * 16


def unpacked(xp: Any, codes: Array, bits: int, features: int) -> Array:
    """Invert `packed`: the integers (..., features), as int16."""
    if bits == 4:
        halves = xp.stack([codes % 16, codes // 16], axis=-1)
        codes = xp.reshape(halves, (*codes.shape[:-1], 2 * codes.shape[-1]))[..., :features]
    return xp.astype(codes, xp.int16) - 2 ** (bits - 1)


def quantised_bytes(rows: int, features: int, bits: int) -> int:
    """Bytes of `rows` rows: `bits` per number, rounded up to a byte for each row, plus one step each."""
    return rows * (-(-features * bits // 8) + SCALE_BYTES)
