"""Two matrices on common axes: their difference, and the cells that change most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Positions = Sequence[int | None]


def placed(values: NDArray[Any], rows: Positions, columns: Positions) -> tuple[Floats, Bools]:
    """`values` on longer axes: (len(rows), len(columns)), and True where a cell does not exist.

    `rows[i]` is the row of `values` at row i of the result, or None. An absent cell is NaN, never 0.
    """
    if tuple(rows) == tuple(range(values.shape[0])) and tuple(columns) == tuple(range(values.shape[1])):
        return values.astype(np.float64), np.zeros(values.shape, np.bool_)
    has_row, has_column = (np.array([at is not None for at in axis], np.bool_) for axis in (rows, columns))
    result = np.full((len(rows), len(columns)), np.nan)
    own = np.ix_([at for at in rows if at is not None], [at for at in columns if at is not None])
    result[np.ix_(has_row, has_column)] = values[own]
    return result, ~(has_row[:, None] & has_column)


def difference(first: Floats, second: Floats) -> Floats:
    """second − first, (row, column), cell by cell; ∞ − ∞ is NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray(second - first)


def greatest(change: Floats, counted: Bools, most: int) -> list[tuple[int, int]]:
    """The at most `most` cells (row, column) of the greatest |change|, in falling order, equal ones by row.

    Only `counted` cells take part. NaN and 0 are no change; an infinity is the greatest.
    """
    size = np.where(counted & ~np.isnan(change), np.abs(change), 0.0)
    flat = size.ravel()
    if most < flat.size:  # cells equal to the last one are kept, so that their order decides
        least = np.partition(flat, flat.size - most)[flat.size - most]
        chosen = np.flatnonzero(flat >= least) if least > 0 else np.flatnonzero(flat)
    else:
        chosen = np.flatnonzero(flat)
    order = chosen[np.argsort(-flat[chosen], kind="stable")][:most]
    return [(int(at // size.shape[1]), int(at % size.shape[1])) for at in order[flat[order] > 0]]
