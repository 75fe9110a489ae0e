"""Reduction of a large matrix to the size of a thumbnail that keeps its outliers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import AnyMatrix, taken, windows

SIDE = 256
"""Largest number of rows and of columns of a thumbnail's overview."""

Numbers = NDArray[Any]
Bools = NDArray[np.bool_]


def overview(values: AnyMatrix, blocked: Bools | None, side: int = SIDE) -> tuple[Numbers, Bools | None]:
    """Reduce `values` (rows, columns) and their blocked cells to at most `side` × `side`.

    Each block of cells becomes its value furthest from zero, so one bright cell stays bright; NaN in a
    block is kept. A block is blocked if all of its cells are; otherwise blocked cells do not count.
    """
    rows, columns = values.shape
    down, across = math.ceil(rows / side), math.ceil(columns / side)
    if down <= 1 and across <= 1:
        return taken(values), blocked
    hidden = None if blocked is None else reduced(np.logical_and, blocked, (down, across))
    found = []
    for part, window in windows(values, step=down):
        seen = window if blocked is None else np.where(blocked[part], window.dtype.type(0), window)
        found.append(_outstanding(seen, (down, across)))
    return found[0] if len(found) == 1 else np.concatenate(found), hidden


def _outstanding(values: Numbers, block: tuple[int, int]) -> Numbers:
    highest = reduced(np.maximum, values, block)
    if values.min() >= 0:  # true of weights; false with a NaN
        return highest
    lowest = reduced(np.minimum, values, block)
    return np.where(-lowest > highest, lowest, highest)


def reduced(combine: np.ufunc, array: Numbers, block: tuple[int, int]) -> Numbers:
    """Combine each block of (rows, columns) cells into one; blocks at the far edges may be smaller.

    Shape (r, c) becomes (ceil(r / block[0]), ceil(c / block[1])). Rows first: combining whole rows is several
    times as fast as combining cells within them.
    """
    return _along(1, combine, _along(0, combine, array, block[0]), block[1])


def _along(axis: int, combine: np.ufunc, array: Numbers, step: int) -> Numbers:
    """Combine each `step` cells along an axis into one.

    Strided slices one after the other: a reduction over short axes takes many times as long.
    """
    if step <= 1:
        return array
    merged = np.array(_part(array, axis, slice(0, None, step)))
    for offset in range(1, min(step, array.shape[axis])):
        part = _part(array, axis, slice(offset, None, step))
        into = _part(merged, axis, slice(0, part.shape[axis]))  # the last block may have no such cell
        combine(into, part, out=into)
    return merged


def _part(array: Numbers, axis: int, part: slice) -> Numbers:
    return array[part] if axis == 0 else array[:, part]
