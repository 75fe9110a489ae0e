"""`Linear`: x W + b, perhaps in heads that stand side by side in the columns of W."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array, over_rows, side_by_side
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    At,
    Cells,
    Floats,
    Forward,
    Numbers,
    Operation,
    Parameter,
    Pattern,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Hue, Line, Pieces, Series, Text, constant, guarded, product, words

IDENTITY = N_("the matrix is the identity")
SHARED_KEY = N_("the same in every head")


@dataclass(frozen=True, eq=False)
class Linear(Operation):
    """x W + b. With `heads`, each of them has `width` columns of W, one head beside the other.

    `path` is W's in the document, `symbol` its name, `part(rows, columns)` returns numbers of it in float64;
    `passes`: W is a square identity, so that x is the product. `heads` are the axes of the heads: (group,
    member) or (group,). `joins`: behind the `width` features of every head stands the second input as it is.
    """

    path: str
    symbol: str
    part: Callable[[Any, Any], Floats]
    passes: bool = False
    bias: Parameter | None = None
    heads: tuple[int, ...] = ()
    width: int = 0
    hue: Hue = ""
    joins: bool = False

    help = N_("Each row is the row of the input times a matrix of learned weights.")
    cites = "attention"

    @property
    def pattern(self) -> Pattern:  # type: ignore[override]
        return "latent_key" if self.joins else "projection"

    @property
    def rows(self) -> tuple[Parameter, ...]:
        return () if self.bias is None else (self.bias,)

    @property
    def matrices(self) -> tuple[str, ...]:
        return (self.path,)

    def result(self, forward: Forward) -> Array:
        made = forward.times(forward.input(), self.path)
        made = made if self.bias is None else made + forward.row(self.bias.path)
        if not self.heads:
            return made
        *leading, n_tokens, _features = made.shape
        made = made.reshape(*leading, n_tokens, -1, self.width).swapaxes(-3, -2)
        if self.heads[1:]:
            made = made.reshape(*leading, *self.heads, n_tokens, self.width)
        if not self.joins:
            return made
        xp, shared = forward.arrays.xp, forward.input(1)
        of_one = xp.reshape(shared, (*leading, *(1 for _axis in self.heads), *shared.shape[-2:]))
        shared = xp.broadcast_to(of_one, (*leading, *self.heads, *shared.shape[-2:]))
        return xp.concat((made, shared), axis=-1)

    def pull(self, g: Array, pulled: Pulled) -> None:
        """By x, g Wᵀ; by W, xᵀ g; by b the sum of the rows; by the second input the sum over the heads."""
        xp = pulled.arrays.xp
        if self.joins:
            pulled.add(xp.sum(g[..., self.width :], axis=tuple(range(-2 - len(self.heads), -2))), 1)
            g = g[..., : self.width]
        g = side_by_side(xp, g, len(self.heads)) if self.heads else g
        if self.bias is not None:
            pulled.add_parameter(self.bias.path, over_rows(xp, g))
        pulled.add(pulled.product(self.path, pulled.input(), g))

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        made = math.prod(shape[:-1]) * (self.width if self.joins else shape[-1])
        return (0 if self.passes else 2 * made * inputs[0][-1]) + (self.bias is not None) * made

    def _column(self, cell: At) -> int:
        """The column of W that makes a cell."""
        return cell.head * self.width + cell.column

    def made_of(self, place: int, cell: At) -> Cells | None:
        if not self.joins:
            return (cell.row,), None
        if (cell.column >= self.width) != (place == 1):
            return None
        return (cell.row,), None if place == 0 else (cell.column - self.width,)

    def read_by(self, place: int, cell: At) -> Cells:
        if not self.joins:
            return (cell.row,), None
        return (cell.row,), tuple(range(self.width)) if place == 0 else (self.width + cell.column,)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """Σ x · W + b over the features of the input; or the number of the second input."""
        cell = numbers.cell
        if self.joins and cell.column >= self.width:
            origin = numbers.link(1, cell.column - self.width)
            says = _("features from {n} on are the RoPE key, the same in every head").format(n=self.width)
            return (numbers.line(((origin,),), origin.value, words(says)),)
        column = self._column(cell)
        added: Pieces = ()
        letters: Pieces = ()
        bias = None if self.bias is None else float(self.bias.numbers()[column])
        if self.bias is not None and bias is not None:
            letters = (Text(" + "), Text(self.bias.symbol, self.hue))
            added = (Text(" + "), *guarded(constant(bias, f"{self.bias.symbol}[{column}]", self.hue)))
        if self.passes:
            return (self._passed_on(numbers, column, bias, letters, added),)
        weights, x = self.part(slice(None), column), numbers.row()

        def item(index: int) -> Pieces:
            weight = constant(weights[index], f"{self.symbol}[{index}, {column}]", self.hue)
            return product(numbers.term_at(index, x[index]), weight)

        symbols = (Text(f"Σ {numbers.symbol()} · "), Text(self.symbol, self.hue), *letters)
        result = float(np.sum(x * weights)) + (bias or 0.0)
        return (numbers.line((symbols, (Series(len(x), item), *added)), result),)

    def _passed_on(
        self, numbers: Numbers, column: int, bias: float | None, letters: Pieces, added: Pieces
    ) -> Line:
        """The input's own number, plus the bias, if any."""
        note = words(_("{matrix} is the identity").format(matrix=self.symbol))
        link = numbers.link(0, column)
        if bias is None:
            return numbers.line(((link,),), link.value, note)
        steps = (Text(numbers.symbol()), *letters), (numbers.term_at(column, link.value), *added)
        return numbers.line(steps, link.value + bias, note)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """W[i, j] of the columns, those of a head side by side; 1 by the second input."""
        if use.place == 1:
            return np.ones(use.shape)
        columns = [head * self.width + column for head in use.heads for column in use.columns]
        return self.part(use.cell.column, columns).reshape(use.shape)

    def letters_by(self, place: int) -> str:
        """W by the first input; the second one is copied."""
        return self.symbol if place == 0 else ""

    def code(self, writer: Writer) -> tuple[str, ...]:
        x, stage = writer.reads[0], writer.stage
        made = x if self.passes else f"{x} @ {writer.given(self.path, self.symbol)}"
        if self.bias is not None:
            made = f"{made} + {writer.given(self.bias.path, self.bias.symbol)}"
        note = writer.note(IDENTITY) if self.passes else ""
        if not self.heads:
            return (f"{stage} = {made}{note}",)
        made = writer.split_heads(made if made.isidentifier() else f"({made})", self.width)
        if not self.joins:
            return (f"{stage} = {made}{note}",)
        shared = writer.in_every_head(writer.reads[1])
        return (
            f"content = {made}{note}",
            f"shared = {shared}{writer.note(SHARED_KEY)}",
            f"{stage} = {writer.join(('content', 'shared'))}",
        )
