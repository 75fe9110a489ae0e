"""Corners: cells at which a stage that reads them has no derivative, and the one that is taken instead."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.core.block import CLAMP_LIMIT
from attnviz.explain.formulas.block import transform_of
from attnviz.explain.gradients.local import ReadOf
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.reading import Reading
from attnviz.model.spec.site import ffn_of
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID


def corner(reading: Reading, cell: Cell, reader: str) -> str:
    """Why the stage `reader` has no derivative by a cell, and which one is taken; empty where it has one."""
    if reader in _CORNERS:
        return _CORNERS[reader](reading, cell)
    if STAGE_BY_ID[reader].made_by is None:
        return ""
    return bind(reading.experiment, reader).corner(cell, ReadOf(reading, reader))


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


_CORNERS: dict[str, Callable[[Reading, Cell], str]] = {
    "ffn_hidden": _hidden,
    "transform_hidden": _transformed,
}
