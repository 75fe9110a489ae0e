"""A handle that moves its row to another place by dragging, and the computation of that place."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.widgets.control import Control

SLACK_PX = 4
"""Distance that a press may move before it becomes a drag."""

_DOT, _APART = 2.0, 4.0


class Grip(Control):
    """Six dots. `dragged` carries the pointer, in global coordinates, once a press has become a drag.

    `dropped` ends the drag on release; `given_up` on Escape or when the grip disappears.
    """

    dragged = Signal(QPoint)
    dropped = Signal()
    given_up = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pressed: QPoint | None = None
        self._is_dragging = False
        self.setFixedWidth(10)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Escape goes to the focused widget
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(10, 18)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.isEnabled():
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.accent if self._is_dragging else self._theme.muted))
        middle = QPointF(self.width() / 2, self.height() / 2)
        for across in (-0.5, 0.5):
            for down in (-1, 0, 1):
                at = middle + QPointF(across * _APART, down * _APART)
                painter.drawEllipse(at, _DOT / 2, _DOT / 2)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.globalPosition().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        at = event.globalPosition().toPoint()
        if not self._is_dragging and (at - self._pressed).manhattanLength() <= SLACK_PX:
            return
        if not self._is_dragging:
            self._is_dragging = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.update()
        self.dragged.emit(at)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._end():
            self.dropped.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._is_dragging and event.key() == Qt.Key.Key_Escape:
            self._give_up()
        else:
            super().keyPressEvent(event)

    def takes_key(self, event: QKeyEvent) -> bool:
        return self._is_dragging and event.key() == Qt.Key.Key_Escape

    def hideEvent(self, event: QHideEvent) -> None:
        self._give_up()
        super().hideEvent(event)

    def _give_up(self) -> None:
        if self._end():
            self.given_up.emit()

    def _end(self) -> bool:
        """End a drag; return True if one was in progress."""
        was_dragging, self._is_dragging, self._pressed = self._is_dragging, False, None
        if was_dragging:
            self.setCursor(Qt.CursorShape.OpenHandCursor)
            self.update()
        return was_dragging


def gap_at(middles: Sequence[float], at: float) -> int:
    """The gap in a row that is nearest to `at`, 0 before the first; `middles` ascend."""
    return sum(middle < at for middle in middles)


def place_in(gap: int, source: int) -> int:
    """The final place of the item at `source` after a move into a gap."""
    return gap - (gap > source)
