"""The products of attention: `DotProduct`, of queries with keys, and `Mixture`, of weights with values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    At,
    Cells,
    Floats,
    Numbers,
    Operation,
    Pulled,
    Reads,
    Use,
    Writer,
    in_groups,
)
from attnviz.operations.terms import Line, Pieces, Series, Text, constant, guarded, product, words

HEADS_SHARE = N_("{n} query heads share each key/value head")
OFF = N_("heads switched off")


@dataclass(frozen=True)
class DotProduct(Operation):
    """s = q kᵀ; `group_size` query heads read each head of k."""

    group_size: int

    help = N_("Each number is the dot product of a query with a key.")
    pattern = "qd,kd->qk"
    kept = (1,)
    cites = "attention"

    @property
    def growth(self) -> float:
        return 1.0

    def made_of(self, place: int, cell: At) -> Cells:
        return ((cell.row,) if place == 0 else (cell.column,)), None

    def read_by(self, place: int, cell: At) -> Cells:
        return ((cell.row,), None) if place == 0 else (None, (cell.row,))

    def made_of_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return (cell.head // self.group_size if place == 1 else cell.head,)

    def read_by_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return in_groups(cell.head, self.group_size) if place == 1 else (cell.head,)

    def pull(self, g: Any, pulled: Pulled) -> None:
        """By q, g k; by k, gᵀ q, summed over the heads of a group."""
        pulled.add(pulled.over_keys(g, pulled.input(1)), 0)
        pulled.add(pulled.over_queries(g, pulled.input(0)), 1)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return 2 * math.prod(shape) * inputs[0][-1]

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """Feature `cell.column` of every key by a number of q, of every query by one of k."""
        heads = [head // self.group_size if use.place == 0 else head for head in use.heads]
        found = np.stack([reads.column(1 - use.place, head, use.cell.column) for head in heads])
        along = use.columns if use.place == 0 else use.rows
        return found[:, list(along)].reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """q · k term by term, then the same as lengths and angle."""
        cell, kv_head = numbers.cell, numbers.cell.head // self.group_size
        q, k = numbers.row_of(0, cell.head, cell.row), numbers.row_of(1, kv_head, cell.column)

        def item(index: int) -> Pieces:
            return product(
                numbers.number_of(0, cell.head, cell.row, index, q[index]),
                numbers.number_of(1, kv_head, cell.column, index, k[index]),
            )

        letters = Text(numbers.symbol(0), "query"), Text(" · "), Text(numbers.symbol(1), "key")
        first = numbers.line((letters, (Series(len(q), item),)), float(np.sum(q * k)))
        return (first, *_length_line(q, k, (letters[0], letters[2]), first.value))

    def code(self, writer: Writer) -> Sequence[str]:
        q, k = writer.reads
        behind = "" if self.group_size == 1 else writer.note(HEADS_SHARE, n=self.group_size)
        return (f"{writer.stage} = {q} @ {writer.in_groups(k)}.mT{behind}",)


def _length_line(q: Floats, k: Floats, symbols: tuple[Text, Text], value: float) -> tuple[Line, ...]:
    """|q||k| cos θ; nothing where a vector has no direction."""
    q_length, k_length = float(np.linalg.norm(q)), float(np.linalg.norm(k))
    if not 0 < q_length * k_length < math.inf:
        return ()
    cosine = float(np.sum(q * k)) / (q_length * k_length)
    one, other = symbols
    lengths = (Text("|"), one, Text("||"), other, Text("| cos θ"))
    numbers = (
        constant(q_length, f"|{one.text}|", "query"),
        Text(" × "),
        constant(k_length, f"|{other.text}|", "key"),
        Text(" × "),
        *guarded(constant(cosine, "cos θ")),
    )
    degrees = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
    note = words(f"θ = {degrees:.1f}°")
    return (Line((), (lengths, numbers), value, q_length * k_length * cosine, (note,)),)


@dataclass(frozen=True)
class Mixture(Operation):
    """y = w v, zero for the heads that are `off`; `group_size` heads read each head of v."""

    group_size: int
    off: tuple[int, ...] = ()

    help = N_("Each row is a sum of values, each times its weight.")
    pattern = "qk,kd->qd"
    kept = (1,)
    cites = "attention"

    def made_of(self, place: int, cell: At) -> Cells | None:
        if cell.head in self.off:
            return None
        return ((cell.row,), None) if place == 0 else (None, (cell.column,))

    def made_of_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return (cell.head // self.group_size if place == 1 else cell.head,)

    def read_by_heads(self, place: int, cell: At) -> tuple[int, ...]:
        heads = in_groups(cell.head, self.group_size) if place == 1 else (cell.head,)
        return tuple(head for head in heads if head not in self.off)

    def read_by(self, place: int, cell: At) -> Cells:
        return ((cell.row,), None) if place == 0 else (None, (cell.column,))

    def mix(self, arrays: Arrays, weights: Array, v: Array) -> Array:
        """Weights (..., g, r, q, k) times v (..., g, k, d): (..., g, r, q, d)."""
        mixed = arrays.xp.matmul(weights, v[..., None, :, :])
        self.clear_(mixed)
        return mixed

    def clear_(self, array: Array) -> None:
        """Set the numbers (..., g, r, row, column) of the heads that are off to zero, in place."""
        for head in self.off:
            array[..., head // self.group_size, head % self.group_size, :, :] = 0

    def pull(self, g: Array, pulled: Pulled) -> None:
        """By the weights g vᵀ, by the values wᵀ g, summed over the heads of a group; nothing by heads off."""
        if self.off:
            g = pulled.arrays.xp.asarray(g, copy=True)
            self.clear_(g)
        pulled.add_outer(g, pulled.input(1))
        pulled.add(pulled.over_queries(pulled.input(0), g, self.off), 1)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return 2 * math.prod(shape) * inputs[0][-1]

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """v of the key, by a weight; the weight of each query, by a value."""
        if use.place == 0:
            row = reads.row(1, use.heads[0] // self.group_size, use.cell.column)
            return row[list(use.columns)].reshape(use.shape)
        found = np.stack([reads.column(0, head, use.cell.row) for head in use.heads])
        return found[:, list(use.rows)].reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """Σ w · v over the keys; nothing where the head is off."""
        cell, kv_head = numbers.cell, numbers.cell.head // self.group_size
        if cell.head in self.off:
            says = words(_("head {head} is switched off").format(head=cell.head + 1))
            return (numbers.line((), 0.0, says),)
        w, v = numbers.row_of(0, cell.head, cell.row), numbers.column_of(1, kv_head, cell.column)

        def item(index: int) -> Pieces:
            return product(
                numbers.number_of(0, cell.head, cell.row, index, w[index]),
                numbers.number_of(1, kv_head, index, cell.column, v[index]),
            )

        letters = (Text("Σ w · "), Text(numbers.symbol(1), "value"))
        return (numbers.line((letters, (Series(len(w), item),)), float(np.sum(w * v))),)

    def code(self, writer: Writer) -> Sequence[str]:
        w, v = writer.reads
        made = (f"{writer.stage} = {w} @ {writer.in_groups(v)}",)
        if not self.off:
            return made
        return (*made, f"{writer.stage}[{list(self.off)}] = 0.0{writer.note(OFF)}")
