"""The tokens that could have stood in a place, with their probabilities, in a small frame below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from attnviz.core.text import number
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.widgets.control import active_theme

MOST = 6
"""Tokens that are listed, with the one that was chosen."""
_ROW_PX = 22
_LABEL_PX, _BAR_PX, _NUMBER_PX = 88, 96, 56


@dataclass(frozen=True)
class Alternative:
    """One token, its probability, and whether it was chosen."""

    label: str
    probability: float
    is_chosen: bool = False


class Alternatives(QWidget):
    """A frame without a title bar that takes neither mouse nor keyboard."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.ToolTip)
        self.setObjectName("decode_alternatives")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._theme = active_theme()
        self._title = ""
        self.rows: tuple[Alternative, ...] = ()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def show_at(self, place: QPoint, title: str, rows: Sequence[Alternative]) -> None:
        """Show the tokens below a place of the screen, or above it where the screen ends."""
        self._title, self.rows = title, tuple(rows)
        self.resize(self.sizeHint())
        room = self.screen().availableGeometry()
        x = min(place.x(), room.right() - self.width())
        y = place.y() if place.y() + self.height() <= room.bottom() else place.y() - self.height() - 32
        self.move(max(x, room.left()), max(y, room.top()))
        self.show()
        self.update()

    def sizeHint(self) -> QSize:
        title = self.fontMetrics().horizontalAdvance(self._title)
        width = max(title, _LABEL_PX + _BAR_PX + _NUMBER_PX) + 2 * GRID
        return QSize(width, (len(self.rows) + 1) * _ROW_PX + GRID)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.panel))
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.setPen(QColor(theme.muted))
        title = QRectF(GRID, 0, self.width() - 2 * GRID, _ROW_PX + 2)
        painter.drawText(title, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self._title)
        for place, row in enumerate(self.rows, start=1):
            self._paint_row(painter, row, place * _ROW_PX)

    def _paint_row(self, painter: QPainter, row: Alternative, top: int) -> None:
        theme = self._theme
        weight = QFont.Weight.DemiBold if row.is_chosen else QFont.Weight.Normal
        painter.setFont(ui_font(TEXT_PX + 1, weight))
        painter.setPen(QColor(theme.accent if row.is_chosen else theme.ink))
        room = _LABEL_PX - GRID
        label = painter.fontMetrics().elidedText(row.label, Qt.TextElideMode.ElideRight, room)
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(GRID, top, room, _ROW_PX), middle, label)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent if row.is_chosen else theme.value_mark))
        room = self.width() - 2 * GRID - _LABEL_PX - _NUMBER_PX
        length = max(room * min(row.probability, 1.0), 1.0)
        bar = QRectF(GRID + _LABEL_PX, top + 6, length, _ROW_PX - 12)
        painter.drawRoundedRect(bar, min(RADIUS / 3, length / 2), 2)
        painter.setFont(number_font(TEXT_PX - 1))
        painter.setPen(QColor(theme.ink))
        after = QRectF(bar.right() + 6, top, _NUMBER_PX, _ROW_PX)
        painter.drawText(after, middle, number(row.probability, 4))
