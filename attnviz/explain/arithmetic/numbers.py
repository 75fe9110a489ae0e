"""The numbers around one cell, as an operation writes its arithmetic with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnviz.explain.arithmetic.positions import position_addend, x_lines
from attnviz.explain.arithmetic.scores import additive_mask_addend
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.operations.operation import Addend
from attnviz.operations.terms import Line, Pieces, Term, digits

ADDENDS: dict[str, Callable[[Reading, Cell], Addend]] = {
    "position": position_addend,
    "additive_mask": additive_mask_addend,
}
"""The term that is added to a score, by the operands of its stage."""


@dataclass(frozen=True)
class CellNumbers:
    """The numbers of one cell and of those at the same place that it reads."""

    reading: Reading
    cell: Cell

    def _input(self, place: int) -> str:
        """An input; of one that the trace lacks, its first possible stage, which lies in another site."""
        stage = self.cell.stage
        found = inputs(stage, self.reading.site.stages)
        return found[place] if place < len(found) else STAGE_BY_ID[stage].reads[place][0]

    def term(self, place: int = 0) -> Term:
        """The number at the same place of input `place`."""
        cell = self.cell
        return self.reading.term(Cell(self._input(place), cell.row, cell.column, cell.head))

    def term_of(self, head: int) -> Term:
        """The number of another head at the same place of the first input."""
        cell = self.cell
        return self.reading.term(Cell(self._input(0), cell.row, cell.column, head))

    def number_of(self, place: int, head: int, row: int, column: int, value: float) -> Term:
        """A number of input `place`, which has been read."""
        stage = self._input(place)
        at = Cell(stage, row, column, head)
        if stage in self.reading.site.stages:
            return self.reading.term(at, value)
        there = self.reading.elsewhere(stage, at, float(value))
        return Term(there.value, digits(there.value), there.name, there.source)

    def named(self, place: int, head: int, row: int, column: int) -> Term:
        """A number of input `place`, by its name."""
        return self.reading.link(Cell(self._input(place), row, column, head))

    def same(self) -> Term:
        """The number at the same place of the first input, by its name."""
        cell = self.cell
        return self.reading.link(Cell(self._input(0), cell.row, cell.column, cell.head))

    def row_of(self, place: int, head: int, row: int) -> Floats:
        """A row of input `place`; of a token's vector, as the first site of the stack has it."""
        stage, site = self._input(place), self.reading.site
        if stage in site.stages:
            return self.reading.row(stage, head, row)
        precision = site.window(self.cell.stage, 0, slice(1), slice(1)).dtype
        return vectors_array(site.experiment.vectors)[row].astype(precision).astype(np.float64)

    def column_of(self, place: int, head: int, column: int) -> Floats:
        """A column of input `place`."""
        return self.reading.column(self._input(place), head, column)

    def own_row(self, head: int, row: int) -> Floats:
        """A row of the stage itself."""
        return self.reading.row(self.cell.stage, head, row)

    def row(self) -> Floats:
        """The row of the cell in the first input."""
        return self.reading.row(self._input(0), 0, self.cell.row)

    def term_at(self, column: int, value: float) -> Term:
        """A number of that row, which has been read."""
        return self.reading.term(Cell(self._input(0), self.cell.row, column), value)

    def link(self, place: int, column: int) -> Term:
        """A number of that row of an input, by its name."""
        return self.reading.link(Cell(self._input(place), self.cell.row, column))

    def symbol(self, place: int = 0) -> str:
        """The name of input `place` in formulas."""
        return stage_symbol(self._input(place))

    def letter(self, place: int = 0) -> str:
        """The letter of input `place` in the formula of the stage."""
        return STAGE_BY_ID[self.cell.stage].symbols[place]

    def line(self, steps: tuple[Pieces, ...], result: float, *notes: Pieces) -> Line:
        """The line of the cell; `result` is what its terms give in float64."""
        reading, cell = self.reading, self.cell
        return Line((reading.link(cell),), steps, reading.number(cell), result, notes)

    def addend(self) -> Addend:
        """The term that is added to a score: the sum in letters, the term with its sign, its value, notes."""
        return ADDENDS[STAGE_BY_ID[self.cell.stage].operands](self.reading, self.cell)

    def placed(self) -> tuple[Line, ...]:
        """The lines of a token's vector to which a row of its position is added."""
        return x_lines(self.reading, self.cell)

    def elsewhere(self) -> Term | None:
        """The number in another site of which this one is the copy; None for one of this site."""
        reading, cell = self.reading, self.cell
        if cell.stage not in reading.site.given:
            return None
        return reading.elsewhere(cell.stage, cell, reading.number(cell))
