"""The arithmetic of score-shaped stages: from q · k to the weights.

One function per stage; each takes a reading and a cell and returns the lines of that stage alone.
"""

from __future__ import annotations

import math

import numpy as np

from attnviz.core.phrases import sequenced
from attnviz.i18n import _
from attnviz.model.masks import why_blocked
from attnviz.model.operands.additive import added_numbers, why_cut
from attnviz.model.reading import Floats, Reading
from attnviz.model.spec.view import Cell
from attnviz.model.stages import inputs
from attnviz.operations.operation import Addend
from attnviz.operations.terms import (
    Line,
    Pieces,
    Series,
    Term,
    Text,
    constant,
    digits,
    guarded,
    words,
)


def below(reading: Reading, cell: Cell) -> Cell:
    """The same cell of the stage that `cell`'s stage reads."""
    source = inputs(cell.stage, reading.site.stages)[0]
    return Cell(source, cell.row, cell.column, cell.head)


# --- masks -----------------------------------------------------------------------------------------


def additive_mask_addend(reading: Reading, cell: Cell) -> Addend:
    """The number of the additive mask, and what it means where it is −∞ or absent."""
    mask = reading.experiment.additive_mask
    assert mask is not None
    numbers = added_numbers(reading.experiment)
    assert numbers is not None
    value = numbers.of(cell)
    place = f"M[{cell.row}, {cell.column}]"
    n_rows, n_columns = mask.array(reading.experiment.heads.n_heads).shape[1:]
    notes = tuple(map(words, why_cut(numbers, cell)))
    if cell.row >= n_rows or cell.column >= n_columns:
        says = _("past the end of the additive mask ({rows} × {columns}): 0 is added")
        notes = (words(says.format(rows=n_rows, columns=n_columns)),)
    return f"s + {place}", (Text(" + "), *guarded(constant(value, place))), value, notes


# --- softmax ---------------------------------------------------------------------------


def softmax_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """exp(s − m) ÷ Σ exp(s − m) over the row, m its largest number; and the effect of masks."""
    experiment = reading.experiment
    is_weight = cell.stage == "weights"
    hidden = reading.site.blocked(slice(cell.row, cell.row + 1)) if is_weight else None
    is_late = experiment.mask_placement == "after_softmax"
    if hidden is not None and not is_late and hidden.all() and not experiment.adds_to_blocked:
        return (fully_masked_line(reading, cell),)
    is_zeroed = hidden is not None and is_late and bool(hidden[0, cell.column])
    source = inputs(cell.stage, reading.site.stages)[0]
    row = reading.row(source, cell.head, cell.row)
    if is_weight and is_cut(reading, row):
        return (fully_masked_line(reading, cell),)
    if not math.isfinite(row.max()):
        return (without_softmax_line(reading, cell, row, is_zeroed),)
    return (_softmax(reading, cell, source, row, is_zeroed),)


def is_cut(reading: Reading, row: Floats) -> bool:
    """True for a row of scores of which the additive mask leaves none."""
    return reading.experiment.additive_mask is not None and bool((row == -math.inf).all())


def _softmax(reading: Reading, cell: Cell, source: str, row: Floats, is_zeroed: bool) -> Line:
    top = int(np.argmax(row))
    powers = np.exp(row - row[top])

    def of(index: int) -> Cell:
        return Cell(source, cell.row, index, cell.head)

    def power(index: int) -> Term:
        value = float(powers[index])
        return Term(value, digits(value), f"exp({reading.full_name(of(index))} − m)", of(index))

    own, n = reading.term(of(cell.column), row[cell.column]), len(row)
    zeroed = (Text(" × 0"),) if is_zeroed else ()
    numbers = (power(cell.column), Text(" ÷ ("), Series(n, lambda index: (power(index),)), Text(")"), *zeroed)
    notes: tuple[Pieces, ...] = (
        (Text("m = "), reading.term(of(top), row[top]), Text(_(", the row's maximum"))),
    )
    if is_zeroed:
        reasons = why_blocked(reading.experiment, cell.row, cell.column)
        notes = (words(sequenced((_("set to 0 after the softmax"), *reasons))), *notes)
    return Line(
        (reading.link(cell),),
        ((Text("exp("), own, Text(" − m) ÷ Σ"), *zeroed), numbers),
        reading.number(cell),
        float(powers[cell.column] / powers.sum()) * (0.0 if is_zeroed else 1.0),
        notes,
    )


def fully_masked_line(reading: Reading, cell: Cell) -> Line:
    """A weight of a fully masked query: the site's definition, in words."""
    is_nan = reading.experiment.fully_masked_row == "nan"
    says = (
        _("every key is blocked: all exp(−∞) are 0, and 0 ÷ 0 is NaN")
        if is_nan
        else _("every key is blocked: 0 ÷ 0 has no value, and the experiment defines this row as 0")
    )
    result = math.nan if is_nan else 0.0
    return Line((reading.link(cell),), (), reading.number(cell), result, (words(says),))


def without_softmax_line(reading: Reading, cell: Cell, row: Floats, is_zeroed: bool) -> Line:
    """A row whose largest number is NaN or infinite has no softmax."""
    source = inputs(cell.stage, reading.site.stages)[0]
    culprit = int(np.argmax(~(np.isfinite(row) | (row == -math.inf)))) if row.max() != -math.inf else 0
    found = reading.term(Cell(source, cell.row, culprit, cell.head), row[culprit])
    says: Pieces = (
        Text(_("no softmax: ")),
        reading.link(Cell(source, cell.row, culprit, cell.head)),
        Text(" = "),
        found,
    )
    zero = words(_("set to 0 after the softmax"))
    notes = (zero, says) if is_zeroed else (says,)
    return Line((reading.link(cell),), (), reading.number(cell), 0.0 if is_zeroed else math.nan, notes)
