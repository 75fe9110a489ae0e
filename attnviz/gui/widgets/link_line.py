"""A sentence that acts when it is chosen, over as many lines as it needs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring

_FLAGS = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class LinkLine(PaintedButton):
    """A button that looks like a link. Its text is plain."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._height = (-1, "", 0)
        """The last width and text that were measured, and their height: a layout often needs it."""
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_text(self, text: str) -> None:
        """Show another sentence; an empty one hides the line."""
        if text == self.accessibleName() and bool(text) != self.isHidden():
            return
        self.setText(text.replace("&", "&&"))
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.updateGeometry()

    def heightForWidth(self, width: int) -> int:
        text = self.accessibleName()
        if self._height[:2] != (width, text):
            room = QRect(0, 0, max(width - 2 * GRID, 1), 10_000)
            height = self.fontMetrics().boundingRect(room, int(_FLAGS), text).height() + GRID
            self._height = (width, text, height)
        return self._height[2]

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._height = (-1, "", 0)
        super().changeEvent(event)

    def sizeHint(self) -> QSize:
        width = min(max(self.width(), 160), self.maximumWidth())
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.heightForWidth(max(self.width(), 80)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.hover))
            painter.drawRoundedRect(QRectF(self.rect()), RADIUS - 1, RADIUS - 1)
        painter.setPen(QColor(self._theme.accent))
        painter.drawText(self.rect().adjusted(GRID, 0, -GRID, 0), int(_FLAGS), self.accessibleName())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)
