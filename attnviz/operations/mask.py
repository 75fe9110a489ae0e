"""`Mask`: scores that a query must not see become −∞, or have a negative number added."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    At,
    Block,
    Bools,
    Floats,
    Ints,
    Numbers,
    Pointwise,
    Pulled,
    Reads,
    Seen,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Text, constant, digits, guarded, words

WITH_BIAS = N_("s, or s + ({bias}) where blocked")

Hidden = Callable[[Ints, Ints], Bools | None]
"""The cells (query, key) of some queries and keys that are hidden; None without any."""
Reasons = Callable[[At], tuple[str, ...]]
"""Why a cell is hidden, in sentences; none for a visible one."""


def is_hidden(hidden: Hidden, cell: At) -> bool:
    """True for a cell that is hidden."""
    found = hidden(np.array([cell.row]), np.array([cell.column]))
    return found is not None and bool(found.all())


def cleared(arrays: Arrays, g: Any, seen: Seen) -> Any:
    """A gradient (g, r, q, k), with zeros in the hidden cells."""
    if seen.blocked is None:
        return g.part()
    made = arrays.xp.asarray(g.part(), copy=True)
    arrays.fill_(made[..., seen.touched], seen.blocked, 0.0)
    return made


@dataclass(frozen=True, eq=False)
class Mask(Pointwise):
    """s, or −∞ in the cells that are `hidden`; with a `bias`, s plus that number there.

    What a block sees, `Block.seen`, is `hidden` at its positions.
    `cut` says why a visible cell is −∞ already.
    """

    hidden: Hidden
    why: Reasons
    cut: Reasons
    bias: float | None = None

    cites = "attention"

    @property
    def growth(self) -> float:
        return 1.0 if self.bias is None else math.inf

    def formula(self, own: str, *inputs: str) -> str:
        return "" if self.bias is None else _(WITH_BIAS).format(bias=digits(self.bias))

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        seen = block.seen
        if seen.hidden is None:
            return
        if self.bias is not None:
            scores += arrays.asarray(np.where(seen.hidden, self.bias, 0.0))
            return
        assert seen.blocked is not None
        arrays.fill_(scores[..., seen.touched], seen.blocked, -np.inf)

    def pull(self, g: Any, pulled: Pulled) -> None:
        """A cell that is −∞ passes nothing; with a number added to it, it passes all."""
        is_clear = self.bias is not None or pulled.is_from_weights
        pulled.add(g if is_clear else cleared(pulled.arrays, g, pulled.block().seen))

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """0 where −∞ takes the place of the score, 1 elsewhere."""
        passes = self.bias is not None or not is_hidden(self.hidden, use.at(0))
        return np.full(use.shape, float(passes))

    def stops(self, derivatives: Floats) -> bool:
        return True

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """Minus infinity, or the sum with the number, and the reason; or the unchanged score."""
        source, reasons = numbers.same(), self.why(numbers.cell)
        if not reasons:
            notes = self.cut(numbers.cell) or (_("no mask blocks this cell"),)
            return (numbers.line(((source,),), source.value, *map(words, notes)),)
        if self.bias is not None:
            score, bias = numbers.term(), guarded(constant(self.bias, _("added to blocked scores")))
            steps: tuple[Pieces, ...] = ((source, Text(" + "), *bias), (score, Text(" + "), *bias))
            return (numbers.line(steps, score.value + self.bias, *map(words, reasons)),)
        instead = Text(_("instead of {score} = ").format(score=numbers.symbol()))
        return (numbers.line((), -math.inf, *map(words, reasons), (instead, numbers.term())),)

    def passes_on(self, cell: At) -> bool:
        return not self.why(cell)

    def code(self, writer: Writer) -> Sequence[str]:
        (read,), blocked = writer.reads, writer.blocked()
        if self.bias is None:
            return (f"{writer.stage} = {writer.blank(read, blocked, f'-{writer.xp}.inf')}",)
        return (f"{writer.stage} = {read} + {writer.xp}.where({blocked}, {self.bias!r}, 0.0)",)
