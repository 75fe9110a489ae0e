"""Steps from heads to tokens: `Gate`, a factor of each head's features, and `Join`, heads side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attnviz.core.dims import Array, in_heads, join_heads
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    At,
    Cells,
    Floats,
    Forward,
    Numbers,
    Operation,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Text, guarded, words


@dataclass(frozen=True)
class Gate(Operation):
    """y σ(g); `shared`: a head has one gate for all its features."""

    shared: bool

    letters = "σ(g), y σ′(g)"
    pattern = "gated"

    def _place(self, place: int, cell: At) -> int:
        """The column of an input that makes a cell, or that a cell reads."""
        return 0 if place and self.shared else cell.column

    def made_of(self, place: int, cell: At) -> Cells:
        return (cell.row,), (self._place(place, cell),)

    def read_by(self, place: int, cell: At) -> Cells:
        return (cell.row,), None if place and self.shared else (cell.column,)

    def result(self, forward: Forward) -> Array:
        return forward.input() * forward.arrays.special.sigmoid(forward.input(1))

    def pull(self, g: Array, pulled: Pulled) -> None:
        """By y g σ; by the gate g y σ (1 − σ), summed over all features that one gate multiplies."""
        xp, share = pulled.arrays.xp, pulled.arrays.special.sigmoid(pulled.input(1))
        pulled.add(g * share)
        by_gate = g * pulled.input() * share * (1 - share)
        pulled.add(xp.sum(by_gate, axis=-1, keepdims=True) if self.shared else by_gate, 1)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return math.prod(shape) + math.prod(inputs[1])

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """σ(g) by the mixture; y σ(g) (1 − σ(g)) by the gate, of each feature that it multiplies."""
        cell = use.cell
        gate = reads.row(1, cell.head, cell.row)[self._place(1, cell)]
        share = float(NUMPY_SPECIAL.sigmoid(np.asarray(gate)))
        if use.place == 0:
            return np.full(use.shape, share)
        mixed = reads.row(0, cell.head, cell.row)[list(use.columns)]
        return (mixed * share * (1 - share)).reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        cell, column = numbers.cell, self._place(1, numbers.cell)
        value = numbers.row_of(1, cell.head, cell.row)[column]
        mixed, gate = numbers.term(), numbers.number_of(1, cell.head, cell.row, column, value)
        result = mixed.value * float(NUMPY_SPECIAL.sigmoid(np.asarray(gate.value)))
        pieces = (mixed, Text(" ÷ (1 + exp(−"), *guarded(gate), Text("))"))
        return (numbers.line((words("y · σ(g)"), pieces), result),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        y, gate = writer.reads
        return (f"{writer.stage} = {y} * {writer.sigmoid()}({gate})",)


@dataclass(frozen=True)
class Join(Operation):
    """The heads of a token side by side; each has `width` features."""

    width: int

    help = N_("The rows of all heads stand side by side.")
    cites = "attention"
    pattern = "join_heads"
    goes_on = True

    def made_of_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return (cell.column // self.width,)

    def made_of(self, place: int, cell: At) -> Cells:
        return (cell.row,), (cell.column % self.width,)

    def read_by(self, place: int, cell: At) -> Cells:
        return (cell.row,), (cell.head * self.width + cell.column,)

    def result(self, forward: Forward) -> Array:
        return join_heads(forward.arrays.xp, forward.input())

    def pull(self, g: Array, pulled: Pulled) -> None:
        pulled.add(in_heads(pulled.arrays.xp, g, tuple(pulled.input().shape)))

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        return np.ones(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The same number of one head."""
        head, column = divmod(numbers.cell.column, self.width)
        origin = numbers.named(0, head, numbers.cell.row, column)
        note = words(_("from head {head}").format(head=head + 1))
        return (numbers.line(((origin,),), origin.value, note),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,) = writer.reads
        return (f"{writer.stage} = {writer.side_by_side(read)}",)
