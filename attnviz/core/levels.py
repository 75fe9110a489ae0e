"""Colour ranges: from the numbers of a matrix to positions 0..1 on a colour map.

The ends of a range are taken over *all* finite cells, so that one bright cell among a million counts. Masked
cells, NaN and infinities are left out: they have marks of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, among
from attnviz.i18n import N_

WEIGHT_DECADES = 6
"""Largest number of powers of ten that a logarithmic range of weights spans below its largest value."""

SIGNED_DECADES = 4
"""Powers of ten that a logarithmic range of signed data spans towards zero, on both sides."""


@dataclass(frozen=True)
class Range:
    """One way of choosing the ends of the colour map; `label` is a message to translate where it is shown."""

    id: str
    label: str


RANGES = (
    Range("row", N_("Each row")),
    Range("head", N_("This head")),
    Range("global", N_("All heads")),
    Range("log", N_("Logarithmic")),
    Range("symmetric", N_("Symmetric about 0")),
)

RANGE_BY_ID = {row.id: row for row in RANGES}

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]


def levels(
    values: FloatArray, range_id: str, signed: bool, blocked: BoolArray | None = None
) -> tuple[float, float]:
    """The (low, high) ends of range `range_id` over all finite, unblocked cells of `values` (any shape).

    - Signed data are always centred on zero: (−m, m) with m the largest |value|. So is "symmetric", for
      all data.
    - Otherwise "row", "head" and "global" give (smallest, largest), extended to contain zero: weights start
      there, so the colour of equal weights shows their size. For "row" these are the widest ends; `normalise`
      uses each row's own. "head" and "global" differ in their argument: one head, or all.
    - "log": (floor, largest), where floor is the smallest positive value, at most `WEIGHT_DECADES` below the
      largest.

    Without a cell to measure, or if all are zero, the result is (0, 1), or (−1, 1) about zero. `low` is
    always below `high`. Raises ValueError for an unknown range.
    """
    _check(range_id)
    low, high = _extremes(values, blocked)
    if signed or range_id == "symmetric":
        largest = max(abs(low), abs(high))
        return (-largest, largest) if largest > 0 else (-1.0, 1.0)
    if range_id == "log":
        return _log_levels(values, high, blocked)
    low, high = min(0.0, low), max(0.0, high)
    return (low, high) if high > low else (low, low + 1.0)


def normalise(
    values: FloatArray,
    range_id: str,
    levels: tuple[float, float],
    signed: bool = False,
    blocked: BoolArray | None = None,
) -> NDArray[np.float32]:
    """Map `values` (rows, columns) to positions 0..1 between `levels`, float32.

    NaN stays NaN, infinities map to the ends.

    "row" measures each row by its own finite, unblocked cells instead of `levels`; "log" is linear in
    log10(value) from the floor up (signed data: in log10|value| on both sides of 0.5). All other ranges are
    linear.
    """
    _check(range_id)
    with np.errstate(all="ignore"):
        if range_id == "log":
            result = _log_positions(values, levels, signed)
        else:
            low, high = _row_levels(values, signed, blocked) if range_id == "row" else levels
            result = _linear_positions(values, low, high)
    return np.clip(result, 0.0, 1.0, out=result)


def row_levels(
    values: FloatArray, signed: bool, blocked: BoolArray | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of range "row" for every row of `values` (rows, columns): two arrays of shape (rows,)."""
    low, high = _row_levels(values, signed, blocked)
    return low[:, 0], high[:, 0]


def _check(range_id: str) -> None:
    if range_id not in RANGE_BY_ID:
        raise FieldError("range", range_id, among(row.id for row in RANGES))


def _kept(values: FloatArray, blocked: BoolArray | None) -> BoolArray:
    """Return True for the cells that count."""
    finite = np.isfinite(values)
    return finite if blocked is None else finite & ~blocked


def _extremes(values: FloatArray, blocked: BoolArray | None) -> tuple[float, float]:
    """Smallest and largest finite, unblocked value; (0, 0) without one."""
    if values.size == 0:
        return 0.0, 0.0
    low, high = float(values.min()), float(values.max())  # NaN and infinities show up in one of the two
    all_finite = bool(np.isfinite(low) and np.isfinite(high))
    if all_finite and blocked is None:
        return low, high
    kept = ~blocked if all_finite and blocked is not None else _kept(values, blocked)
    low = float(np.min(values, where=kept, initial=np.inf))
    high = float(np.max(values, where=kept, initial=-np.inf))
    return (low, high) if low <= high else (0.0, 0.0)


def _linear_positions(
    values: FloatArray, low: float | NDArray[np.float64], high: float | NDArray[np.float64]
) -> NDArray[np.float32]:
    low64, high64 = np.asarray(low, np.float64), np.asarray(high, np.float64)
    # Halved where high − low would overflow, and kept in float64 where float32 would overflow.
    shrink = 0.5 if np.any(high64 > 1e307) else 1.0
    spread = high64 * shrink - low64 * shrink
    narrow = values.dtype != np.float64 and bool(np.all(spread > 1e-30) and np.all(spread < 1e30))
    dtype: type[np.floating] = np.float32 if narrow else np.float64
    result: FloatArray = values.astype(dtype)
    if shrink != 1.0:
        result *= shrink
    if np.any(low64):
        result -= (low64 * shrink).astype(dtype)
    result /= spread.astype(dtype)
    return result.astype(np.float32, copy=False)


def _row_levels(
    values: FloatArray, signed: bool, blocked: BoolArray | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    kept = _kept(values, blocked)
    low = np.min(values, axis=1, keepdims=True, initial=np.inf, where=kept).astype(np.float64)
    high = np.max(values, axis=1, keepdims=True, initial=-np.inf, where=kept).astype(np.float64)
    if signed:
        largest = np.maximum(np.maximum(high, -low), 0.0)
        largest[largest == 0] = 1.0
        return -largest, largest
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    return low, np.where(high > low, high, low + 1.0)


def _log_levels(values: FloatArray, high: float, blocked: BoolArray | None) -> tuple[float, float]:
    if high <= 0:
        return 10.0**-WEIGHT_DECADES, 1.0
    positive = _kept(values, blocked) & (values > 0)
    smallest = float(np.min(np.where(positive, values, np.inf)))
    floor = max(smallest, high * 10.0**-WEIGHT_DECADES)
    if floor < high:
        return floor, high
    return (high / 10, high) if high / 10 > 0 else (high, high * 10)


def _log_positions(values: FloatArray, levels: tuple[float, float], signed: bool) -> NDArray[np.float32]:
    low, high = levels
    if not (signed or low < 0):
        logs = np.log10(values).astype(np.float32)
        logs[values <= 0] = -np.inf
        return (logs - np.float32(np.log10(low))) / np.float32(np.log10(high) - np.log10(low))
    decades = np.log10(np.abs(values) / high).astype(np.float32) + SIGNED_DECADES
    size = np.clip(decades / SIGNED_DECADES, 0, 1)
    return (0.5 + 0.5 * np.sign(values).astype(np.float32) * size).astype(np.float32)
