"""The arithmetic of positions: rows added to vectors, rotations with their frequencies, biases on scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attnviz.explain.arithmetic.scores import below
from attnviz.i18n import _
from attnviz.model.positions import bucket_table, buckets, learned_table, slopes_of
from attnviz.model.reading import Reading, stage_symbol
from attnviz.model.spec.positions import Alibi, Learned, Sinusoidal, T5Buckets
from attnviz.model.spec.view import Cell
from attnviz.operations.operation import Addend
from attnviz.operations.rotation import angle_line
from attnviz.operations.terms import Line, Pieces, Text, constant, guarded, words

Explains = Callable[[Reading, Cell], tuple[Line, ...]]

# --- added to vectors ------------------------------------------------------------------------------


def x_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The token's vector plus a sine or cosine of its position, or plus a number of the learned table."""
    return ADDED_LINES[type(reading.experiment.position)](reading, cell)


def _wave_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    position: Any = reading.experiment.position
    d_model = reading.experiment.d_embedding
    pair, is_odd = divmod(cell.column, 2)
    exponent = f"−2 × {pair} ÷ {d_model}"
    frequency = _power(position.base, -2.0 * pair / d_model)
    angle = (cell.row + position.start) * frequency
    vector = reading.term(below(reading, cell))
    wave, function = ("cos", np.cos) if is_odd else ("sin", np.sin)
    steps = (
        words(f"{stage_symbol(below(reading, cell).stage)} + {wave} θ"),
        (vector, Text(f" + {wave}("), constant(angle, "θ"), Text(")")),
    )
    result = vector.value + float(function(angle))
    numbers = (constant(position.base, _("base")), Text(f"^({exponent})"))
    return (
        Line((reading.link(cell),), steps, reading.number(cell), result),
        angle_line(cell.row, position.start, angle, frequency),
        Line(words(_("frequency")), (numbers,), frequency, frequency),
    )


def _learned_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    position: Any = reading.experiment.position
    at = cell.row + position.start
    vector = reading.term(below(reading, cell))
    number = learned_table(position, reading.experiment.d_embedding)[at, cell.column]
    name = _("row {row} of {length}, feature {feature}")
    entry = constant(number, name.format(row=at, length=position.length, feature=cell.column))
    steps = (
        words(f"{stage_symbol(below(reading, cell).stage)} + P[{at}, {cell.column}]"),
        (vector, Text(" + "), *guarded(entry)),
    )
    note = words(_("P is the learned table: one row per position, {n} in all").format(n=position.length))
    result = vector.value + entry.value
    return (Line((reading.link(cell),), steps, reading.number(cell), result, (note,)),)


ADDED_LINES: dict[type, Explains] = {Sinusoidal: _wave_lines, Learned: _learned_lines}
"""Of each position that is added to the vectors, the arithmetic of the sum."""


def _power(base: float, exponent: float) -> float:
    """base ** exponent; infinite where that is too large, as arrays have it."""
    return float(np.float64(base) ** exponent)


# --- biases ----------------------------------------------------------------------------------------


def position_addend(reading: Reading, cell: Cell) -> Addend:
    """The bias of a score's distance."""
    return BIASES[type(reading.experiment.position)](reading, cell)


def _query(reading: Reading, cell: Cell) -> int:
    """Position of the query of a score."""
    return cell.row + reading.experiment.query_offset


def _slope(reading: Reading, cell: Cell) -> Addend:
    name, query = _("slope of head {head}").format(head=cell.head + 1), _query(reading, cell)
    slope = constant(slopes_of(reading.experiment)[cell.head], name)
    pieces: Pieces = (Text(" − "), *guarded(slope), Text(f" × |{query} − {cell.column}|"))
    return _("s − slope · |i − j|"), pieces, -slope.value * abs(query - cell.column), ()


def _bucket(reading: Reading, cell: Cell) -> Addend:
    position: Any = reading.experiment.position
    query = _query(reading, cell)
    bucket = int(buckets(position, np.array([query]), np.array([cell.column]))[0, 0])
    table = bucket_table(position, reading.experiment.heads.n_heads)
    name = _("bucket {bucket} of head {head}").format(bucket=bucket, head=cell.head + 1)
    added = constant(table[bucket, cell.head], name)
    says = _("distance j − i = {distance} falls into bucket {bucket} of {n}")
    note = words(says.format(distance=cell.column - query, bucket=bucket, n=position.n_buckets))
    return f"s + b[{bucket}, {cell.head}]", (Text(" + "), *guarded(added)), added.value, (note,)


BIASES: dict[type, Callable[[Reading, Cell], Addend]] = {Alibi: _slope, T5Buckets: _bucket}
"""Of each position that is added to the scores, its term."""
