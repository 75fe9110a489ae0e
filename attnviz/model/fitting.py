"""Written-out matrices made to fit other shapes: cut where they are too large, zeros where too small."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.model.arrays import Matrix
from attnviz.model.parts import Heads
from attnviz.model.position_parts import Deberta, Learned, T5Buckets, TransformerXl, WrittenTable

Array = NDArray[np.float64]
Tabular = TypeVar("Tabular", Learned, T5Buckets)
Related = TransformerXl | Deberta


def cut_or_filled(values: Array, shape: tuple[int, int]) -> Array:
    """`values` in another shape: old numbers stay where they are, new ones are zero."""
    fitted = np.zeros(shape)
    rows, columns = min(shape[0], values.shape[0]), min(shape[1], values.shape[1])
    fitted[:rows, :columns] = values[:rows, :columns]
    return fitted


def fitted_tables(position: Related, d_model: int, heads: Heads) -> Related:
    """The position with every written-out table cut, or filled with zeros, to the shape that it needs."""
    changes = {}
    for name, shape in position.table_shapes(d_model, heads.n_heads, heads.d_head).items():
        table = getattr(position, name)
        if isinstance(table, WrittenTable) and table.values.shape != shape:
            changes[name] = WrittenTable(Matrix(cut_or_filled(table.values.array, shape)))
    return replace(position, **changes)


def fitted_table(position: Tabular, columns: int) -> Tabular:
    """The position with a written-out table cut, or filled with zeros, to `columns` columns."""
    table = position.table
    if not isinstance(table, WrittenTable) or table.values.shape[1] == columns:
        return position
    values = cut_or_filled(table.values.array, (table.values.shape[0], columns))
    return replace(position, table=WrittenTable(Matrix(values)))
