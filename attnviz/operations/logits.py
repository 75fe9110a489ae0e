"""`Logits`: one number for each token of a vocabulary, each class, or each token of the text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array, over_rows
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    At,
    Cells,
    Floats,
    Forward,
    Numbers,
    Operation,
    Parameter,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Series, Text, constant, guarded, product, words

DISTINCT = N_("one column for each distinct token")
VECTORS = "vectors"
"""The path of the vectors of tokens, with which a similarity compares."""


@dataclass(frozen=True, eq=False)
class Logits(Operation):
    """cap · tanh(scale · (x W + b) ÷ cap), without what is not used.

    `path` is W's in the document, `part(rows, columns)` returns numbers of it in float64. By similarity, its
    columns are vectors of tokens: those in the rows `tokens` of the second input, called `among`. `letter` is
    that of x in the formula, `notes` are messages.
    """

    path: str
    part: Callable[[Any, Any], Floats]
    bias: Parameter | None = None
    scale: float = 1.0
    cap: float | None = None
    letter: str = "o"
    notes: tuple[str, ...] = ()
    tokens: tuple[int, ...] | None = None
    among: str = ""

    help = N_("Each number is the dot product of an output with the vector of a token.")
    letters = "W_U"
    leaves_inputs = True
    pattern = "qd,wd->qw"

    @property
    def n_inputs(self) -> int:
        return 1 if self.tokens is None else 2

    @property
    def rows(self) -> tuple[Parameter, ...]:
        return () if self.bias is None else (self.bias,)

    @property
    def matrices(self) -> tuple[str, ...]:
        return (self.path,)

    @property
    def title(self) -> str:
        return "×W_U" if self.tokens is None else ""

    def formula(self, own: str, *inputs: str) -> str:
        return f"l = {self._letters(self.letter)}" if self.tokens is None else ""

    def _letters(self, x: str) -> str:
        letters = f"Σ {x} · W_U" + (" + b_U" if self.bias is not None else "")
        if self.scale != 1.0:
            letters = f"({letters}) × {_('scale')}"
        return letters if self.cap is None else f"cap · tanh(({letters}) ÷ cap)"

    def result(self, forward: Forward) -> Array:
        made = forward.times(forward.input(), self.path)
        made = made if self.bias is None else made + forward.row(self.bias.path)
        made = made if self.scale == 1.0 else made * self.scale
        return made if self.cap is None else self.cap * forward.arrays.xp.tanh(made / self.cap)

    def pull(self, g: Array, pulled: Pulled) -> None:
        """By x, g Wᵀ; by W, xᵀ g; of the vectors of tokens, those that are compared."""
        arrays, x = pulled.arrays, pulled.input()
        if self.cap is not None:
            share = pulled.result() / self.cap
            g = g * (1 - share * share)
        g = g * self.scale
        if self.bias is not None:
            pulled.add_parameter(self.bias.path, over_rows(arrays.xp, g))
        if self.tokens is None:
            pulled.add(pulled.product(self.path, x, g))
            return
        by_tokens, by_vectors = g.mT @ x, arrays.zeros(tuple(x.shape))
        for index, row in enumerate(self.tokens):
            by_vectors[..., row, :] = by_tokens[..., index, :]
        pulled.add(by_vectors, 1)
        pulled.add(g @ pulled.matrix(self.path).mT)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return 2 * math.prod(shape) * inputs[0][-1]

    def made_of(self, place: int, cell: At) -> Cells | None:
        if place == 0:
            return (cell.row,), None
        return None if self.tokens is None else ((self.tokens[cell.column],), None)

    def read_by(self, place: int, cell: At) -> Cells | None:
        if place == 0:
            return (cell.row,), None
        tokens = self.tokens or ()
        return (None, (tokens.index(cell.row),)) if cell.row in tokens else None

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """scale (1 − tanh²) W of each token; by a token's vector, the output of each query."""
        columns = list(use.columns)
        if use.place == 1:
            return reads.column(0, 0, use.cell.column)[list(use.rows)].reshape(use.shape)
        found = self.scale * self.part(use.cell.column, columns).reshape(use.shape)
        if self.cap is None:
            return found
        logits = reads.own_row(0, use.cell.row)[columns]
        return found * (1 - (logits / self.cap) ** 2).reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The output's product with a column of the matrix, or with one token's vector."""
        column, x = numbers.cell.column, numbers.row()
        if self.tokens is not None:
            return (self._similarity_line(numbers, self.tokens[column], x),)
        w = self.part(slice(None), column)

        def item(index: int) -> Pieces:
            weight = constant(w[index], f"W_U[{index}, {column}]")
            return product(numbers.term_at(index, x[index]), weight)

        pieces: Pieces = (Series(len(x), item),)
        result = float(np.sum(x * w))
        if self.bias is not None:
            bias = float(self.bias.numbers()[column])
            pieces += (Text(" + "), *guarded(constant(bias, f"b_U[{column}]")))
            result += bias
        if self.scale != 1.0:
            pieces = (Text("("), *pieces, Text(") × "), *guarded(constant(self.scale, _("scale"))))
            result *= self.scale
        if self.cap is not None:
            cap = constant(self.cap, _("cap"))
            pieces = (cap, Text(" × tanh(("), *pieces, Text(") ÷ "), cap, Text(")"))
            result = self.cap * math.tanh(result / self.cap)
        notes = (words(_(note)) for note in self.notes)
        return (numbers.line((words(self._letters(numbers.symbol())), pieces), result, *notes),)

    def _similarity_line(self, numbers: Numbers, row: int, x: Floats) -> Line:
        """Σ o · e; the token's vector may lie in this site or in the first of its stack."""
        e = numbers.row_of(1, 0, row)

        def item(index: int) -> Pieces:
            return product(numbers.term_at(index, x[index]), numbers.number_of(1, 0, row, index, e[index]))

        letters = words(f"Σ {numbers.symbol(0)} · {numbers.symbol(1)}")
        return numbers.line((letters, (Series(len(x), item),)), float(np.sum(x * e)))

    def code(self, writer: Writer) -> tuple[str, ...]:
        stage, read = writer.stage, writer.reads[0]
        if self.tokens is not None:
            chosen = "" if len(self.tokens) == writer.shape[0] else f"[{list(self.tokens)}]"
            return (f"{stage} = {read} @ {self.among}{chosen}.T{writer.note(DISTINCT)}",)
        made = f"{read} @ {writer.given(self.path, 'W_U')}"
        if self.bias is not None:
            made = f"{made} + {writer.given(self.bias.path, self.bias.symbol)}"
        lines = [f"{stage} = {made}"]
        if self.scale != 1.0:
            lines.append(f"{stage} = {stage} * {self.scale!r}")
        if self.cap is not None:
            lines.append(f"{stage} = {self.cap!r} * {writer.xp}.tanh({stage} / {self.cap!r})")
        return tuple(lines)
