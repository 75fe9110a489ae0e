"""The numbers of an additive mask, at the positions of some queries and keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.i18n import _
from attnviz.model.spec.parts import AdditiveMask
from attnviz.model.spec.site import Site
from attnviz.operations.operation import At

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AddedNumbers:
    """The numbers with −∞, (head, query, key), or (1, query, key) where all heads share them."""

    table: Floats

    @cached_property
    def cuts(self) -> bool:
        """True if a number is −∞."""
        return bool(np.isneginf(self.table).any())

    @property
    def heads(self) -> Ints:
        """The heads with numbers of their own; 0 alone if all share them."""
        return np.arange(len(self.table))

    def at(self, heads: Ints, q_positions: Ints, k_positions: Ints) -> Floats:
        """The numbers of some heads (...), (..., query, key); 0 past the end of the table."""
        of_heads = heads if len(self.table) > 1 else np.zeros_like(heads)
        n_rows, n_columns = self.table.shape[1:]
        rows, columns = np.minimum(q_positions, n_rows - 1), np.minimum(k_positions, n_columns - 1)
        numbers = self.table[of_heads[..., None, None], rows[..., :, None], columns[..., None, :]]
        is_inside = (q_positions < n_rows)[..., :, None] & (k_positions < n_columns)[..., None, :]
        return np.where(is_inside, numbers, 0.0)

    def of(self, cell: At) -> float:
        """The number that is added to one score; 0 past the end of the table."""
        return float(self.at(np.array(cell.head), np.array([cell.row]), np.array([cell.column]))[0, 0])


def added_numbers(site: Site) -> AddedNumbers | None:
    """The numbers that the additive mask of a site adds; None without one."""
    mask = site.additive_mask
    return None if mask is None else AddedNumbers(mask.array(site.heads.n_heads))


def why_cut(numbers: AddedNumbers, cell: At) -> tuple[str, ...]:
    """Why the numbers hide a cell, one sentence; empty if they do not."""
    if numbers.of(cell) != -math.inf:
        return ()
    place = f"M[{cell.row}, {cell.column}]"
    return (_("the additive mask blocks this key: {place} is −∞").format(place=place),)


def pull_added(mask: AdditiveMask, g: Floats) -> Floats:
    """The gradient by the numbers, (row, key) as they are stored, from that by the scores, (head, q, k)."""
    by_table = g if mask.per_head else g.sum(axis=0, keepdims=True)
    table = np.zeros((len(by_table), mask.values.shape[0] // len(by_table), mask.values.shape[1]))
    rows, columns = (min(sizes) for sizes in zip(table.shape[1:], g.shape[1:], strict=True))
    table[:, :rows, :columns] = by_table[:, :rows, :columns]
    return table.reshape(mask.values.shape)
