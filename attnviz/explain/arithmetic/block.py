"""The arithmetic of a block: residual connections, activations and gated units."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from attnviz.core.block import ACTIVATION_BY_ID, GATED_UNIT_BY_ID
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.explain.formulas.block import activation_letters, transform_of
from attnviz.i18n import _
from attnviz.model.provenance import sources
from attnviz.model.reading import Reading, stage_symbol
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import Line, Pieces, Term, Text, constant, guarded, words


def residual_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The residual stream plus the sublayer's output, times the factor."""
    past, made = (Cell(region.stage, cell.row, cell.column) for region in sources(reading.site, cell))
    first, second = reading.term(past), reading.term(made)
    block = reading.experiment.block
    assert block is not None
    factor = block.residual_scale
    sign = " + " if factor == 1.0 else f" + {factor:g} × "
    letters = words(f"{stage_symbol(past.stage)}{sign}{stage_symbol(made.stage)}")
    numbers = (first, Text(sign), *guarded(second))
    result = first.value + factor * second.value
    return (Line((reading.link(cell),), (letters, numbers), reading.number(cell), result),)


def hidden_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """act(up), or act(gate) · up; a unit that is more than a product has its own formula."""
    block = reading.experiment.block
    assert block is not None
    assert block.feed_forward is not None
    activation = block.feed_forward.activation
    terms = [reading.term(Cell(r.stage, cell.row, cell.column)) for r in sources(reading.site, cell)]
    z = np.asarray(terms[0].value)
    if block.feed_forward.gated:
        up = np.asarray(terms[1].value)
        result = GATED_UNIT_BY_ID[activation].apply(np, z, up, NUMPY_SPECIAL)
        numbers = _clamped(*terms) if activation == "clamped_swish" else _gated(activation, *terms)
    else:
        result = ACTIVATION_BY_ID[activation].apply(np, z, NUMPY_SPECIAL)
        numbers = _ACTIVATED[activation](terms[0])
    letters = words(activation_letters(block.feed_forward))
    if activation == "identity" and not block.feed_forward.gated:
        return (_identical(reading, cell, sources(reading.site, cell)[0].stage),)
    notes = _notes(activation, terms[0])
    return (Line((reading.link(cell),), (letters, numbers), reading.number(cell), float(result), notes),)


def activated_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """act(t), of the transform before a vocabulary's matrix."""
    activation = transform_of(reading.experiment).activation
    if activation == "identity":
        return (_identical(reading, cell, "transform"),)
    z, row = reading.term(Cell("transform", cell.row, cell.column)), ACTIVATION_BY_ID[activation]
    result = float(row.apply(np, np.asarray(z.value), NUMPY_SPECIAL))
    steps = (words(row.formula.replace("z", "t")), _ACTIVATED[activation](z))
    return (Line((reading.link(cell),), steps, reading.number(cell), result, _notes(activation, z)),)


def _identical(reading: Reading, cell: Cell, source: str) -> Line:
    """The line of a number that its activation leaves as it is."""
    origin = reading.link(Cell(source, cell.row, cell.column))
    note = words(_("the activation is the identity"))
    return Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,))


def _notes(activation: str, z: Term) -> tuple[Pieces, ...]:
    """The special value of an activation at minus infinity."""
    is_limit = z.value == -math.inf and activation in MULTIPLIED
    return (words(_("the limit of the activation: −∞ × 0 has no value")),) if is_limit else ()


MULTIPLIED = ("gelu", "gelu_tanh", "silu", "quick_gelu")
"""Activations that multiply z by a share of it, which is 0 at −∞."""


def _gated(activation: str, gate: Term, up: Term) -> Pieces:
    """act(gate) × up, in the order of the formula; a quotient in brackets, so that nobody has to wonder."""
    activated = _ACTIVATED[activation](gate)
    if any(isinstance(piece, Text) and "÷" in piece.text for piece in activated):
        activated = (Text("("), *activated, Text(")"))
    return (*activated, Text(" × "), *guarded(up))


def _relu(z: Term) -> Pieces:
    return (Text("max(0, "), z, Text(")"))


def _gelu(z: Term) -> Pieces:
    return (z, Text(" × (1 + erf("), z, Text(" ÷ 2^0.5)) ÷ 2"))


def _gelu_tanh(z: Term) -> Pieces:
    root = constant((2 / np.pi) ** 0.5, "√(2 ÷ π)")
    cube = (z, Text(" + 0.044715 × "), *guarded(z), Text("^3"))
    return (z, Text(" × (1 + tanh("), root, Text(" × ("), *cube, Text("))) ÷ 2"))


def _silu(z: Term) -> Pieces:
    return (z, Text(" ÷ (1 + exp(−"), *guarded(z), Text("))"))


def _sigmoid(z: Term) -> Pieces:
    return (Text("1 ÷ (1 + exp(−"), *guarded(z), Text("))"))


def _quick_gelu(z: Term) -> Pieces:
    return (z, Text(" ÷ (1 + exp(−1.702 × "), *guarded(z), Text("))"))


def _tanh(z: Term) -> Pieces:
    return (Text("tanh("), z, Text(")"))


def _relu_squared(z: Term) -> Pieces:
    return (Text("max(0, "), z, Text(")^2"))


def _identity(z: Term) -> Pieces:
    return (z,)


_ACTIVATED: dict[str, Callable[[Term], Pieces]] = {
    "relu": _relu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": _silu,
    "sigmoid": _sigmoid,
    "identity": _identity,
    "quick_gelu": _quick_gelu,
    "tanh": _tanh,
    "relu_squared": _relu_squared,
}
"""Each activation with a number in it."""


def _clamped(gate: Term, up: Term) -> Pieces:
    """(clip(up, −7, 7) + 1) × g ÷ (1 + exp(−1.702 g)), g = min(gate, 7)."""
    g: Pieces = (Text("min(7, "), gate, Text(")"))
    clipped: Pieces = (Text("(max(−7, min(7, "), up, Text(")) + 1)"))
    return (*clipped, Text(" × "), *g, Text(" ÷ (1 + exp(−1.702 × "), *g, Text("))"))
