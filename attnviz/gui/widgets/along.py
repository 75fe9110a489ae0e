"""Parts of a control along one axis: mouse and arrow keys point at one, a click or Enter chooses it."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip, QWidget

from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import Control

DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down)
ACROSS = (Qt.Key.Key_Left, Qt.Key.Key_Right)
_CHOOSE = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Along(Control):
    """Base of such controls. `keys` lead to the part before and after.

    Subclasses say how many parts exist (`count`), which one lies at a point (`part_at`), and describe one in
    a few words (`spoken`) and exactly (`told`).
    """

    keys: ClassVar[tuple[Qt.Key, Qt.Key]] = DOWN

    hovered = Signal(int)
    """The part under the mouse or the keys, −1 for none."""
    clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._current = -1
        self.setMouseTracking(True)

    def count(self) -> int:
        """Number of parts."""
        raise NotImplementedError

    def part_at(self, position: QPointF) -> int:
        """The part at a point of the widget, −1 without one."""
        raise NotImplementedError

    def told(self, part: int) -> str:
        """The tooltip of a part: its number in full."""
        raise NotImplementedError

    def spoken(self, part: int) -> str:
        """A part for a screen reader."""
        return self.told(part)

    def choose(self, part: int) -> None:
        """Enter on a part; a click does the same at first."""
        self.clicked.emit(part)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.part_at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        part = self.part_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and part >= 0:
            self.clicked.emit(part)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)

    def takes_key(self, event: QKeyEvent) -> bool:
        return event.key() in self.keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in self.keys and self.count():
            step = 1 if key == self.keys[1] else -1
            self._hover(min(max(self._current + step, 0), self.count() - 1))
        elif key in _CHOOSE and self._current >= 0:
            self.choose(self._current)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self.isEnabled():
            part = self.part_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), plain_tooltip(self.told(part) if part >= 0 else ""), self)
            return True
        return super().event(event)

    def _hover(self, part: int) -> None:
        if part != self._current:
            self._current = part
            if part >= 0:
                self.setAccessibleDescription(self.spoken(part))
            self.update()
            self.hovered.emit(part)
