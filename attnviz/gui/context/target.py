"""`Target`: the thing under the pointer; `FINDERS`: the widgets that know one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from attnviz.gui.panels.grid.canvas import GridCanvas
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.numbers.view import GridView
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface


@dataclass(frozen=True)
class Target:
    """A cell, a stage, a query head or a token of the document; a part that is not named is empty or −1.

    `site` is that of a head of another attention than the selected one.
    `panel` is the panel around it; where nothing else is named, the target is the panel itself.
    """

    panel: str = ""
    cell: Cell | None = None
    stage: str = ""
    head: int = -1
    token: int = -1
    site: str = ""


def target_at(surface: Surface, widget: QWidget, at: QPointF | None) -> Target:
    """The target at a point of a widget, or where the keyboard is in it; the innermost that is known."""
    target, panel = Target(), ""
    part: QWidget | None = widget
    while part is not None and not panel:
        if target == Target():
            target = found_in(surface, part, at)
            at = None if at is None else QPointF(part.mapToParent(at.toPoint()))
        panel = next((id_ for id_, one in surface.panels.items() if one is part), "")
        part = part.parentWidget()
    return replace(target, panel=panel)


def found_in(surface: Surface, widget: QWidget, at: QPointF | None) -> Target:
    """The target that one widget knows at one of its points; an empty one if it knows none."""
    finder = next((find for kind, find in FINDERS if isinstance(widget, kind)), None)
    if isinstance(widget, QAbstractScrollArea) and at is not None:
        at = QPointF(widget.viewport().mapFromParent(at.toPoint()))
    return Target() if finder is None or surface.store.trace is None else finder(surface, widget, at)


def of_cell(cell: Cell) -> Target:
    """A cell, with its stage and, if that has query heads, its head."""
    head = cell.head if STAGE_BY_ID[cell.stage].axes[0] == "head" else -1
    return Target(cell=cell, stage=cell.stage, head=head)


def _in_map(surface: Surface, widget: HeatMap, at: QPointF | None) -> Target:
    """A cell of the stage map, which shows the stage and the head of the view."""
    place = widget.current_cell if at is None else widget.cell_at(at)
    if widget.objectName() != "stage_map":
        return Target()
    site, view = surface.store.drawn_site, surface.store.document.view
    stage = site.shown_stage(view.stage)
    head = shown_head(site.experiment, view, stage)
    return Target(stage=stage) if place is None else of_cell(Cell(stage, *place, head))


def _in_thumbnail(surface: Surface, widget: Thumbnail, at: QPointF | None) -> Target:
    """A stage of the strip or the diagram, a head of the row of heads, or the output."""
    if widget.objectName() == "output_thumbnail":
        return Target(stage="attention_output")
    stage, head = widget.property("stage"), widget.property("head")
    return Target(stage=stage or "", head=-1 if head is None else head)


def _in_chips(surface: Surface, widget: TokenChips, at: QPointF | None) -> Target:
    return Target(token=widget.selected() if at is None else widget.token_at(at.toPoint()))


def _in_page(surface: Surface, widget: ExplanationPage, at: QPointF | None) -> Target:
    """The source of a number in the arithmetic; elsewhere the cell that is explained."""
    cell = None if at is None else widget.source_at(at.toPoint())
    cell = cell or surface.store.document.view.locked
    return Target() if cell is None else of_cell(cell)


def _in_grid(surface: Surface, widget: GridView, at: QPointF | None) -> Target:
    """A number of the token vectors."""
    place = widget.current_cell() if at is None else widget.cell_at(at)
    if place is None or widget.objectName() != "vectors_grid":
        return Target()
    return of_cell(Cell("tokens_embedded", *place))


def _in_heads(surface: Surface, widget: GridCanvas, at: QPointF | None) -> Target:
    """A head of the grid of all heads, which a click on it selects as well."""
    from attnviz.gui.panels.grid.grid import GridPanel

    place = widget.current if at is None else widget.place_at(at)
    panel = surface.panels.get("grid")
    tile = panel.tiles.get(place) if isinstance(panel, GridPanel) and place is not None else None
    return Target() if tile is None else Target(head=tile.head, site=tile.site)


Finder = Callable[[Any, Any, QPointF | None], Target]

FINDERS: tuple[tuple[type[QWidget], Finder], ...] = (
    (HeatMap, _in_map),
    (Thumbnail, _in_thumbnail),
    (TokenChips, _in_chips),
    (ExplanationPage, _in_page),
    (GridView, _in_grid),
    (GridCanvas, _in_heads),
)
"""A kind of widget, and the function that finds a target at one of its points, or (None) at its cursor."""
