"""The arithmetic of one cell: its formula with its real digits, every term with the cell it comes from.

`explain` follows the provenance rules of `STAGES` down to the inputs of the next product or sum; a reader
goes further through the terms. Records are in `arithmetic_pieces`; one function per stage makes its lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from attnviz.explain.arithmetic.block import activated_lines, hidden_lines, residual_lines
from attnviz.explain.arithmetic.edits import edited_lines
from attnviz.explain.arithmetic.numbers import CellNumbers
from attnviz.explain.arithmetic.positions import x_lines
from attnviz.explain.arithmetic.readout import logit_lines
from attnviz.explain.arithmetic.scores import below
from attnviz.explain.arithmetic.vectors import concatenated_lines, gated_lines, given_lines, origin_of
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.reading import Reading, stage_symbol
from attnviz.model.spec.view import Cell
from attnviz.model.trace import SiteTrace
from attnviz.operations.terms import Explanation, Line, Term, digits, flat, words

LINES: dict[str, Callable[[Reading, Cell], tuple[Line, ...]]] = {
    "tokens_embedded": given_lines,
    "layer_input": given_lines,
    "x": x_lines,
    "memory": given_lines,
    "gated": gated_lines,
    "concatenated": concatenated_lines,
    "residual_1": residual_lines,
    "ffn_hidden": hidden_lines,
    "residual_2": residual_lines,
    "transform_hidden": activated_lines,
    "logits": logit_lines,
}
"""The function that writes each stage's lines, where no operation does."""

NEXT: dict[str, Callable[[Reading, Cell], Cell]] = {
    "concatenated": origin_of,
}
"""Stages that the lines of another one follow; the others end in a sum whose terms lead on."""

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
    n_heads, n_rows, n_columns = (1, *site.shape(cell.stage))[-3:]
    return cell.head < n_heads and cell.row < n_rows and cell.column < n_columns


def _lines(reading: Reading, cell: Cell) -> Iterator[Line]:
    yield from edited_lines(reading, cell, _own_lines(reading, cell))
    while (following := _next(reading, cell)) is not None:
        cell = following
        if not _is_passed_on(reading, cell):
            yield from map(_short, edited_lines(reading, cell, _own_lines(reading, cell)))


def _own_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The lines of a stage, without those of the stages before it."""
    if cell.stage in LINES:
        return LINES[cell.stage](reading, cell)
    return bind(reading.experiment, cell.stage).lines(CellNumbers(reading, cell))


def _is_passed_on(reading: Reading, cell: Cell) -> bool:
    """True if a line of the cell would say nothing."""
    return cell.stage not in LINES and bind(reading.experiment, cell.stage).passes_on(cell)


def _next(reading: Reading, cell: Cell) -> Cell | None:
    """The cell whose lines follow; None behind a sum, whose terms lead on."""
    if cell.stage in LINES:
        return NEXT[cell.stage](reading, cell) if cell.stage in NEXT else None
    return below(reading, cell) if bind(reading.experiment, cell.stage).goes_on else None


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
