"""A widget with room for all of its content, while it is painted into a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QGraphicsView, QWidget

from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.panel_dock import PanelDock

LARGEST = 8192
"""Largest side of a picture in pixels; larger content shows the part scrolled to."""

_ROUNDS = 4
"""Enlarging one scroll area may reveal that another one needs more room."""


@contextmanager
def shown_whole(widget: QWidget) -> Iterator[None]:
    """Hide scroll bars, the focus ring, the mark of the current panel and parts for the mouse, and enlarge
    until all content is visible.
    """
    areas = [area for area in scroll_areas(widget) if not isinstance(area, QGraphicsView)]
    bars = [(area, area.horizontalScrollBarPolicy(), area.verticalScrollBarPolicy()) for area in areas]
    places = [(area.horizontalScrollBar().value(), area.verticalScrollBar().value()) for area in areas]
    marked = [part for part in widget.findChildren(QWidget) if part.property(MOUSE_ONLY)]
    hidden = [part for part in marked if not part.isHidden()]
    size, focus = widget.size(), QApplication.focusWidget()
    is_inside = focus is not None and widget.isAncestorOf(focus)
    current = widget if isinstance(widget, PanelDock) and widget.is_current else None
    try:
        if focus is not None and is_inside:
            focus.clearFocus()
        for part in hidden:
            part.hide()
        if current is not None:
            current.set_current(False)
        for area in areas:
            area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        _lay_out(widget)
        if widget.isVisible():
            _grow(widget, areas)
        yield
    finally:
        for area, across, down in bars:
            area.setHorizontalScrollBarPolicy(across)
            area.setVerticalScrollBarPolicy(down)
        for part in hidden:
            part.show()
        if current is not None:
            current.set_current(True)
        if widget.size() != size:
            widget.resize(size)
        for area, (x, y) in zip(areas, places, strict=True):
            area.horizontalScrollBar().setValue(x)
            area.verticalScrollBar().setValue(y)
        if focus is not None and is_inside:
            focus.setFocus(Qt.FocusReason.OtherFocusReason)


def scroll_areas(widget: QWidget) -> list[QAbstractScrollArea]:
    """The visible scroll areas in `widget`."""
    return [area for area in widget.findChildren(QAbstractScrollArea) if area.isVisibleTo(widget)]


def _lay_out(widget: QWidget) -> None:
    """Share out the room of what was hidden, inside `widget` alone: the window would give it another size."""
    inside = [*reversed(widget.findChildren(QWidget)), widget]
    for _round in range(_ROUNDS):
        for part in inside:
            QApplication.sendPostedEvents(part, QEvent.Type.LayoutRequest)


def _grow(widget: QWidget, areas: list[QAbstractScrollArea]) -> None:
    """Enlarge `widget` until nothing in `areas` is scrolled, or enlarging it does not help."""
    for _round in range(_ROUNDS):
        size, lacking = widget.size(), _lacking(areas)
        for across, down in ((lacking.width(), 0), (0, lacking.height())):
            wanted = widget.size() + QSize(across, down)
            widget.resize(wanted.boundedTo(QSize(LARGEST, LARGEST).expandedTo(size)))
        if widget.size() == size or _lacking(areas) == lacking:
            return


def _lacking(areas: list[QAbstractScrollArea]) -> QSize:
    """The hidden pixels of the area that lacks most."""
    across = max((area.horizontalScrollBar().maximum() for area in areas), default=0)
    down = max((area.verticalScrollBar().maximum() for area in areas), default=0)
    return QSize(across, down)
