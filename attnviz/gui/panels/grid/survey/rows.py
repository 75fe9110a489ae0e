"""The texts that excite a head most: one row each, its score and its beginning; a click or Enter opens it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.text import elide, isolated, number, visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.control import draw_focus_ring

ROW_PX = 24
NUMBER_PX = 56
LONGEST = 600
"""Characters of a text in its tooltip."""


class TextRows(Along):
    """`clicked` carries a row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("survey_rows")
        self._texts: tuple[tuple[str, float], ...] = ()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def texts(self) -> tuple[tuple[str, float], ...]:
        """The shown texts with their scores, the highest first."""
        return self._texts

    def set_texts(self, texts: tuple[tuple[str, float], ...]) -> None:
        """Show other texts."""
        if texts != self._texts:
            self._texts = texts
            self._current = min(self._current, len(texts) - 1)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, max(len(self._texts), 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def row_rect(self, row: int) -> QRectF:
        """The whole row."""
        return QRectF(0, row * ROW_PX, self.width(), ROW_PX)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for row in range(len(self._texts)):
            self._paint_row(painter, row)
        if self.hasFocus() and self._texts:
            draw_focus_ring(painter, self.row_rect(max(self._current, 0)), self._theme)
        painter.end()

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, (text, value), box = self._theme, self._texts[row], self.row_rect(row)
        if row == self._current:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(box, RADIUS - 1, RADIUS - 1)
        painter.setPen(QColor(theme.ink))
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(number_font(TEXT_PX))
        painter.drawText(QRectF(0, box.top(), NUMBER_PX, ROW_PX), right | middle, number(value, 3))
        painter.setFont(ui_font(TEXT_PX))
        room = box.adjusted(NUMBER_PX + GRID, 0, -GRID, 0)
        whole, mode = visible(elide(text, LONGEST)), Qt.TextElideMode.ElideRight
        shown = painter.fontMetrics().elidedText(whole, mode, int(room.width()))
        painter.drawText(room, left | middle, shown)

    # --- mouse and keys

    def count(self) -> int:
        return len(self._texts)

    def part_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_PX)
        return row if 0 <= row < len(self._texts) else -1

    def told(self, part: int) -> str:
        """The score with all digits that matter, and the text."""
        text, value = self._texts[part]
        return f"{number(value, 6)} · {isolated(visible(elide(text, LONGEST)))}"
