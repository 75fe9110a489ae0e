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
    hidden = None if blocked is None else np.asarray(_blocks(blocked, down, across, True).all(axis=(1, 3)))
    seen = values if blocked is None else np.where(blocked, values.dtype.type(0), values)
    cells = _blocks(seen, down, across, values.dtype.type(0))
    highest, lowest = cells.max(axis=(1, 3)), cells.min(axis=(1, 3))
    return np.where(-lowest > highest, lowest, highest), hidden


def _blocks(array: Numbers, down: int, across: int, padding: Any) -> Numbers:
    """(rows, columns) as (row blocks, down, column blocks, across), filled up with `padding`."""
    rows, columns = array.shape
    short = (-rows % down, -columns % across)
    padded = np.pad(array, ((0, short[0]), (0, short[1])), constant_values=padding) if any(short) else array
    return padded.reshape(padded.shape[0] // down, down, padded.shape[1] // across, across)
