"""Corners: cells at which a stage that reads them has no derivative, and the one that is taken instead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnviz.core.block import CLAMP_LIMIT
from attnviz.core.routing import SHARES_BY_ID, chosen, measured_by
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.explain.formulas.block import transform_of
from attnviz.i18n import _
from attnviz.model.reading import Reading
from attnviz.model.spec.rows import row_array
from attnviz.model.spec.site import experts_of, ffn_of
from attnviz.model.spec.view import Cell


def corner(reading: Reading, cell: Cell, reader: str) -> str:
    """Why the stage `reader` has no derivative by a cell, and which one is taken; empty where it has one."""
    rule = _CORNERS.get(reader)
    return "" if rule is None else rule(reading, cell)


def _of_relu(activation: str, z: float) -> str:
    if activation != "relu" or z != 0:
        return ""
    return _("a corner: ReLU has no derivative at 0; 0 is taken, that of the negative side")


def _hidden(reading: Reading, cell: Cell) -> str:
    ffn, z = ffn_of(reading.experiment), reading.number(cell)
    if ffn.activation == "clamped_swish":
        at = z == CLAMP_LIMIT if cell.stage.startswith("ffn_gate") else abs(z) == CLAMP_LIMIT
        return (
            _("a corner: a clamp has no derivative at its limit; that of the inside is taken") if at else ""
        )
    is_activated = cell.stage.startswith("ffn_gate" if ffn.gated else "ffn_up")
    return _of_relu(ffn.activation, z) if is_activated else ""


def _transformed(reading: Reading, cell: Cell) -> str:
    return _of_relu(transform_of(reading.experiment).activation, reading.number(cell))


def _routing(reading: Reading, cell: Cell) -> str:
    """A tie of the choice: another expert with the same share would be chosen as well."""
    experts = experts_of(reading.experiment)
    if cell.column >= experts.n:
        return ""
    kind = SHARES_BY_ID[experts.shares]
    logits = reading.row("router", 0, cell.row)[None, : experts.n]
    correction = None if experts.correction is None else row_array(experts.correction, experts.n)
    shares = np.asarray(kind.function(np, logits, NUMPY_SPECIAL))
    measured = measured_by(experts.choice, logits, shares, correction)
    is_chosen = chosen(kind, experts.choice, measured)[0]
    measured = measured[0]
    tied = measured == measured[cell.column]
    if is_chosen[tied].all() or not is_chosen[tied].any():
        return ""
    return _("a tie: experts with the same share, of which some are chosen; the choice is held as it is")


_CORNERS: dict[str, Callable[[Reading, Cell], str]] = {
    "ffn_hidden": _hidden,
    "transform_hidden": _transformed,
    "routing": _routing,
}
