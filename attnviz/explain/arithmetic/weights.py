"""The arithmetic of a weight: the plain softmax, one with a sink, or a normaliser of each score by itself."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from attnviz.core.phrases import sequenced
from attnviz.explain.arithmetic.scores import (
    below,
    fully_masked_line,
    is_cut,
    softmax_lines,
    without_softmax_line,
)
from attnviz.i18n import _, ngettext
from attnviz.model.masks import why_blocked
from attnviz.model.normalisers import n_visible
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.reading import Reading
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import (
    Line,
    Piece,
    Pieces,
    Series,
    Term,
    Text,
    constant,
    digits,
    guarded,
    words,
)


def weight_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A weight from the site's normaliser."""
    experiment = reading.experiment
    if experiment.sinks is not None:
        return (_with_sink(reading, cell),)
    if experiment.normaliser == "softmax":
        return softmax_lines(reading, cell)
    hidden = reading.site.blocked(slice(cell.row, cell.row + 1))
    is_cleared = experiment.mask_placement == "before_softmax" and not experiment.adds_to_blocked
    row = reading.row(below(reading, cell).stage, cell.head, cell.row)
    if hidden is not None and hidden.all() and is_cleared or is_cut(reading, row):
        return (fully_masked_line(reading, cell),)
    is_counted = experiment.mask_placement == "before_softmax"
    uncounted = reading.site.unseen(cell.head, rows=slice(cell.row, cell.row + 1), by_masks=is_counted)
    n = float(n_visible(uncounted, 1, experiment.n_keys)[0])
    return (_ALONE[experiment.normaliser](reading, cell, n),)


def _visible(n: int) -> str:
    """Number of keys that a query attends to, in words."""
    counted = ngettext("n = {n} key visible to this query", "n = {n} keys visible to this query", n)
    return counted.format(n=n)


def _sigmoid(reading: Reading, cell: Cell, n: float) -> Line:
    score, bias = reading.term(below(reading, cell)), constant(math.log(n), "log n")
    zeroed, notes = _set_to_zero(reading, cell)
    if zeroed and math.isnan(score.value):
        return _zero_line(reading, cell, notes)
    numbers: Pieces = (Text("1 ÷ (1 + exp("), bias, Text(" − "), *guarded(score), Text("))"), *zeroed)
    result = 0.0 if zeroed else float(1 / (1 + np.exp(bias.value - score.value)))
    counted = words(_visible(int(n)))
    letters = (Text("σ(s − log n)"), *zeroed)
    return Line((reading.link(cell),), (letters, numbers), reading.number(cell), result, (*notes, counted))


def _relu_squared(reading: Reading, cell: Cell, n: float) -> Line:
    score = reading.term(below(reading, cell))
    zeroed, notes = _set_to_zero(reading, cell)
    if zeroed and not math.isfinite(score.value):
        return _zero_line(reading, cell, notes)
    numbers: Pieces = (Text("max(0, "), score, Text(")^2 ÷ "), constant(n, "n"), *zeroed)
    result = 0.0 if zeroed else float(np.maximum(0.0, score.value) ** 2 / n)
    counted = words(_visible(int(n)))
    letters = (Text("max(0, s)² ÷ n"), *zeroed)
    return Line((reading.link(cell),), (letters, numbers), reading.number(cell), result, (*notes, counted))


_ALONE: dict[str, Callable[[Reading, Cell, float], Line]] = {
    "sigmoid": _sigmoid,
    "relu_squared": _relu_squared,
}
"""Normalisers that look at one score alone."""


def _set_to_zero(reading: Reading, cell: Cell) -> tuple[tuple[Piece, ...], tuple[Pieces, ...]]:
    """× 0 and why, where a mask after the normaliser takes the weight away."""
    experiment = reading.experiment
    if experiment.mask_placement == "before_softmax":
        return (), ()
    reasons = why_blocked(experiment, cell.row, cell.column)
    if not reasons:
        return (), ()
    return (Text(" × 0"),), (words(sequenced((_("set to 0 after the normaliser"), *reasons))),)


def _zero_line(reading: Reading, cell: Cell, notes: tuple[Pieces, ...]) -> Line:
    """A weight that is set, not multiplied: 0 times a score without a value would be NaN."""
    return Line((reading.link(cell),), (), reading.number(cell), 0.0, notes)


def _with_sink(reading: Reading, cell: Cell) -> Line:
    """exp(s − m) ÷ (exp(sink − m) + Σ exp(s − m)), m the largest of the row and its sink."""
    source = below(reading, cell).stage
    row = reading.row(source, cell.head, cell.row)
    zeroed, notes = _set_to_zero(reading, cell)
    if np.isnan(row).any() or row.max() == math.inf:
        return without_softmax_line(reading, cell, row, bool(zeroed))
    sink = constant(float(sinks_array(reading.experiment)[cell.head]), _("sink"))
    top = int(np.argmax(row))
    largest = (
        sink if row[top] <= sink.value else reading.term(Cell(source, cell.row, top, cell.head), row[top])
    )
    powers, share = np.exp(row - largest.value), float(np.exp(sink.value - largest.value))

    def power(index: int) -> Term:
        at, value = Cell(source, cell.row, index, cell.head), float(powers[index])
        return Term(value, digits(value), f"exp({reading.full_name(at)} − m)", at)

    own, total = reading.term(below(reading, cell), row[cell.column]), share + float(powers.sum())
    series = Series(len(row), lambda index: (power(index),))
    of_sink = constant(share, "exp(sink − m)")
    numbers = (power(cell.column), Text(" ÷ ("), of_sink, Text(" + "), series, Text(")"), *zeroed)
    letters = (Text("exp("), own, Text(" − m) ÷ (exp("), sink, Text(" − m) + Σ)"), *zeroed)
    whose = _(", the head's sink") if largest is sink else _(", the row's maximum")
    takes = _("the sink takes {share}; the weights of the row sum to {sum}")
    told = takes.format(share=digits(share / total), sum=digits(float(powers.sum()) / total))
    return Line(
        (reading.link(cell),),
        (letters, numbers),
        reading.number(cell),
        0.0 if zeroed else float(powers[cell.column]) / total,
        (*notes, (Text("m = "), largest, Text(whose)), words(told)),
    )
