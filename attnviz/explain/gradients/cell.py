"""The arithmetic of one cell of a gradient: Σ (gradient of each cell that reads it)(its derivative).

A click on a gradient in the sum leads to that cell, and so on up to the target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from attnviz.core.matrix import cells
from attnviz.core.phrases import sequenced
from attnviz.explain.arithmetic.cell import exists
from attnviz.i18n import _
from attnviz.model.binding import bind, why_cut_in
from attnviz.model.gradient import GradientSite, ProductSite
from attnviz.model.masks import why_blocked
from attnviz.model.operands.matrices import vocabulary
from attnviz.model.provenance import Region, consumers
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.sites.by_hand import edits_at
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.operations.operation import At, Operation
from attnviz.operations.terms import (
    Explanation,
    Line,
    Pieces,
    Series,
    Term,
    Text,
    constant,
    digits,
    guarded,
    product,
    words,
)


@dataclass(frozen=True)
class Use:
    """The cells of `stage` that read `cell` as input number `place`: every head, row and column of these."""

    stage: str
    place: int
    cell: Cell
    heads: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.heads), len(self.rows), len(self.columns)

    def at(self, index: int) -> Cell:
        """The cell at an index of the flattened use."""
        head, row, column = np.unravel_index(index, self.shape)
        return Cell(self.stage, self.rows[row], self.columns[column], self.heads[head])


@dataclass(frozen=True)
class ReadOf:
    """The numbers of a stage and of its inputs, as its operation reads them."""

    reading: Reading
    stage: str

    def _input(self, place: int) -> str:
        return inputs(self.stage, self.reading.site.stages)[place]

    def result(self, cell: At) -> float:
        """The number of one cell of the stage."""
        return self.reading.number(Cell(self.stage, cell.row, cell.column, cell.head))

    def own_row(self, head: int, row: int) -> Floats:
        """A row of the stage itself."""
        return self.reading.row(self.stage, head, row)

    def row(self, place: int, head: int, row: int) -> Floats:
        """A row of input `place`."""
        return self.reading.row(self._input(place), head, row)

    def column(self, place: int, head: int, column: int) -> Floats:
        """A column of input `place`."""
        return self.reading.column(self._input(place), head, column)


def derivatives(reading: Reading, use: Use) -> Floats:
    """One derivative for every cell of a use."""
    return bind(reading.experiment, use.stage).derivatives(use, ReadOf(reading, use.stage))


def corner(reading: Reading, cell: Cell, reader: str) -> str:
    """Why the stage `reader` has no derivative by a cell, and which one is taken; empty where it has one."""
    place = inputs(reader, reading.site.stages).index(cell.stage)
    return bind(reading.experiment, reader).corner(place, cell, ReadOf(reading, reader))


@dataclass(frozen=True, eq=False)
class _Part:
    """The terms of one use: its gradients, its derivatives, and the attention that the use belongs to."""

    site: GradientSite
    use: Use
    gradients: Floats
    derivatives: Floats

    @property
    def total(self) -> float:
        terms, is_zero = self.gradients * self.derivatives, self.derivatives == 0
        if self._operation.stops(self.derivatives):
            terms = np.where(is_zero, 0.0, terms)  # a blocked cell passes nothing, NaN or not
        return float(np.sum(terms))

    @cached_property
    def _operation(self) -> Operation:
        return bind(self.site.experiment, self.use.stage)

    @cached_property
    def reading(self) -> Reading:
        return Reading(self.site.values)

    def series(self, own: Reading) -> Series:
        """The terms; `own` reads the attention of the cell that is used."""
        return Series(self.gradients.size, lambda index: self._item(index, own))

    def _item(self, index: int, own: Reading) -> Pieces:
        at = self.use.at(index)
        gradient = _gradient_term(self.reading, at, float(self.gradients[index]), self.site, own.site.name)
        derivative = float(self.derivatives[index])
        if self._operation.is_of_row and len(self.use.columns) > 1:
            return self._of_row(gradient, at)
        name = f"∂ {self.reading.name(at)} / ∂ {own.name(self.use.cell)}"
        return product(gradient, constant(derivative, name))

    def _of_row(self, gradient: Term, at: Cell) -> Pieces:
        """(g)(w_i)(δ − w_j), with the digits of both weights."""
        w = self.reading.row(at.stage, at.head, at.row)
        own, delta = w[self.use.cell.column], "1" if at.column == self.use.cell.column else "0"
        name = self.reading.name(at)
        other = constant(own, self.reading.name(replace(at, column=self.use.cell.column)))
        first = Text("("), gradient, Text(")("), constant(w[at.column], name)
        return (*first, Text(f")({delta} − "), *guarded(other), Text(")"))


def _gradient_term(reading: Reading, at: Cell, value: float, site: GradientSite, seen_from: str) -> Term:
    elsewhere = "" if site.name == seen_from else site.name
    name = f"∂ {site.target.name(seen_from)} / ∂ {reading.full_name(at)}"
    hue = STAGE_BY_ID[at.stage].hue
    return Term(value, digits(value), name, replace(at, site=elsewhere), hue)


def explain_gradient(site: GradientSite, cell: Cell) -> Explanation:
    """The arithmetic of `cell` of a gradient, or of value × gradient, in the present language.

    Raises `KeyError` where the site lacks the stage and `IndexError` where the stage lacks the cell.
    """
    if not exists(site, cell):
        raise IndexError(f"cell is {cell}; {cell.stage} has the shape {site.shape(cell.stage)}")
    with np.errstate(all="ignore"):
        if isinstance(site, ProductSite):
            return Explanation(cell, site.called(cell.stage), tuple(_product_lines(site, cell)))
        return Explanation(cell, site.called(cell.stage), tuple(_lines(site, cell)))


def _product_lines(site: ProductSite, cell: Cell) -> Iterator[Line]:
    """value × gradient, then the gradient."""
    gradient, values = site.gradient, Reading(site.values)
    value, slope = values.number(cell), Reading(gradient).number(cell)
    terms = product(
        constant(value, values.full_name(cell), STAGE_BY_ID[cell.stage].hue),
        constant(slope, _symbol(values, cell)),
    )
    letters = words(f"{stage_symbol(cell.stage)} × ∂")
    result = value * slope if slope else 0.0
    yield Line(words(values.name(cell)), (letters, terms), Reading(site).number(cell), result)
    yield from _lines(gradient, cell)


def _symbol(reading: Reading, cell: Cell) -> str:
    return f"∂/∂ {reading.name(cell)}"


def _lines(site: GradientSite, cell: Cell) -> Iterator[Line]:
    """The sum over all uses, and the derivative of a softmax or norm in letters; or why it is 0."""
    values, stored = Reading(site.values), Reading(site).number(cell)
    name = words(_symbol(values, cell))
    seed, parts = site.seed(cell), _parts(site, cell)
    notes = tuple(map(words, _notes(site, cell, seed)))
    if seed is None and not parts:
        yield Line(name, (), stored, 0.0, notes)
        return
    letters, numbers = _sums(parts, seed, values)
    total = (seed or 0.0) + sum(part.total for part in parts)
    steps = (letters, numbers) if parts else (numbers,)
    edits = edits_at(site.values.experiment, cell)
    if edits:
        factor = math.prod(edit.slope(cell.column) for edit in edits)
        why = tuple(words(_EDITED[edit.operation]()) for edit in edits)
        yield Line(name, (), stored, total * factor, why)
        name, stored = words(_("by the number after the edit")), total
    yield Line(name, steps, stored, total, notes)


_EDITED = {
    "set": lambda: _("0: set by hand, so the number that was computed here changes nothing"),
    "add": lambda: _("a number is added by hand: the gradient passes"),
    "scale": lambda: _("multiplied by hand: the gradient passes times that factor"),
}


def _sums(parts: list[_Part], seed: float | None, own: Reading) -> tuple[Pieces, Pieces]:
    """Letters and numbers: the target's own derivative, then one sum for each stage that reads the cell."""
    letters: Pieces = ()
    numbers: Pieces = ()
    if seed is not None:
        letters, numbers = words(digits(seed)), (constant(seed, _("derivative of the target itself")),)
    for part in parts:
        between: Pieces = (Text(" + "),) if numbers else ()
        letters = (*letters, *between, Text(_letters(part)))
        numbers = (*numbers, *between, part.series(own))
    return letters, numbers


def _letters(part: _Part) -> str:
    """`Σ ∂/∂q · W_Q`."""
    stage = part.use.stage
    sign = "Σ " if part.gradients.size > 1 else ""
    by = bind(part.site.values.experiment, stage).letters_by(part.use.place)
    return f"{sign}∂/∂{stage_symbol(stage)}" + (f" · {by}" if by else "")


def _notes(site: GradientSite, cell: Cell, seed: float | None) -> Iterator[str]:
    """Why a gradient is zero, or where it begins."""
    if seed is not None:
        yield site.why_seed(cell)
    if not site.depends(cell.stage):
        yield _("0: the target does not depend on this stage")
    else:
        corners = (
            corner(Reading(site.values), cell, region.stage)
            for region in consumers(site, cell)
            if site.depends(region.stage)
        )
        yield from filter(None, corners)
    if STAGE_BY_ID[cell.stage].score_shaped and site.depends(cell.stage) and _is_blocked(site, cell):
        reasons = sequenced(
            (*why_blocked(site.experiment, cell.row, cell.column), *why_cut_in(site.experiment)(cell))
        )
        yield _("blocked: {reasons}").format(reasons=reasons)


def _is_blocked(site: GradientSite, cell: Cell) -> bool:
    hidden = site.unseen(cell.head, rows=slice(cell.row, cell.row + 1))
    return hidden is not None and bool(hidden[0, cell.column])


def _parts(site: GradientSite, cell: Cell) -> list[_Part]:
    """The uses of a cell in its own attention, then in others."""
    found = [_part(site, _use(site, region, cell)) for region in consumers(site, cell)]
    for reader, called in site.readers:
        if reader.given[called].stage == cell.stage:
            found += _parts_elsewhere(reader, called, cell)
    return [part for part in found if part.site.depends(part.use.stage)]


def _use(site: GradientSite, region: Region, cell: Cell) -> Use:
    place = inputs(region.stage, site.stages).index(cell.stage)
    heads, rows, columns = (1, *site.shape(region.stage))[-3:]
    return Use(
        region.stage,
        place,
        cell,
        tuple(range(heads)) if region.heads is None else region.heads,
        tuple(range(rows)) if region.rows is None else region.rows,
        tuple(range(columns)) if region.columns is None else region.columns,
    )


def _part(site: GradientSite, use: Use) -> _Part:
    gradients = np.stack(
        [
            cells(site.matrix(use.stage, head), *np.ix_(use.rows, use.columns)).astype(np.float64)
            for head in use.heads
        ]
    )
    return _Part(site, use, gradients.ravel(), np.asarray(derivatives(Reading(site.values), use)).ravel())


def _parts_elsewhere(reader: GradientSite, called: str, cell: Cell) -> Iterator[_Part]:
    """The same cell under its name in another attention; token vectors are read by that one's logits."""
    if called in reader.stages:
        use = Use(called, 0, cell, (0,), (cell.row,), (cell.column,))
        value = reader.window(called, 0, slice(cell.row, cell.row + 1), slice(cell.column, cell.column + 1))
        yield _Part(reader, use, np.asarray(value, dtype=np.float64).ravel(), np.ones(1))
    elif "logits" in reader.stages and reader.experiment.layer.readout != "vocabulary":
        first = vocabulary(reader.experiment)[1]
        if cell.row in first:
            rows = tuple(range(reader.experiment.n_queries))
            yield _part(reader, Use("logits", 1, cell, (0,), rows, (first.index(cell.row),)))
