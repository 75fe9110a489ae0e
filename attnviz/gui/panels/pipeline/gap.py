"""The place of a stage that the experiment lacks: a line that passes through."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.look.words import says
from attnviz.i18n import N_


class Gap(QWidget):
    """Keeps the place of the masks, so that one that is switched on moves nothing."""

    def __init__(self, side: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._side, self._theme = side, LIGHT
        says(self, tip=N_("No mask"))

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._side + 8, self._side + 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(QColor(self._theme.line), 1, Qt.PenStyle.DashLine))
        level = self._side / 2 + 5
        middle = self.width() / 2
        painter.drawLine(QPointF(middle - self._side / 2, level), QPointF(middle + self._side / 2, level))
        painter.end()
