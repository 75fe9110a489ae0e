"""A large matrix made small enough for a thumbnail, without losing what stands out in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 256
"""Rows and columns that an overview has at most."""

Numbers = NDArray[Any]
Bools = NDArray[np.bool_]


def overview(values: Numbers, blocked: Bools | None) -> tuple[Numbers, Bools | None]:
    """`values` (rows, columns) and what is blocked of them, reduced to `SIDE` x `SIDE` at most.

    Each block of cells becomes its value furthest from zero, so one bright cell stays bright; NaN in a
    block is kept. A block is blocked where all of its cells are, and blocked cells do not count in others.
    """
    rows, columns = values.shape
    down, across = math.ceil(rows / SIDE), math.ceil(columns / SIDE)
    if down <= 1 and across <= 1:
        return values, blocked
    hidden = None if blocked is None else _reduced(np.logical_and, blocked, down, across)
    seen = values if blocked is None else np.where(blocked, values.dtype.type(0), values)
    highest = _reduced(np.maximum, seen, down, across)
    lowest = _reduced(np.minimum, seen, down, across)
    return np.where(-lowest > highest, lowest, highest), hidden


def _reduced(combine: np.ufunc, array: Numbers, down: int, across: int) -> Numbers:
    """Blocks of (down, across) cells as one each; those at the far edges may be smaller.

    Strided slices one after the other: a reduction over short axes takes many times as long.
    """
    for step, axis in ((down, 0), (across, 1)):
        kept = np.swapaxes(array, 0, axis)
        merged = kept[::step].copy()
        for offset in range(1, step):
            part = kept[offset::step]
            combine(merged[: len(part)], part, out=merged[: len(part)])
        array = np.swapaxes(merged, 0, axis)
    return array
