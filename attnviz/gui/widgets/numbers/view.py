"""A read-only table of numbers: layout, scrolling, colours, marks, hovering and the selected cells."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from attnviz.core.phrases import named
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import Availability, active_theme
from attnviz.gui.widgets.numbers.painting import (
    CELL_HEIGHT,
    NARROWEST_CELL,
    WIDEST_CELL,
    Cell,
    GridGeometry,
    GridScene,
    label_width,
    paint_grid,
)
from attnviz.gui.widgets.numbers.text import full_precision
from attnviz.i18n import _

_SHOWN_ROWS = 10
_FEW_CELLS = 16
_MOST_COMPARED = 2**20
"""Numbers of a table up to which those that have changed are found; else all in sight are repainted."""
_PAGED_CELL = 40
"""Least width of a cell where whole columns are shown page by page."""


class GridView(Availability, QAbstractScrollArea):
    """Numbers in coloured cells, (rows, columns), with row and column labels.

    `cell_hovered` carries (-1, -1) when the pointer leaves; `current_changed` the cell that keys act on.
    """

    cell_hovered = Signal(int, int)
    current_changed = Signal(int, int)
    columns_shown = Signal(int, int, int)
    """(first column, columns in sight, all columns), after scrolling or another layout."""

    def __init__(self, name: str = "", *, decimals: int = 2, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self._scene = GridScene(np.zeros((0, 0)), (), (), 1.0, decimals=decimals)
        self._anchor: Cell | None = None
        self._holds_limit = False
        self._largest = 0.0
        self._label_width = self._header_height = 0
        self._is_paged = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName(name)

    def set_paged(self) -> None:
        """Show whole columns only, page by page, without a scroll bar below."""
        self._is_paged = True
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._lay_out()

    def turn_page(self, pages: int) -> None:
        """Scroll by whole pages of columns: 1 to the right, −1 to the left."""
        first, shown, _columns = self.columns_in_sight()
        self.horizontalScrollBar().setValue((first + pages * shown) * self._geometry().cell_width)

    def columns_in_sight(self) -> tuple[int, int, int]:
        """(first column, number of columns) that are in sight as a whole, and the number of all."""
        geometry = self._geometry()
        first = -(-geometry.offset_x // geometry.cell_width)
        room = (self.viewport().width() - geometry.label_width) // geometry.cell_width
        return first, max(min(room, geometry.columns - first), 0), geometry.columns

    def values(self) -> NDArray[np.float64]:
        """The shown numbers (rows, columns), a copy."""
        rows, columns = self._scene.values.shape
        return self._scene.block(range(rows), range(columns))

    def set_values(
        self,
        values: ArrayLike,
        row_labels: Sequence[str] | None = None,
        column_labels: Sequence[str] | None = None,
    ) -> None:
        """Show `values` (rows, columns) without emitting; labels left out stay as they are.

        An array that cannot change is held, and not copied: a vocabulary's matrix has millions of numbers.
        """
        scene, array = self._scene, values if _cannot_change(values) else np.array(values, float, ndmin=2)
        labels = (
            scene.row_labels if row_labels is None else tuple(row_labels),
            scene.column_labels if column_labels is None else tuple(column_labels),
        )
        had_labels, old, old_limit = (scene.row_labels, scene.column_labels), scene.values, scene.limit
        entered, scene.entered = scene.entered, {}
        scene.values = array
        is_new_layout = labels != had_labels or array.shape != old.shape
        if is_new_layout:
            scene.row_labels, scene.column_labels = labels
            self._layout_changed()
        self._set_limit()
        if is_new_layout or scene.limit != old_limit or array.size > _MOST_COMPARED:
            self.viewport().update()
        else:
            changed = np.flatnonzero(old != array)  # of a large table many times as fast as `argwhere`
            self._update_cells([*zip(*np.divmod(changed, array.shape[1]), strict=True), *entered])

    def set_highlight(
        self, rows: Collection[int] = (), columns: Collection[int] = (), cells: Collection[Cell] = ()
    ) -> None:
        """Outline whole rows, whole columns and single cells; nothing given clears them."""
        scene = self._scene
        shape = scene.values.shape
        marks = (
            frozenset(row for row in rows if 0 <= row < shape[0]),
            frozenset(column for column in columns if 0 <= column < shape[1]),
            frozenset((r, c) for r, c in cells if 0 <= r < shape[0] and 0 <= c < shape[1]),
        )
        if marks != (scene.rows, scene.columns, scene.cells):
            scene.rows, scene.columns, scene.cells = marks
            self.viewport().update()

    def current_cell(self) -> Cell | None:
        return self._scene.current

    def set_current_cell(self, row: int, column: int, extend: bool = False) -> None:
        """Make a cell the current one and scroll to it; `extend` keeps the anchor of the selection."""
        rows, columns = self._scene.values.shape
        if not (rows and columns):
            return
        cell = (min(max(row, 0), rows - 1), min(max(column, 0), columns - 1))
        self._anchor = self._anchor if extend and self._anchor is not None else cell
        is_new = cell != self._scene.current
        self._scene.current = cell
        self._select(self._anchor, cell)
        self._scroll_to(cell)
        self.viewport().update()
        value = full_precision(self._scene.at(cell))
        place = _("Row {row}, column {column}").format(row=cell[0] + 1, column=cell[1] + 1)
        self.setAccessibleDescription(named(place, value))
        if is_new:
            self.current_changed.emit(*cell)

    def cell_rect(self, row: int, column: int) -> QRect:
        """Rectangle of a cell on the viewport."""
        return self._geometry().cell_rect(row, column)

    def apply_theme(self, theme: Theme) -> None:
        """Paint with `theme` from now on."""
        self._theme = theme
        self.viewport().update()

    # Layout

    def sizeHint(self) -> QSize:
        geometry = self._geometry()
        rows = min(max(geometry.rows, 1), _SHOWN_ROWS)
        width = geometry.label_width + min(geometry.columns, 6) * NARROWEST_CELL
        return QSize(width, geometry.header_height + rows * CELL_HEIGHT + 2)

    def minimumSizeHint(self) -> QSize:
        geometry = self._geometry()
        rows = min(max(geometry.rows, 1), 4)
        return QSize(
            geometry.label_width + NARROWEST_CELL * 2, geometry.header_height + rows * CELL_HEIGHT + 2
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()
        self.columns_shown.emit(*self.columns_in_sight())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()

    def _layout_changed(self) -> None:
        """The shape or the labels are new: measure, keep the current cell inside, scroll bars too."""
        self._measure()
        self._keep_inside()
        self._lay_out()
        self.updateGeometry()

    def _measure(self) -> None:
        metrics = self.fontMetrics()
        self._label_width = label_width(self._scene.row_labels, metrics.horizontalAdvance)
        self._header_height = metrics.height() + 4 if self._scene.column_labels else 0

    def _geometry(self) -> GridGeometry:
        rows, columns = self._scene.values.shape
        across = self.viewport().width() - self._label_width
        least = _PAGED_CELL if self._is_paged else NARROWEST_CELL
        fitting = min(columns, across // least) if self._is_paged else columns
        width = min(max(across // max(fitting, 1), least), WIDEST_CELL)
        x, y = self.horizontalScrollBar().value(), self.verticalScrollBar().value()
        return GridGeometry(rows, columns, self._label_width, self._header_height, width, x, y)

    def _lay_out(self) -> None:
        geometry, size = self._geometry(), self.viewport().size()
        across, down = size.width() - geometry.label_width, size.height() - geometry.header_height
        for bar, count, step, room in (
            (self.horizontalScrollBar(), geometry.columns, geometry.cell_width, across),
            (self.verticalScrollBar(), geometry.rows, CELL_HEIGHT, down),
        ):
            bar.setRange(0, max(count * step - room, 0))
            bar.setPageStep(max(room, 1))
            bar.setSingleStep(step)
        if self._is_paged:
            shown = max(across // geometry.cell_width, 1)
            bar, step = self.horizontalScrollBar(), geometry.cell_width
            bar.setRange(0, max(geometry.columns - shown, 0) * step)
            bar.setValue(round(bar.value() / step) * step)
        self.columns_shown.emit(*self.columns_in_sight())

    def _scroll_to(self, cell: Cell) -> None:
        geometry, size = self._geometry(), self.viewport().size()
        rect = geometry.cell_rect(*cell)
        for bar, low, high, start, end in (
            (self.horizontalScrollBar(), rect.left(), rect.right(), geometry.label_width, size.width()),
            (self.verticalScrollBar(), rect.top(), rect.bottom(), geometry.header_height, size.height()),
        ):
            overshoot = min(low - start, 0) or max(high + 1 - end, 0)
            bar.setValue(bar.value() + overshoot)

    def cell_at(self, point: QPointF) -> Cell | None:
        """The (row, column) at a position of the viewport; None over labels and beyond the table."""
        return self._geometry().cell_at(point)

    def _keep_inside(self) -> None:
        rows, columns = self._scene.values.shape
        scene = self._scene
        if scene.current is not None and (scene.current[0] >= rows or scene.current[1] >= columns):
            scene.current = scene.selection = self._anchor = None
        elif scene.current is not None:
            self._anchor = scene.current
            self._select(scene.current, scene.current)
        scene.hovered = None
        self.set_highlight()

    def _set_limit(self) -> None:
        """Compute the colour limit anew."""
        self._largest = self._scene.largest()
        self._apply_limit()

    def _limit_by(self, old: float, new: float) -> None:
        """Renew the colour limit after one number has become another: the others are seldom asked."""
        old, new = abs(old), abs(new)
        if math.isfinite(new) and new >= self._largest:
            self._largest = new
        elif old == self._largest:
            self._largest = self._scene.largest()
        self._apply_limit()

    def _apply_limit(self) -> None:
        """While the limit is held (in a drag) it only grows, so that nothing flickers."""
        scene, largest = self._scene, self._largest
        scene.limit = max(largest, scene.limit) if self._holds_limit else largest or 1.0

    def _update_cells(self, cells: Sequence[Cell]) -> None:
        """Repaint these cells, or everything where that is less to do."""
        if len(cells) > _FEW_CELLS:
            self.viewport().update()
            return
        geometry = self._geometry()
        for row, column in cells:
            self.viewport().update(geometry.cell_rect(int(row), int(column)))

    def _select(self, first: Cell, last: Cell) -> None:
        rows, columns = sorted((first[0], last[0])), sorted((first[1], last[1]))
        self._scene.selection = (range(rows[0], rows[1] + 1), range(columns[0], columns[1] + 1))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        focus = QApplication.focusWidget()
        self._scene.has_focus = focus is not None and (focus is self or self.isAncestorOf(focus))
        paint_grid(painter, self._geometry(), self._scene, self._theme, event.rect(), self.viewport().rect())

    def focusInEvent(self, event: QFocusEvent) -> None:
        if self._scene.current is None:
            self.set_current_cell(0, 0)
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _hover(self, cell: Cell | None) -> None:
        if cell != self._scene.hovered:
            self._scene.hovered = cell
            self.viewport().update()
            self.cell_hovered.emit(*(cell or (-1, -1)))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    def _select_all(self) -> None:
        rows, columns = self._scene.values.shape
        if rows and columns:
            self._anchor = (0, 0)
            self._scene.current = (rows - 1, columns - 1)
            self._select(self._anchor, self._scene.current)
            self.viewport().update()

    def _deselect(self) -> None:
        """No current cell, so that Ctrl+C takes the whole table."""
        self._scene.current = self._scene.selection = self._anchor = None
        self.viewport().update()


def _cannot_change(values: ArrayLike) -> TypeGuard[NDArray[np.floating]]:
    """True if nobody writes to these numbers, (rows, columns): those of a document."""
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind != "f":
        return False
    base = values.base
    owner = values if base is None else base
    return isinstance(owner, np.ndarray) and owner.base is None and not owner.flags.writeable
