"""The numbers around one cell, as an operation writes its arithmetic with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.explain.arithmetic.positions import position_addend
from attnviz.explain.arithmetic.scores import additive_mask_addend
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.operations.operation import Addend
from attnviz.operations.terms import Line, Pieces, Term

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
        return inputs(self.cell.stage, self.reading.site.stages)[place]

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
        return self.reading.term(Cell(self._input(place), row, column, head), value)

    def named(self, place: int, head: int, row: int, column: int) -> Term:
        """A number of input `place`, by its name."""
        return self.reading.link(Cell(self._input(place), row, column, head))

    def same(self) -> Term:
        """The number at the same place of the first input, by its name."""
        cell = self.cell
        return self.reading.link(Cell(self._input(0), cell.row, cell.column, cell.head))

    def row_of(self, place: int, head: int, row: int) -> Floats:
        """A row of input `place`."""
        return self.reading.row(self._input(place), head, row)

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
