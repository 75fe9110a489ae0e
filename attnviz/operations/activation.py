"""`Activated`: the activation of a number, or a gated unit of two."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnviz.core.block import ACTIVATION_BY_ID, CLAMP_LIMIT, GATED_UNIT_BY_ID
from attnviz.core.dims import Array
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.i18n import _
from attnviz.operations.operation import At, Floats, Forward, Numbers, Pointwise, Pulled, Reads, Use, Writer
from attnviz.operations.terms import Line, Pieces, Term, Text, constant, guarded, words


@dataclass(frozen=True)
class Activated(Pointwise):
    """act(z); or, `gated`, a unit of gate and up, mostly act(gate) · up.

    `kind` is the id of a row of `ACTIVATIONS`, or of `GATED_UNITS`; `written` is its formula with the letters
    of the inputs, `name` its name, a message.
    """

    kind: str
    gated: bool
    written: str
    name: str

    letters = "act′"
    goes_on = False

    @property
    def title(self) -> str:
        return _(self.name)

    def formula(self, own: str, *inputs: str) -> str:
        return f"{own} = {self.written}"

    def result(self, forward: Forward) -> Array:
        xp, special = forward.arrays.xp, forward.arrays.special
        if self.gated:
            return GATED_UNIT_BY_ID[self.kind].apply(xp, forward.input(0), forward.input(1), special)
        return ACTIVATION_BY_ID[self.kind].apply(xp, forward.input(), special)

    def pull(self, g: Array, pulled: Pulled) -> None:
        xp, special = pulled.arrays.xp, pulled.arrays.special
        if not self.gated:
            pulled.add(g * ACTIVATION_BY_ID[self.kind].derivative(xp, pulled.input(), special))
            return
        both = GATED_UNIT_BY_ID[self.kind].derivatives(xp, pulled.input(0), pulled.input(1), special)
        for place, slope in enumerate(both):
            pulled.add(g * slope, place)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return math.prod(shape) * (2 if self.gated else 1)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """act′(z), or the derivative of the gated unit by gate or by up."""
        at = use.cell
        z, *up = (np.asarray(reads.row(place, at.head, at.row)[at.column]) for place in range(1 + self.gated))
        if not self.gated:
            slope = ACTIVATION_BY_ID[self.kind].derivative(np, z, NUMPY_SPECIAL)
        else:
            slope = GATED_UNIT_BY_ID[self.kind].derivatives(np, z, up[0], NUMPY_SPECIAL)[use.place]
        return np.full(use.shape, float(slope))

    def corner(self, place: int, cell: At, reads: Reads) -> str:
        value = reads.row(place, cell.head, cell.row)[cell.column]
        if self.kind == "clamped_swish":
            at = value == CLAMP_LIMIT if place == 0 else abs(value) == CLAMP_LIMIT
            says = _("a corner: a clamp has no derivative at its limit; that of the inside is taken")
        else:
            at = self.kind == "relu" and place == 0 and value == 0
            says = _("a corner: ReLU has no derivative at 0; 0 is taken, that of the negative side")
        return says if at else ""

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """act(up), or act(gate) · up; a unit that is more than a product has its own formula."""
        z = numbers.term()
        if self.gated:
            up = numbers.term(1)
            unit = GATED_UNIT_BY_ID[self.kind]
            result = unit.apply(np, np.asarray(z.value), np.asarray(up.value), NUMPY_SPECIAL)
            pieces = _clamped(z, up) if self.kind == "clamped_swish" else _gated(self.kind, z, up)
        elif self.kind == "identity":
            origin = numbers.same()
            return (numbers.line(((origin,),), origin.value, words(_("the activation is the identity"))),)
        else:
            result = ACTIVATION_BY_ID[self.kind].apply(np, np.asarray(z.value), NUMPY_SPECIAL)
            pieces = _ACTIVATED[self.kind](z)
        is_limit = z.value == -math.inf and self.kind in MULTIPLIED
        notes = (words(_("the limit of the activation: −∞ × 0 has no value")),) if is_limit else ()
        return (numbers.line((words(self.written), pieces), float(result), *notes),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        made = writer.gated if self.gated else writer.activated
        return (f"{writer.stage} = {made(self.kind, *writer.reads)}",)


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
