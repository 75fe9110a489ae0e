"""The arithmetic of linear maps: Σ x · W + b, of the projections and of the feed-forward layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.explain.formulas.block import transform_of
from attnviz.i18n import _
from attnviz.model.operands.matrices import (
    embedding_projection_array,
    feed_forward_array,
    gate_array,
    is_identity,
    projection_array,
    transform_array,
    transform_shape,
)
from attnviz.model.provenance import sources
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.block import FeedForwardRole
from attnviz.model.spec.parts import Identity, Role
from attnviz.model.spec.rows import Row, row_array
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import (
    Hue,
    Line,
    Pieces,
    Series,
    Text,
    constant,
    guarded,
    product,
    words,
)

PROJECTIONS: dict[str, tuple[Role, str, Hue]] = {
    "q": ("query", "W_Q", "query"),
    "k": ("key", "W_K", "key"),
    "v": ("value", "W_V", "value"),
    "attention_output": ("output", "W_O", ""),
}

FEED_FORWARD: dict[str, FeedForwardRole] = {
    "router": "router",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_output": "down",
}


@dataclass(frozen=True, eq=False)
class Map:
    """Column number `column` of W and its bias. `weights` (in,) None: the input is passed on unchanged."""

    name: str
    column: int
    weights: Floats | None
    bias: float | None
    hue: Hue = ""

    @property
    def bias_name(self) -> str:
        return self.name.replace("W", "b", 1)


def projection_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A query, key, value or output: Σ x · W + b over the features of the input."""
    experiment = reading.experiment
    role, name, hue = PROJECTIONS[cell.stage]
    width = experiment.d_qk if role == "query" else experiment.heads.d_head
    column = cell.column if role == "output" else cell.head * width + cell.column
    is_passed_on = is_identity(experiment, role)
    weights = None if is_passed_on else in_float64(projection_array(experiment, role)[:, column])
    bias = _number(
        getattr(experiment.projections, f"{role}_bias"), experiment.projection_shape(role)[1], column
    )
    return (linear_line(reading, cell, Map(name, column, weights, bias, hue)),)


def feed_forward_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number on the way into or out of the hidden features: Σ x · W + b."""
    experiment = reading.experiment
    assert experiment.block is not None
    ffn, role = experiment.block.feed_forward, FEED_FORWARD[cell.stage]
    assert ffn is not None
    rows, columns = ffn.shape(role, experiment.d_model)
    is_passed_on = rows == columns and isinstance(getattr(ffn, role), Identity)
    weights = (
        None
        if is_passed_on
        else in_float64(feed_forward_array(ffn, role, experiment.d_model)[:, cell.column])
    )
    bias = _number(getattr(ffn, f"{role}_bias"), columns, cell.column)
    return (linear_line(reading, cell, Map(f"W_{role}", cell.column, weights, bias)),)


def gate_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A gate of a head's output, before its sigmoid: Σ x · W_G + b_G."""
    site = reading.experiment
    assert site.gate is not None
    rows, columns = site.gate.shape(site.d_model, site.heads)
    column = cell.head * site.gate.width(site.heads) + cell.column
    is_passed_on = rows == columns and site.gate.weights.is_identity
    weights = None if is_passed_on else in_float64(gate_array(site)[:, column])
    return (
        linear_line(reading, cell, Map("W_G", column, weights, _number(site.gate.bias, columns, column))),
    )


def transform_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of the transform before the vocabulary's matrix: Σ o · W_T + b_T."""
    transform, (rows, columns) = transform_of(reading.experiment), transform_shape(reading.experiment)
    is_passed_on = rows == columns and isinstance(transform.weights, Identity)
    weights = None if is_passed_on else in_float64(transform_array(reading.experiment)[:, cell.column])
    bias = _number(transform.bias, columns, cell.column)
    return (linear_line(reading, cell, Map("W_T", cell.column, weights, bias)),)


def widened_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of the token vectors' projection to the features of the layers: Σ x · W_X + b_X."""
    site = reading.experiment
    assert site.embedding_projection is not None
    is_passed_on = site.d_embedding == site.d_model and site.embedding_projection.weights.is_identity
    weights = None if is_passed_on else in_float64(embedding_projection_array(site)[:, cell.column])
    bias = _number(site.embedding_projection.bias, site.d_model, cell.column)
    return (linear_line(reading, cell, Map("W_X", cell.column, weights, bias)),)


def linear_line(reading: Reading, cell: Cell, linear: Map) -> Line:
    """The line of one number of a linear map; without weights, its input and its bias."""
    (source,) = sources(reading.site, cell)
    added: Pieces = ()
    letters: Pieces = ()
    if linear.bias is not None:
        letters = (Text(" + "), Text(linear.bias_name, linear.hue))
        name = f"{linear.bias_name}[{linear.column}]"
        added = (Text(" + "), *guarded(constant(linear.bias, name, linear.hue)))
    if linear.weights is None:
        return _passed_on(reading, cell, Cell(source.stage, cell.row, linear.column), linear, letters + added)
    weights = linear.weights
    x = reading.row(source.stage, 0, cell.row)

    def item(index: int) -> Pieces:
        return product(
            reading.term(Cell(source.stage, cell.row, index), x[index]),
            constant(weights[index], f"{linear.name}[{index}, {linear.column}]", linear.hue),
        )

    symbols = (Text(f"Σ {stage_symbol(source.stage)} · "), Text(linear.name, linear.hue), *letters)
    steps = (symbols, (Series(len(x), item), *added))
    result = float(np.sum(x * weights)) + (linear.bias or 0.0)
    return Line((reading.link(cell),), steps, reading.number(cell), result)


def _passed_on(reading: Reading, cell: Cell, origin: Cell, linear: Map, extra: Pieces) -> Line:
    """The input's own number, plus the bias, if any."""
    note = words(_("{matrix} is the identity").format(matrix=linear.name))
    link = reading.link(origin)
    if linear.bias is None:
        return Line((reading.link(cell),), ((link,),), reading.number(cell), link.value, (note,))
    letters, added = extra[:2], extra[2:]
    steps = ((Text(stage_symbol(origin.stage)), *letters), (reading.term(origin, link.value), *added))
    return Line((reading.link(cell),), steps, reading.number(cell), link.value + linear.bias, (note,))


def _number(row: Row | None, length: int, index: int) -> float | None:
    return None if row is None else float(row_array(row, length)[index])
