"""Products with weight matrices, a block of rows at a time, so that several threads can share one."""

from __future__ import annotations

import math

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine, spread
from attnviz.engines.operands import Linear


def linear(engine: Engine, x_tf: Array, by: Linear) -> Array:
    """x W + b, (token, in) -> (token, out); an identity without a bias returns its input."""
    matrix = by.matrix
    y = x_tf if matrix is None else product(engine, x_tf, matrix)
    return y if by.bias is None else y + by.bias


def product(engine: Engine, x_tf: Array, matrix: Array) -> Array:
    """x W, (token, in) -> (token, out)."""
    at_once = engine.block_rows
    if at_once is None or x_tf.shape[0] <= at_once:
        return x_tf @ matrix
    return products(engine, (x_tf, matrix))[0]


def products(engine: Engine, *pairs: tuple[Array, Array]) -> list[Array]:
    """a b of each pair (m, k) and (k, n), which threads share.

    The blocks follow from the engine and the number of rows, whoever does them: the sums are the same.
    """
    made = [engine.empty((a.shape[0], b.shape[1])) for a, b in pairs]
    pieces = [(index, part) for index, (a, _b) in enumerate(pairs) for part in _rows(engine, a.shape[0])]

    def one(piece: tuple[int, slice]) -> None:
        index, part = piece
        a, b = pairs[index]
        engine.matmul_into(made[index][part], a[part], b)

    spread(engine, one, pieces, sum(2 * math.prod(a.shape) * b.shape[1] for a, b in pairs))
    return made


def _rows(engine: Engine, n_rows: int) -> list[slice]:
    """All rows, in blocks of the engine's size."""
    at_once = engine.block_rows or max(n_rows, 1)
    return [slice(start, min(start + at_once, n_rows)) for start in range(0, n_rows, at_once)]
