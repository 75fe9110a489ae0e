"""A range in which a long map of weights can be read, where one token takes nearly all of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import AnyMatrix, taken

LONG = 32
"""Columns from which a map is too long for numbers, so that its colours alone must tell."""
_SAMPLE = 256
_SINK, _FAINT, _BRIGHT, _FEW = 0.4, 0.3, 0.05, 0.03


def better_range(weights: AnyMatrix, blocked: NDArray[np.bool_] | None) -> str:
    """Id of the range that tells more of `weights` (rows, columns) than their largest value does, or "".

    - "without_first" if the first token takes more than two fifths of the rows on average;
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
    if float(shown[:, 0].mean()) > _SINK:
        return "without_first"
    whole = max(largest, float(np.nanmax(weights[0], initial=0.0)))
    if float(np.median(shown.max(axis=1))) < _FAINT * whole:
        return "row"
    return "log" if np.count_nonzero(shown > _BRIGHT * whole) < _FEW * np.count_nonzero(seen) else ""
