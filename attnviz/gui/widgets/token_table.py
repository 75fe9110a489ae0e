"""A painted table over the tokens of a text: one column for each token, rows that grow upwards.

Where it scrolls, the titles of the rows and the line of the tokens stay in view.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QMoveEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QWidget

from attnviz.core.text import visible
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.canvas import Canvas
from attnviz.gui.widgets.control import draw_focus_ring

ROW, GAP = 24, 2
"""Height of a cell with its gap, in pixels."""
NARROWEST, WIDEST = 56, 112
"""Width of a cell with its gap: what the room gives, within these."""
LABELS, TITLES = 32, 24
"""Least width of the rows' titles, height of the tokens' line."""
_PX = 11

At = tuple[int, int]
"""(row from below, token)."""


class TokenTable(Canvas):
    """Base of such tables. Its places are `At`; subclasses paint a cell."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Minimum)
        self._titles: tuple[str, ...] = ()
        self._tokens: tuple[str, ...] = ()
        self._labels = float(LABELS)

    def set_table(self, titles: tuple[str, ...], tokens: tuple[str, ...]) -> None:
        """Other rows, from below, over other tokens; neither empties the table."""
        self._titles, self._tokens = titles, tokens
        metrics = QFontMetricsF(ui_font(_PX))
        self._labels = max([LABELS, *(metrics.horizontalAdvance(title) + 14 for title in titles)])
        if self._current is not None and not self._has(self._current):
            self._current = None
        self.updateGeometry()
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def cell(self, at: At) -> QRectF:
        """The cell of a row and a token; the last row is on top."""
        row = len(self._titles) - 1 - at[0]
        return QRectF(self._labels + at[1] * self._column, TITLES + row * ROW, self._column - GAP, ROW - GAP)

    @property
    def labels_width(self) -> float:
        """Width of the rows' titles."""
        return self._labels

    @property
    def _column(self) -> float:
        """Width of a column; narrow ones scroll."""
        room = (self.width() - self._labels) / max(1, len(self._tokens))
        return min(max(room, NARROWEST), WIDEST)

    def sizeHint(self) -> QSize:
        return QSize(int(self._labels) + len(self._tokens) * NARROWEST, TITLES + len(self._titles) * ROW)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._titles:
            return
        painter = QPainter(self)
        painter.setFont(ui_font(_PX))
        metrics, corner = QFontMetricsF(painter.font()), self._corner()
        cells = QRectF(event.rect())
        cells.setTopLeft(corner + QPointF(self._labels, TITLES))
        painter.setClipRect(cells)
        for token in range(len(self._tokens)):
            column = QRectF(self._labels + token * self._column, 0, self._column, self.height())
            if column.intersects(cells):
                self._paint_column(painter, metrics, token, cells)
        painter.setPen(QColor(self._theme.muted))
        painter.setClipRect(QRectF(cells.left(), corner.y(), cells.width(), TITLES))
        for token, text in enumerate(self._tokens):
            left = self._labels + token * self._column + 4
            box = QRectF(left, corner.y(), self._column - GAP - 8, TITLES)
            if box.intersects(cells.adjusted(0, -TITLES, 0, 0)):
                elided = metrics.elidedText(visible(text), Qt.TextElideMode.ElideRight, box.width())
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, elided)
        painter.setClipRect(QRectF(corner.x(), cells.top(), self._labels, cells.height()))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for row, title in enumerate(self._titles):
            box = self.cell((row, 0))
            painter.drawText(QRectF(corner.x(), box.top(), self._labels - 8, box.height()), right, title)
        painter.setClipping(False)
        if self._is_focus_shown:
            draw_focus_ring(painter, QRectF(self.visibleRegion().boundingRect()), self._theme)
        painter.end()

    def moveEvent(self, event: QMoveEvent) -> None:
        """Scrolled: the titles stand elsewhere in the table."""
        super().moveEvent(event)
        self.update()

    def _corner(self) -> QPointF:
        """The upper left corner of what is in view, where the titles begin."""
        return QPointF(max(0, -self.x()), max(0, -self.y()))

    def _paint_column(self, painter: QPainter, metrics: QFontMetricsF, token: int, seen: QRectF) -> None:
        for row in range(len(self._titles)):
            box = self.cell((row, token))
            if box.intersects(seen):
                self._paint_cell(painter, metrics, (row, token))
                self._paint_marks(painter, (row, token), box)

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        raise NotImplementedError

    def _paint_marks(self, painter: QPainter, at: At, box: QRectF) -> None:
        """The outlines of the cell under the pointer, and of the selected one."""
        if at == self._current:
            self._outline(painter, box, self._theme.accent, 1.5)
        if at == self._chosen:
            self._outline(painter, box, self._theme.ink, 2.0)

    def _outline(self, painter: QPainter, box: QRectF, color: str, width: float) -> None:
        painter.setPen(QPen(QColor(color), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(1, 1, -1, -1))

    # --- mouse and keys

    def _has(self, at: At) -> bool:
        return 0 <= at[0] < len(self._titles) and 0 <= at[1] < len(self._tokens)

    def place_at(self, point: QPointF) -> At | None:
        cells = self._corner() + QPointF(self._labels, TITLES)
        if point.x() < cells.x() or point.y() < cells.y():
            return None
        row = len(self._titles) - 1 - int((point.y() - TITLES) // ROW)
        at = row, int((point.x() - self._labels) // self._column)
        return at if self._has(at) else None

    def walked(self, across: int, down: int) -> At | None:
        """Rows grow upwards."""
        if not self._titles:
            return None
        row, token = self._current or self._chosen or (0, 0)
        there = row - down, token + across
        return there if self._has(there) else (row, token)


class ScrolledTable(QScrollArea):
    """A table that scrolls where it has no room. A place that keys reach comes into view."""

    def __init__(self, table: TokenTable) -> None:
        super().__init__()
        self._table = table
        self._chosen: At | None = None
        self.setWidget(table)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        table.setAutoFillBackground(False)
        table.hovered.connect(self._on_hovered)
        self.horizontalScrollBar().rangeChanged.connect(self._on_range)

    def set_chosen(self, at: At | None) -> None:
        """Mark the selected place. Another token, or another row, comes into view; not the row of the first
        place, as the last row has the answer.
        """
        before, self._chosen = self._chosen, at
        self._table.set_chosen(at)
        if at is not None and at != before:
            self._reveal(at, is_whole=before is not None and before[0] != at[0])

    @Slot()
    def _on_range(self) -> None:
        """Of another size, the table begins anew: with the selected token in view."""
        if self._chosen is not None:
            self._reveal(self._chosen, is_whole=False)

    @Slot(object)
    def _on_hovered(self, at: At | None) -> None:
        if at is not None and self._table.hasFocus():
            self._reveal(at, is_whole=True)

    def _reveal(self, at: At, *, is_whole: bool) -> None:
        """Scroll until the column, or the whole cell, is beside the titles."""
        box, corner = self._table.cell(at), QPointF(-self._table.x(), -self._table.y())
        seen = QRectF(corner, QSizeF(self.viewport().size())).adjusted(self._table.labels_width, TITLES, 0, 0)
        bar = self.horizontalScrollBar()
        bar.setValue(bar.value() + _beyond(box.left(), box.right(), seen.left(), seen.right()))
        if is_whole:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + _beyond(box.top(), box.bottom(), seen.top(), seen.bottom()))


def _beyond(start: float, end: float, first: float, last: float) -> int:
    """The pixels to scroll until a span lies within another, negative towards the beginning."""
    return math.floor(min(0.0, start - first)) or math.ceil(max(0.0, end - last))
