"""A small arrow between two stages, with the operation above it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.heat.kept_picture import KeptPicture

NARROWEST = 18


class Step(QWidget):
    """Takes its share of the room that the strip has left."""

    def __init__(self, side: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._text, self._side, self._theme = "", side, LIGHT
        self._font = ui_font(9)
        self._kept = KeptPicture()
        self.setFont(self._font)

    @property
    def text(self) -> str:
        """The operation's label."""
        return self._text

    def set_text(self, text: str) -> None:
        """Write another label."""
        if text != self._text:
            self._text = text
            self.updateGeometry()
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(max(NARROWEST, self.fontMetrics().horizontalAdvance(self._text) + 2), self._side + 8)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._kept.draw(painter, self.size(), (self._text, self._theme), self._paint)
        painter.end()

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.muted))
        painter.setFont(self._font)
        middle = self._side / 2 + 2
        text_rect = self.rect()
        text_rect.setBottom(int(middle - 2))
        painter.drawText(text_rect, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, self._text)
        left, right = self.width() / 2 - 7, self.width() / 2 + 7
        painter.drawLine(QPointF(left, middle + 3), QPointF(right, middle + 3))
        painter.drawLine(QPointF(right - 3, middle), QPointF(right, middle + 3))
        painter.drawLine(QPointF(right - 3, middle + 6), QPointF(right, middle + 3))
