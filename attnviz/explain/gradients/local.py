"""`LOCAL`: the derivatives of a stage's cells by one cell that they read, one function for each stage.

Each takes the values of the site and a `Use`, and returns one derivative for every cell of the use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnviz.core.block import ACTIVATION_BY_ID, GATED_UNIT_BY_ID
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.explain.formulas.block import transform_of
from attnviz.model.binding import bind
from attnviz.model.operands.matrices import unembedding_array, vectors_array, vocabulary
from attnviz.model.reading import Floats, Reading
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, inputs
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


Local = Callable[[Reading, Use], Floats]


def _ones(reading: Reading, use: Use) -> Floats:
    return np.ones(use.shape)


def _residual(reading: Reading, use: Use) -> Floats:
    """1 by the stream, the factor of the residual connection by what is added."""
    block = reading.experiment.block
    assert block is not None
    return np.full(use.shape, block.residual_scale if use.place else 1.0)


def _gated(reading: Reading, use: Use) -> Floats:
    """σ(g) by the mixture; y σ(g) (1 − σ(g)) by the gate, of each feature that it multiplies."""
    cell, place = use.cell, use.cell.column if use.place else min(use.cell.column, _gates(reading) - 1)
    gate = reading.row("gate", cell.head, cell.row)[place]
    share = float(NUMPY_SPECIAL.sigmoid(np.asarray(gate)))
    if use.place == 0:
        return np.full(use.shape, share)
    source = inputs("gated", reading.site.stages)[0]
    mixed = reading.row(source, cell.head, cell.row)[list(use.columns)]
    return (mixed * share * (1 - share)).reshape(use.shape)


def _gates(reading: Reading) -> int:
    """Gates of one head."""
    return reading.site.shape("gate")[-1]


def _hidden(reading: Reading, use: Use) -> Floats:
    """act′(up), or the derivatives of the gated unit by gate and by up."""
    block, cell = reading.experiment.block, use.cell
    assert block is not None and block.feed_forward is not None
    activation = block.feed_forward.activation
    read = sorted(inputs(use.stage, reading.site.stages))  # ffn_gate, ffn_up, or both routed
    *gate, up = (np.asarray(reading.number(Cell(stage, cell.row, cell.column))) for stage in read)
    if not gate:
        return np.full(use.shape, float(ACTIVATION_BY_ID[activation].derivative(np, up, NUMPY_SPECIAL)))
    both = GATED_UNIT_BY_ID[activation].derivatives(np, gate[0], up, NUMPY_SPECIAL)
    return np.full(use.shape, float(both[cell.stage == read[1]]))


def _transformed(reading: Reading, use: Use) -> Floats:
    row = ACTIVATION_BY_ID[transform_of(reading.experiment).activation]
    z = np.asarray(reading.number(use.cell))
    return np.full(use.shape, float(row.derivative(np, z, NUMPY_SPECIAL)))


def _logits(reading: Reading, use: Use) -> Floats:
    """scale (1 − tanh²) W_U of each token, or its vector; by a token's vector, the output of each query."""
    experiment, known = reading.experiment, reading.experiment.vocabulary
    if experiment.readout == "vocabulary" and known is not None:
        row = np.asarray(unembedding_array(known)[use.cell.column, list(use.columns)], dtype=np.float64)
        found = known.logit_scale * row.reshape(use.shape)
        if known.cap is None:
            return found
        logits = reading.row("logits", 0, use.cell.row)[list(use.columns)]
        return found * (1 - (logits / known.cap) ** 2).reshape(use.shape)
    if use.place == 0:
        rows = [vocabulary(experiment)[1][column] for column in use.columns]
        return vectors_array(experiment.vectors)[rows, use.cell.column].reshape(use.shape)
    output = inputs("logits", reading.site.stages)[0]
    return reading.column(output, 0, use.cell.column)[list(use.rows)].reshape(use.shape)


def derivatives(reading: Reading, use: Use) -> Floats:
    """One derivative for every cell of a use."""
    return LOCAL.get(use.stage, _by_operation)(reading, use)


def _by_operation(reading: Reading, use: Use) -> Floats:
    return bind(reading.experiment, use.stage).derivatives(use, ReadOf(reading, use.stage))


def letters(site: Site, stage: str, place: int) -> str:
    """The derivative of a stage by one of its inputs in letters; empty where it is a number alone."""
    if stage in LETTERS or STAGE_BY_ID[stage].made_by is None:
        return LETTERS.get(stage, "")
    return bind(site, stage).letters_by(place)


LOCAL: dict[str, Local] = {
    "x": _ones,
    "gated": _gated,
    "concatenated": _ones,
    "residual_1": _residual,
    "ffn_hidden": _hidden,
    "residual_2": _residual,
    "transform_hidden": _transformed,
    "logits": _logits,
}
"""The derivatives of each stage by what it reads; stages that nothing computes have none."""

LETTERS: dict[str, str] = {
    "gated": "σ(g), y σ′(g)",
    "ffn_hidden": "act′",
    "transform_hidden": "act′",
    "logits": "W_U",
}
"""The derivative of each stage in letters, where it has more than a number."""
