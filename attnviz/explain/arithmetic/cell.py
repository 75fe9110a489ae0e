"""The arithmetic of one cell: its formula with its real digits, every term with the cell it comes from.

`explain` follows the provenance rules of `STAGES` down to the inputs of the next product or sum; a reader
goes further through the terms. Records are in `arithmetic_pieces`; one function per stage makes its lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attnviz.explain.arithmetic.numbers import CellNumbers
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.provenance import sources
from attnviz.model.reading import Reading, stage_symbol
from attnviz.model.sites.by_hand import edits_at
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.view import Cell
from attnviz.model.trace import SiteTrace
from attnviz.operations.operation import Indices
from attnviz.operations.terms import Explanation, Line, Pieces, Term, Text, digits, flat, words


def edited_lines(reading: Reading, cell: Cell, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """`lines` of a cell, and before them a line of the number by hand if it is edited.

    The lines then explain the computed number, in float64, which the trace no longer has.
    """
    found = edits_at(reading.experiment, cell)
    if not found or not lines:
        return lines
    first, *rest = lines
    computed = number = first.recomputed
    for edit in found:
        number = edit.applied(number, cell.column)
    by_hand = Line(words(reading.name(cell)), (), reading.number(cell), number, _notes(found, cell, computed))
    name: Pieces = (Text(_("computed: ")), *first.name)
    return (by_hand, replace(first, name=name, value=computed), *rest)


def _notes(found: tuple[Edit, ...], cell: Cell, computed: float) -> tuple[Pieces, ...]:
    """A sentence for each edit: its operation and number."""
    before = digits(computed, 6)
    notes = []
    for edit in found:
        by = digits(edit.at(cell.column), 6)
        text = _SAYS[edit.operation]().format(by=by, computed=before)
        notes.append(words(text))
    return tuple(notes)


_SAYS = {
    "set": lambda: _("set by hand to {by}; computed: {computed}"),
    "add": lambda: _("{by} added by hand; computed: {computed}"),
    "scale": lambda: _("multiplied by {by} by hand; computed: {computed}"),
}


CLOSE = 1e-5
"""Relative difference between the trace and float64 above which a note appears: the sixth digit."""


def explain(site: SiteTrace, cell: Cell) -> Explanation:
    """The arithmetic of `cell`, in the present language, down to the nearest sum of products.

    Raises `KeyError` where the trace lacks the stage and `IndexError` where the stage lacks the cell.
    """
    if not exists(site, cell):
        raise IndexError(f"cell is {cell}; {cell.stage} has the shape {site.shape(cell.stage)}")
    reading = Reading(site)
    # Infinities and NaN are numbers here, to be shown as they are.
    with np.errstate(all="ignore"):
        lines = [_noted(reading, line) for line in _lines(reading, cell)]
    return Explanation(cell, reading.title(cell), tuple(lines))


def exists(site: SiteTrace, cell: Cell) -> bool:
    """True if the site has this cell: an edit may remove stages, heads and tokens."""
    if cell.stage not in site.stages or cell.site not in ("", site.name):
        return False
    n_rows, n_columns = site.shape(cell.stage)[-2:]
    return cell.head < site.n_matrices(cell.stage) and cell.row < n_rows and cell.column < n_columns


def _lines(reading: Reading, cell: Cell) -> Iterator[Line]:
    yield from edited_lines(reading, cell, _own_lines(reading, cell))
    while (following := _next(reading, cell)) is not None:
        cell = following
        if not _is_passed_on(reading, cell):
            yield from map(_short, edited_lines(reading, cell, _own_lines(reading, cell)))


def _own_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The lines of a stage, without those of the stages before it."""
    return bind(reading.experiment, cell.stage).lines(CellNumbers(reading, cell))


def _is_passed_on(reading: Reading, cell: Cell) -> bool:
    """True if a line of the cell would say nothing."""
    return bind(reading.experiment, cell.stage).passes_on(cell)


def _next(reading: Reading, cell: Cell) -> Cell | None:
    """The cell whose lines follow; None behind a sum, whose terms lead on."""
    if not bind(reading.experiment, cell.stage).goes_on:
        return None
    read = sources(reading.site, cell)[0]
    head, column = (
        _only(found, own) for found, own in ((read.heads, cell.head), (read.columns, cell.column))
    )
    return Cell(read.stage, cell.row, column, head)


def _only(indices: Indices, own: int) -> int:
    """The index, if it is one alone, else that of the cell itself."""
    return indices[0] if indices is not None and len(indices) == 1 else own


def _short(line: Line) -> Line:
    """The line of another stage of the same row and column: named by its stage alone."""
    term = line.name[0] if line.name else None
    if not isinstance(term, Term) or term.source is None:
        return line
    return replace(line, name=(replace(term, text=stage_symbol(term.source.stage)),))


def _noted(reading: Reading, line: Line) -> Line:
    """The line, with a note if its value is special."""
    says = _oddity(reading, line)
    if not says:
        return line
    return replace(line, notes=(*line.notes, words(says)))


def _oddity(reading: Reading, line: Line) -> str:
    if not line.steps or not line.name:
        return ""
    if math.isnan(line.value):
        if any(map(math.isnan, _terms(line))):
            return _("NaN, because a term is NaN")
        return _("NaN: ∞ − ∞ and 0 × ∞ have no value")
    if math.isinf(line.value):
        is_passed_on = any(map(math.isinf, _terms(line)))
        return "" if is_passed_on else _("too large for {dtype}").format(dtype=reading.experiment.dtype)
    scale = max(abs(line.value), abs(line.recomputed))
    if abs(line.value - line.recomputed) > CLOSE * scale:
        text = _("{dtype}; the same terms in float64: {value}")
        return text.format(dtype=reading.experiment.dtype, value=digits(line.recomputed, 6))
    return ""


def _terms(line: Line) -> list[float]:
    return [p.value for step in line.steps for p in flat(step, is_whole=True) if isinstance(p, Term)]
