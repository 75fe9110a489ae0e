"""The arithmetic of a normalised query or key."""

from __future__ import annotations

import numpy as np

from attnviz.core.qk_norm import normed
from attnviz.i18n import _
from attnviz.model.arithmetic_pieces import Line, Pieces, Series, Text, constant, guarded, words
from attnviz.model.arithmetic_reading import Reading
from attnviz.model.provenance import sources
from attnviz.model.qk_norms import QK_NORM_BY_ID
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.view import Cell


def normed_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """One feature divided by the length, or the like, of its whole vector."""
    norm = reading.experiment.qk_norm
    assert norm is not None
    source = sources(reading.site, cell)[0].stage
    row = reading.row(source, cell.head, cell.row)
    mean = constant(float(row.mean()), _("mean"))
    centre: Pieces = (Text(" − "), *guarded(mean)) if norm.kind == "layer" else ()

    def centred(index: int) -> Pieces:
        at = Cell(source, cell.row, index, cell.head)
        return (Text("("), reading.term(at, row[index]), *centre, Text(")"))

    def square(index: int) -> Pieces:
        return (*centred(index), Text("^2"))

    divided = () if norm.kind == "l2" else (Text(f" ÷ {len(row)}"),)
    numbers = (
        *centred(cell.column),
        Text(" ÷ (("),
        Series(len(row), square),
        Text(")"),
        *divided,
        Text(" + "),
        constant(norm.eps, "ε"),
        Text(")^0.5"),
    )
    letters = QK_NORM_BY_ID[norm.kind].formula.replace("x", STAGE_BY_ID[source].id)
    notes: tuple[Pieces, ...] = ((Text(_("mean") + " = "), mean),) if centre else ()
    result = float(normed(np, row, norm.kind, norm.eps)[cell.column])
    return (Line((reading.link(cell),), (words(letters), numbers), reading.number(cell), result, notes),)
