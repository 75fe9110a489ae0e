"""`Use`: the cells of a stage that read a cell, and their derivatives by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.model.binding import bind
from attnviz.model.reading import Floats, Reading
from attnviz.model.spec.view import Cell
from attnviz.model.stages import inputs
from attnviz.operations.operation import At


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
