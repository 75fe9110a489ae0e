"""The pairs of a circuit as rows: two tokens, a bar and the number; a click or Enter opens its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import named
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.control import draw_focus_ring

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

ROW_PX = 24
NUMBER_PX, ARROW_PX = 60, 24
WORDS = 0.62
"""Share of the width beside the number that the two tokens have; the bar has the rest."""


class PairRows(Along):
    """`clicked` carries a row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("circuit_rows")
        self._pairs: tuple[Pair, ...] = ()
        self._chosen = -1
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The shown pairs, the largest first."""
        return self._pairs

    def set_pairs(self, pairs: Sequence[Pair]) -> None:
        """Show other pairs; none is chosen."""
        self._pairs, self._chosen = tuple(pairs), -1
        self._current = min(self._current, len(pairs) - 1)
        self.updateGeometry()
        self.update()

    def set_chosen(self, row: int) -> None:
        """Mark the row whose arithmetic is open."""
        self._chosen = row
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, max(len(self._pairs), 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def row_rect(self, row: int) -> QRectF:
        """The whole row."""
        return QRectF(0, row * ROW_PX, self.width(), ROW_PX)

    def bar_rect(self, row: int) -> QRectF:
        """The bar of a row, relative to the largest number."""
        room = self.width() - NUMBER_PX - 3 * GRID
        left = GRID + WORDS * room
        most = max(abs(pair.value) for pair in self._pairs) or 1.0
        length = (1 - WORDS) * room * abs(self._pairs[row].value) / most
        return QRectF(left, row * ROW_PX + 7, max(length, 1.0), ROW_PX - 14)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for row in range(len(self._pairs)):
            if self.row_rect(row).intersects(QRectF(event.rect())):
                self._paint_row(painter, row)
        if self.hasFocus() and self._pairs:
            draw_focus_ring(painter, self.row_rect(max(self._current, 0)), self._theme)
        painter.end()

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, pair, box = self._theme, self._pairs[row], self.row_rect(row)
        if row in (self._current, self._chosen):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(box, RADIUS - 1, RADIUS - 1)
        if row == self._chosen:
            painter.fillRect(QRectF(0, box.top() + 4, 3, ROW_PX - 8), QColor(theme.accent))
        words = WORDS * (self.width() - NUMBER_PX - 3 * GRID) - GRID
        each = (words - ARROW_PX) / 2
        painter.setFont(ui_font(TEXT_PX))
        middle = Qt.AlignmentFlag.AlignVCenter
        for at, text, align in (
            (GRID, pair.first, Qt.AlignmentFlag.AlignRight),
            (GRID + each + ARROW_PX, pair.second, Qt.AlignmentFlag.AlignLeft),
        ):
            painter.setPen(QColor(theme.ink))
            room = QRectF(at, box.top(), each, ROW_PX)
            shown = painter.fontMetrics().elidedText(visible(text), Qt.TextElideMode.ElideRight, int(each))
            painter.drawText(room, align | middle, shown)
        painter.setPen(QColor(theme.muted))
        arrow = QRectF(GRID + each, box.top(), ARROW_PX, ROW_PX)
        painter.drawText(arrow, Qt.AlignmentFlag.AlignCenter, "→")
        bar = self.bar_rect(row)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.value_mark if pair.value >= 0 else theme.query))
        painter.drawRoundedRect(bar, 2, 2)
        painter.setFont(number_font(TEXT_PX))
        painter.setPen(QColor(theme.ink))
        room = QRectF(self.width() - NUMBER_PX - GRID, box.top(), NUMBER_PX, ROW_PX)
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | middle, number(pair.value, 3))

    # --- mouse and keys

    def count(self) -> int:
        return len(self._pairs)

    def part_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_PX)
        return row if 0 <= row < len(self._pairs) else -1

    def told(self, part: int) -> str:
        """Both tokens, and the number with all digits that matter."""
        pair = self._pairs[part]
        tokens = f"{isolated(visible(pair.first))} → {isolated(visible(pair.second))}"
        return named(tokens, number(pair.value, 6))
