"""Rows of numbers that fill one by one: the cache of keys or values, and the vectors of one token."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.levels import levels, normalise
from attnviz.core.ranges import runs
from attnviz.core.text import number, visible
from attnviz.gui.look.colors import indexed_image, to_indices
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.heat.hatch import draw_blocked

ROW_PX = 14
CELL_PX = 16
TITLE_PX = 16


class RowMatrix(QWidget):
    """A matrix of which `filled` rows hold numbers; the rest are empty places. One row, or all, are outlined.

    Rows that are read have a bar beside them, those that are gone are hatched, blocks of rows end in a line.
    `cell_hovered` carries (row, column), or (-1, -1); `cell_clicked` those of a number. Rows shrink so that
    all places fit the height.
    """

    cell_hovered = Signal(int, int)
    cell_clicked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self._values: NDArray[np.floating] = np.zeros((0, 0))
        self._places, self._new_row = 0, -1
        self._labels: tuple[str, ...] = ()
        self._title, self._hue = "", "value"
        self._lit_row = -1
        self._read: frozenset[int] = frozenset()
        self._gone: list[tuple[int, int]] = []
        self._block, self._outlines_all = 0, False
        self._pointed = (-1, -1)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)

    def set_rows(
        self,
        values: NDArray[np.floating],
        places: int,
        new_row: int = -1,
        labels: tuple[str, ...] = (),
    ) -> None:
        """Show `values` (filled, columns) in `places` rows; `new_row` is outlined, -1 for none."""
        if values.shape[1:] != self._values.shape[1:]:
            self.updateGeometry()
        self._values, self._places, self._new_row = values, max(places, len(values)), new_row
        self._labels = labels
        self._show_number()
        self.update()

    def set_title(self, title: str, hue: str) -> None:
        """The small text above; `hue` names the theme's colour of the outline: query, key, value or ink."""
        self._title, self._hue = title, hue
        self.setAccessibleName(title)
        self.update()

    def set_marks(
        self, read: Collection[int] = (), gone: Collection[int] = (), block: int = 0, is_new: bool = False
    ) -> None:
        """Marks of rows: `read` have a bar, `gone` are hatched, `block` rows form a group (0: all).

        With `is_new` all filled rows are outlined as one.
        """
        self._read, self._gone = frozenset(read), runs(gone)
        self._block, self._outlines_all = block, is_new
        self.update()

    def set_lit(self, row: int) -> None:
        """Outline one row because something that it belongs to is hovered; -1 for none."""
        if row != self._lit_row:
            self._lit_row = row
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        columns = self._values.shape[1] if self._values.ndim == 2 else 1
        return QSize(min(max(columns * CELL_PX, 64), 160), TITLE_PX + max(self._places, 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(64, TITLE_PX + ROW_PX)

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Rectangle of a number on the widget."""
        area = self._area()
        height = area.height() / max(self._places, 1)
        width = area.width() / max(self._values.shape[1], 1)
        return QRectF(area.left() + column * width, area.top() + row * height, width, height)

    def _area(self) -> QRectF:
        columns = max(self._values.shape[1], 1) if self._values.ndim == 2 else 1
        height = min(self.height() - TITLE_PX - 1.0, max(self._places, 1) * float(ROW_PX))
        width = min(self.width() - 1.0, columns * float(CELL_PX) * 1.4)
        return QRectF(0.5, TITLE_PX + 0.5, width, height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(ui_font(11))
        if painter.fontMetrics().horizontalAdvance(self._title) > self.width():
            painter.setFont(ui_font(10))
        painter.setPen(QColor(self._theme.muted))
        title = painter.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(QRectF(0, 0, self.width(), TITLE_PX - 3), Qt.AlignmentFlag.AlignLeft, title)
        area = self._area()
        painter.fillRect(area, QColor(self._theme.field))
        filled = len(self._values)
        if filled and self._values.shape[1]:
            ends = levels(self._values, "head", True)
            positions = normalise(self._values, "head", ends, True)
            image = indexed_image(to_indices(positions), "diverging", self._theme)
            target = QRectF(area)
            target.setHeight(area.height() * filled / self._places)
            painter.drawImage(target, image)
        self._paint_lines(painter, area)
        hue = QColor(getattr(self._theme, self._hue))
        self._paint_marks(painter, area, hue)
        for row, pen in ((self._new_row, QPen(hue, 2)), (self._lit_row, QPen(QColor(self._theme.ink), 1.5))):
            if 0 <= row < self._places:
                box = self.cell_rect(row, 0)
                box.setRight(area.right())
                painter.setPen(pen)
                painter.drawRect(box)

    def _paint_marks(self, painter: QPainter, area: QRectF, hue: QColor) -> None:
        height = area.height() / max(self._places, 1)
        for first, length in self._gone:
            top = area.top() + first * height
            draw_blocked(painter, QRectF(area.left(), top, area.width(), length * height), self._theme)
        for first, length in runs(self._read):
            bar = QRectF(area.left() - 0.5, area.top() + first * height, 3, length * height)
            painter.fillRect(bar, hue)
        if self._block:
            painter.setPen(QPen(QColor(self._theme.ink), 1))
            for row in range(self._block, self._places, self._block):
                y = area.top() + row * height
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        if self._outlines_all and len(self._values):
            painter.setPen(QPen(hue, 2))
            painter.drawRect(QRectF(area.left(), area.top(), area.width(), height * len(self._values)))

    def _paint_lines(self, painter: QPainter, area: QRectF) -> None:
        """Thin gaps between cells, where cells are large enough to have any."""
        cell = self.cell_rect(0, 0)
        painter.setPen(QPen(QColor(self._theme.panel), 1))
        if cell.height() >= 5:
            for row in range(1, self._places):
                y = area.top() + row * cell.height()
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        if cell.width() >= 5:
            for column in range(1, self._values.shape[1]):
                x = area.left() + column * cell.width()
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pointed = self._cell_at(event.position())
        self._show_number()
        self.cell_hovered.emit(*self._pointed)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row, column = self._cell_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and row >= 0:
            self.cell_clicked.emit(row, column)

    def leaveEvent(self, event: QEvent) -> None:
        self._pointed = (-1, -1)
        self._show_number()
        self.cell_hovered.emit(-1, -1)

    def _show_number(self) -> None:
        """The tooltip of the cell under the mouse: the numbers change under a mouse that rests, too."""
        row, column = self._pointed
        is_there = 0 <= row < len(self._values) and 0 <= column < self._values.shape[1]
        self.setToolTip(plain_tooltip(self._cell_text(row, column)) if is_there else "")

    def _cell_at(self, position: QPointF) -> tuple[int, int]:
        area, cell = self._area(), self.cell_rect(0, 0)
        if not area.contains(position) or not len(self._values):
            return -1, -1
        row = int((position.y() - area.top()) / cell.height())
        column = int((position.x() - area.left()) / cell.width())
        inside = row < len(self._values) and column < self._values.shape[1]
        return (row, column) if inside else (-1, -1)

    def _cell_text(self, row: int, column: int) -> str:
        label = visible(self._labels[row]) if row < len(self._labels) else str(row)
        return f"{label} · {column} = {number(float(self._values[row, column]), 6)}"
