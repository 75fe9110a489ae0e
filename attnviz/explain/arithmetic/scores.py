"""The arithmetic of score-shaped stages: from q · k to the weights.

One function per stage; each takes a reading and a cell and returns the lines of that stage alone.
"""

from __future__ import annotations

from attnviz.i18n import _
from attnviz.model.operands.additive import added_numbers, why_cut
from attnviz.model.reading import Reading
from attnviz.model.spec.view import Cell
from attnviz.model.stages import inputs
from attnviz.operations.operation import Addend
from attnviz.operations.terms import Text, constant, guarded, words


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
