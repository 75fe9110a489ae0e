"""Products with weight matrices, a block of rows at a time, so that several threads can share one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine, spread
from attnviz.engines.in_file import InFile

BAND_BYTES = 2**23
"""Bytes of a matrix that a thread reads for few rows: half a millisecond, ten times the handover."""


def by_file(engine: Engine, x_tf: Array, matrix: InFile) -> Array:
    """x W of a matrix that lies in a file: as it is stored, as a whole, or some columns after the other."""
    made = matrix.times(x_tf)
    if made is not None:
        return made
    columns = matrix.columns(x_tf.shape[0])
    if columns is None:
        return product(engine, x_tf, matrix())
    return _by_columns(engine, x_tf, matrix.width, columns)


def _by_columns(engine: Engine, x_tf: Array, n_columns: int, columns: Iterator[tuple[slice, Array]]) -> Array:
    """x W, some columns of W after the other."""
    made = engine.empty((x_tf.shape[0], n_columns))
    for part, matrix in columns:
        made[:, part] = engine.matmul(x_tf, matrix)
    return made


def product(engine: Engine, x_tf: Array, matrix: Array) -> Array:
    """x W, (token, in) -> (token, out).

    The blocks follow from the engine and the shapes, whoever does them: the sums are the same.
    """
    n_rows, at_once = x_tf.shape[0], engine.block_rows
    if at_once is None or (n_rows <= at_once and matrix.nbytes < 2 * BAND_BYTES):
        return engine.matmul(x_tf, matrix)
    n_columns = matrix.shape[1]
    made = engine.empty((n_rows, n_columns))
    if n_rows <= at_once:
        # The time is that of reading the matrix, however few the operations.
        width = max(1, n_columns * BAND_BYTES // matrix.nbytes)

        def columns(start: int) -> None:
            part = slice(start, min(start + width, n_columns))
            engine.matmul_into(made[:, part], x_tf, matrix[:, part])

        engine.for_each(columns, range(0, n_columns, width))
        return made

    def rows(start: int) -> None:
        part = slice(start, min(start + at_once, n_rows))
        engine.matmul_into(made[part], x_tf[part], matrix)

    spread(engine, rows, range(0, n_rows, at_once), 2 * n_rows * math.prod(matrix.shape))
    return made
