"""Colour ranges: from the numbers of a matrix to positions 0..1 on a colour map.

The ends of a range are taken over *all* finite cells, so that one bright cell among a million counts. Masked
cells, NaN and infinities are left out: they have marks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import AnyMatrix, part_of, rank, taken, windows
from attnviz.errors import FieldError, among
from attnviz.i18n import N_

WEIGHT_DECADES = 6
"""Largest number of powers of ten that a logarithmic range of weights spans below its largest value."""

SIGNED_DECADES = 4
"""Powers of ten that a logarithmic range of signed data spans towards zero, on both sides."""


PERCENTILES = (2.0, 98.0)
"""The percentiles that the range of that name ends with."""

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]
Ends = tuple[float, float]


@dataclass(frozen=True)
class Range:
    """One way of choosing the ends of the colour map; `label` is a message to translate where it is shown.

    `ends` measures (values, signed, blocked). `clips` says that cells may lie beyond the ends: they have the
    colours of the ends. `skips_first` leaves the first token out.
    """

    id: str
    label: str
    ends: Callable[[AnyMatrix, bool, BoolArray | None], Ends]
    clips: bool = False
    skips_first: bool = False


def levels(
    values: AnyMatrix,
    range_id: str,
    signed: bool,
    blocked: BoolArray | None = None,
    token_axis: Literal[0, 1] = 1,
) -> Ends:
    """The (low, high) ends of range `range_id` over all finite, unblocked cells of `values` (rows, columns).

    - Signed data are always centred on zero: (−m, m) with m the largest |value|. So is "symmetric", for
      all data.
    - Otherwise "row", "head" and "global" give (smallest, largest), extended to contain zero: weights start
      there, so the colour of equal weights shows their size. For "row" these are the widest ends; `normalise`
      uses each row's own. "head" and "global" differ in their argument: one head, or all.
    - "log": (floor, largest), where floor is the smallest positive value, at most `WEIGHT_DECADES` below the
      largest.
    - "percentile": the 2nd and the 98th percentile; for signed data m is the 98th percentile of |value|.
    - "without_first": those of "head" over all tokens but the first, which is left out along `token_axis`.

    Without a cell to measure, or if all are zero, the result is (0, 1), or (−1, 1) about zero. `low` is
    always below `high`. Raises ValueError for an unknown range.
    """
    row = _row(range_id)
    if row.skips_first:
        part = (slice(1, None), slice(None))[:: 1 if token_axis == 0 else -1]
        values = part_of(values, *part)
        blocked = None if blocked is None else blocked[part]
    return row.ends(values, signed, blocked)


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
    _row(range_id)
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


def _row(range_id: str) -> Range:
    if range_id not in RANGE_BY_ID:
        raise FieldError("range", range_id, among(RANGE_BY_ID))
    return RANGE_BY_ID[range_id]


def _whole(values: AnyMatrix, signed: bool, blocked: BoolArray | None) -> Ends:
    """Ends over all cells that count."""
    low, high = _extremes(values, blocked)
    if signed:
        largest = max(abs(low), abs(high))
        return (-largest, largest) if largest > 0 else (-1.0, 1.0)
    low, high = min(0.0, low), max(0.0, high)
    return (low, high) if high > low else (low, low + 1.0)


def _about_zero(values: AnyMatrix, signed: bool, blocked: BoolArray | None) -> Ends:
    return _whole(values, True, blocked)


def _logarithmic(values: AnyMatrix, signed: bool, blocked: BoolArray | None) -> Ends:
    if signed:
        return _whole(values, True, blocked)
    _low, high = _extremes(values, blocked)
    return _log_levels(values, high, blocked)


def _percentiles(values: AnyMatrix, signed: bool, blocked: BoolArray | None) -> Ends:
    """Ends that leave the outermost cells out; those of all cells if nearly all are equal."""
    ends = _nearest(values, blocked, np.abs if signed else np.asarray)
    if ends is None:
        return _whole(values, signed, blocked)
    low, high = ends
    if signed:
        return (-high, high) if high > 0 else _whole(values, True, blocked)
    return (low, high) if high > low else _whole(values, False, blocked)


def _nearest(
    values: AnyMatrix, blocked: BoolArray | None, of: Callable[[FloatArray], FloatArray]
) -> Ends | None:
    """The percentiles of `of` the cells that count, each the nearest number; None without any."""
    if isinstance(values, np.ndarray):
        cells = of(values[_kept(values, blocked)].astype(np.float64, copy=False))
        return tuple(np.percentile(cells, PERCENTILES, method="nearest").tolist()) if cells.size else None

    def counted() -> Iterator[FloatArray]:
        return (of(window[_kept(window, hidden)]) for window, hidden in _parts(values, blocked))

    count = sum(cells.size for cells in counted())
    low, high = (round((count - 1) * (percent / 100)) for percent in PERCENTILES)
    return (rank(counted, low), rank(counted, high)) if count else None


def _parts(values: AnyMatrix, blocked: BoolArray | None) -> Iterator[tuple[FloatArray, BoolArray | None]]:
    """The windows of a matrix with their blocked cells."""
    return ((window, None if blocked is None else blocked[rows]) for rows, window in windows(values))


def _kept(values: FloatArray, blocked: BoolArray | None) -> BoolArray:
    """Return True for the cells that count."""
    finite = np.isfinite(values)
    return finite if blocked is None else finite & ~blocked


def _extremes(values: AnyMatrix, blocked: BoolArray | None) -> tuple[float, float]:
    """Smallest and largest finite, unblocked value; (0, 0) without one."""
    ends = [_extremes_of(*part) for part in _parts(values, blocked)]
    low = min((low for low, _high in ends), default=np.inf)
    high = max((high for _low, high in ends), default=-np.inf)
    return (low, high) if low <= high else (0.0, 0.0)


def _extremes_of(values: FloatArray, blocked: BoolArray | None) -> tuple[float, float]:
    """Those of one window; (∞, −∞) without such a value."""
    if values.size == 0:
        return np.inf, -np.inf
    low, high = float(values.min()), float(values.max())  # NaN and infinities show up in one of the two
    all_finite = bool(np.isfinite(low) and np.isfinite(high))
    if all_finite and blocked is None:
        return low, high
    kept = ~blocked if all_finite and blocked is not None else _kept(values, blocked)
    low = float(np.min(values, where=kept, initial=np.inf))
    return low, float(np.max(values, where=kept, initial=-np.inf))


def _linear_positions(
    values: FloatArray, low: float | NDArray[np.float64], high: float | NDArray[np.float64]
) -> NDArray[np.float32]:
    if isinstance(low, float) and isinstance(high, float) and values.dtype != np.float16:
        extent = high - low
        if high <= 1e307 and 1e-30 < extent < 1e30:  # the common case, called for every picture
            above = values - values.dtype.type(low) if low else values
            return np.divide(above, np.float32(extent), dtype=np.float32, casting="same_kind")
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


def _log_levels(values: AnyMatrix, high: float, blocked: BoolArray | None) -> tuple[float, float]:
    if high <= 0:
        return 10.0**-WEIGHT_DECADES, 1.0
    smallest = min(
        float(np.min(np.where(_kept(window, hidden) & (window > 0), window, np.inf)))
        for window, hidden in _parts(values, blocked)
    )
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


RANGES = (
    Range("row", N_("Each row"), _whole),
    Range("head", N_("This head"), _whole),
    Range("global", N_("All heads"), _whole),
    Range("log", N_("Logarithmic"), _logarithmic),
    Range("symmetric", N_("Symmetric about 0"), _about_zero),
    Range("percentile", N_("Percentiles 2 to 98"), _percentiles, clips=True),
    Range("without_first", N_("Without first token"), _whole, clips=True, skips_first=True),
)

RANGE_BY_ID = {row.id: row for row in RANGES}


LONG = 32
"""Columns from which a map is too long for numbers, so that its colours alone must tell."""
_SAMPLE = 256
_FAINT, _BRIGHT, _FEW = 0.3, 0.05, 0.03
SINK = 0.3
"""Mean share of a row above which the first token is a sink."""
_TIMES_EVEN = 2.0
"""Times an even share that a sink takes at least: of three keys, each has more than `SINK`."""


def is_sink(weights: AnyMatrix, blocked: NDArray[np.bool_] | None) -> bool:
    """True if the first token takes more than `SINK` of each row of `weights` (rows, columns) on average, and
    more than twice what it had if each row were shared evenly among its visible keys.

    The first row is left out: under a causal mask it has one key. Of many rows, `_SAMPLE` are read.
    """
    rows, columns = weights.shape
    if rows < 2 or columns < 2:
        return False
    part = slice(1, None, max(1, rows // _SAMPLE))
    first = taken(part_of(weights, slice(None), slice(0, 1)), part).astype(np.float64)
    hidden = None if blocked is None else blocked[part]
    seen = np.isfinite(first) if hidden is None else np.isfinite(first) & ~hidden[:, :1]
    share = float(first.sum(where=seen)) / len(first)
    if share <= SINK:
        return False
    n_seen = columns if hidden is None else columns - np.count_nonzero(hidden, axis=1)
    return share > _TIMES_EVEN * float((1.0 / np.maximum(1, n_seen)).mean())


def better_range(weights: AnyMatrix, blocked: NDArray[np.bool_] | None) -> str:
    """Id of the range that tells more of `weights` (rows, columns) than their largest value does, or "".

    - "without_first" if the first token is a sink (see `is_sink`);
    - "row" if the largest weight of a typical row is less than a third of the largest of all;
    - "log" if fewer than 3 % of the visible cells exceed a twentieth of the largest.

    Of a long matrix `_SAMPLE` rows at most are read.
    """
    rows, columns = weights.shape
    if columns < LONG or rows < 2:
        return ""
    part = slice(1, None, max(1, rows // _SAMPLE))  # the first row has one visible key under a causal mask
    cells, hidden = taken(weights, part), None if blocked is None else blocked[part]
    seen = np.isfinite(cells) if hidden is None else np.isfinite(cells) & ~hidden
    shown = np.where(seen, cells, 0)
    largest = float(shown.max(initial=0.0))
    if largest <= 0:
        return ""
    if is_sink(weights, blocked):
        return "without_first"
    whole = max(largest, float(np.nanmax(weights[0], initial=0.0)))
    if float(np.median(shown.max(axis=1))) < _FAINT * whole:
        return "row"
    return "log" if np.count_nonzero(shown > _BRIGHT * whole) < _FEW * np.count_nonzero(seen) else ""
