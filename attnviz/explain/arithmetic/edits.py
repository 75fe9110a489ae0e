"""The lines of a cell that is edited by hand: the number that stands there, and what was computed."""

from __future__ import annotations

from dataclasses import replace

from attnviz.i18n import _
from attnviz.model.reading import Reading
from attnviz.model.sites.by_hand import edits_at
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import Line, Pieces, Text, digits, words


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
