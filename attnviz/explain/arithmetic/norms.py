"""The arithmetic of norms: of queries and keys, and of a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attnviz.explain.arithmetic.numbers import CellNumbers
from attnviz.explain.formulas.block import norm_at
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.operands.latent import latent_norm
from attnviz.model.provenance import sources
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.differential import partners
from attnviz.model.spec.rows import Row, row_array
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import Line, Pieces, Series, Term, Text, constant, guarded, words


@dataclass(frozen=True)
class _Rule:
    """One norm as its lines need it; `kind` is "layer", "rms" or "l2", `factor` multiplies the result."""

    kind: str
    eps: float
    gain: Row | None = None
    bias: Row | None = None
    factor: Term | None = None


def qk_normed_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A feature of a query or key, divided by the length, or the like, of its whole vector."""
    norm = reading.experiment.qk_norm
    assert norm is not None
    gain = norm.query_gain if cell.stage == "q_normed" else norm.key_gain
    heads = tuple(range(reading.site.shape(cell.stage)[0])) if norm.across else ()
    return _lines(reading, cell, _Rule(norm.kind, norm.eps, gain), heads)


def pair_normed_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A feature of a head of a differential attention, normalised with those of its partner, times 1 − λ₀."""
    of = reading.experiment.differential
    assert of is not None
    pair = partners(cell.head, reading.experiment.heads.n_heads)
    factor = constant(1.0 - of.initial, "1 − λ₀")
    return _lines(reading, cell, _Rule("rms", of.eps, factor=factor), pair)


def normed_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A feature of a token, normalised over the features of its row."""
    norm = norm_at(reading.experiment, cell.stage)
    assert norm is not None
    return _lines(reading, cell, _Rule(norm.kind, norm.eps, norm.gain, norm.bias))


def latent_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of a latent: Σ x · W, or that after its norm."""
    if latent_norm(reading.experiment, cell.stage) is not None:
        return normed_lines(reading, cell)
    return bind(reading.experiment, cell.stage).lines(CellNumbers(reading, cell))


class _Source(NamedTuple):
    """The numbers that a norm reads of a row of `stage`: `width` of each of its heads."""

    stage: str
    row: int
    heads: tuple[int, ...]
    width: int
    numbers: Floats

    def term(self, reading: Reading, index: int) -> Term:
        """One of the numbers."""
        head, column = divmod(index, self.width)
        return reading.term(Cell(self.stage, self.row, column, self.heads[head]), self.numbers[index])


def _source(reading: Reading, cell: Cell, heads: tuple[int, ...]) -> _Source:
    """The rows of some heads, one after the other."""
    stage = sources(reading.site, cell)[0].stage
    rows = [reading.row(stage, head, cell.row) for head in heads]
    return _Source(stage, cell.row, heads, len(rows[0]), np.concatenate(rows))


def _lines(reading: Reading, cell: Cell, rule: _Rule, heads: tuple[int, ...] = ()) -> tuple[Line, ...]:
    """gain · (x − mean) ÷ √(variance + ε) + bias; then mean and variance, which the whole row makes.

    The row is that of the cell's head, or of several `heads` side by side.
    """
    read = _source(reading, cell, heads or (cell.head,))
    source, row = read.stage, read.numbers
    at = cell.column + read.heads.index(cell.head) * read.width
    mean = float(row.mean()) if rule.kind == "layer" else None
    spread = _Spread(rule.kind, row, mean)
    own = read.term(reading, at)
    gain, bias = (None if r is None else float(row_array(r, len(row))[at]) for r in (rule.gain, rule.bias))
    letters: Pieces = (Text(_letters(rule, stage_symbol(source), spread.name)),)
    numbers: Pieces = (*_centred(own, mean), Text(" ÷ ("), constant(spread.value, spread.name))
    numbers += (Text(" + "), constant(rule.eps, "ε"), Text(")^0.5"))
    result = (row[at] - (mean or 0.0)) / np.sqrt(spread.value + rule.eps)
    if gain is not None:
        numbers = (constant(gain, _("gain")), Text(" × "), *_one_factor(numbers, mean))
        result = gain * result
    if rule.factor is not None:
        numbers = (*guarded(rule.factor), Text(" × "), *_one_factor(numbers, mean))
        result = rule.factor.value * result
    if bias is not None:
        numbers += (Text(" + "), *guarded(constant(bias, _("bias"))))
        result = result + bias
    first = Line((reading.link(cell),), (letters, numbers), reading.number(cell), float(result))
    below = [_mean_line(reading, read)] if mean is not None else []
    return (first, *below, spread.line(reading, read))


def _letters(rule: _Rule, x: str, spread: str) -> str:
    top = f"({x} − {_('mean')})" if rule.kind == "layer" else x
    gain = f"{_('gain')} · " if rule.gain is not None else ""
    bias = f" + {_('bias')}" if rule.bias is not None else ""
    factor = f"({rule.factor.name}) · " if rule.factor is not None else ""
    return f"{factor}{gain}{top} ÷ √({spread} + ε){bias}"


def _centred(x: Term, mean: float | None) -> Pieces:
    """(x − mean), or x without a mean."""
    if mean is None:
        return (x,)
    return (Text("("), x, Text(" − "), *guarded(constant(mean, _("mean"))), Text(")"))


def _one_factor(numbers: Pieces, mean: float | None) -> Pieces:
    """`numbers` so that they can follow a times sign: a negative number that begins them in brackets."""
    first = numbers[0]
    if mean is None and isinstance(first, Term):
        return (*guarded(first), *numbers[1:])
    return numbers


def _mean_line(reading: Reading, read: _Source) -> Line:
    def item(index: int) -> Pieces:
        return guarded(read.term(reading, index))

    symbol, row = stage_symbol(read.stage), read.numbers
    numbers = (Text("("), Series(len(row), item), Text(f") ÷ {len(row)}"))
    mean = float(row.mean())
    return Line(words(_("mean")), (words(f"Σ {symbol} ÷ d"), numbers), mean, mean)


class _Spread:
    """The term under the root besides ε: the variance, the mean square, or the sum of squares."""

    def __init__(self, kind: str, row: Floats, mean: float | None) -> None:
        self._row, self._mean, self._is_divided = row, mean, kind != "l2"
        total = float(np.sum((row - (mean or 0.0)) ** 2))
        self.value = total / len(row) if self._is_divided else total
        self.name = {"layer": _("variance"), "rms": _("mean square"), "l2": _("sum of squares")}[kind]

    def line(self, reading: Reading, read: _Source) -> Line:
        """Σ (x − mean)² ÷ d, term by term."""
        mean = None if self._mean is None else constant(self._mean, _("mean"))

        def item(index: int) -> Pieces:
            away: Pieces = () if mean is None else (Text(" − "), *guarded(mean))
            return (Text("("), read.term(reading, index), *away, Text(")^2"))

        symbol = stage_symbol(read.stage)
        letters = f"Σ {symbol}²" if mean is None else f"Σ ({symbol} − {mean.name})²"
        series: Pieces = (Series(len(self._row), item),)
        if self._is_divided:
            letters += " ÷ d"
            series = (Text("("), *series, Text(f") ÷ {len(self._row)}"))
        return Line(words(self.name), (words(letters), series), self.value, self.value)
