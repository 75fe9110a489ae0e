"""A picture of places: mouse and arrow keys point at one, a click or Enter chooses it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.theme import LIGHT, Theme

_STEPS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
_CHOOSE = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_BY_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class Canvas(QWidget):
    """Base of such pictures. A place is a tuple of numbers, None is no place.

    Subclasses say which place lies at a point (`place_at`) and which one an arrow key reaches (`walked`), and
    paint the ring of the focus while `_is_focus_shown`: a focus that came from the keyboard.
    """

    hovered = Signal(object)
    """The place under the pointer or the keyboard cursor, or None."""
    chosen = Signal(object)
    """A place that was clicked, or chosen by Enter."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._theme: Theme = LIGHT
        self._current: Any = None
        self._chosen: Any = None
        self._is_focus_shown = False

    @property
    def current(self) -> Any:
        """The place under the pointer or the keyboard cursor."""
        return self._current

    def place_at(self, point: QPointF) -> Any:
        """The place at a point of the widget."""
        raise NotImplementedError

    def walked(self, across: int, down: int) -> Any:
        """The place one step from the present one; the present one at an edge."""
        raise NotImplementedError

    def set_chosen(self, place: Any) -> None:
        """Mark the selected place."""
        if place != self._chosen:
            self._chosen = place
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_current(self.place_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._set_current(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and place is not None:
            self.chosen.emit(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk from place to place, Enter chooses."""
        key = Qt.Key(event.key())
        if key in _STEPS and (there := self.walked(*_STEPS[key])) is not None:
            self._set_current(there)
        elif key in _CHOOSE and self._current is not None:
            self.chosen.emit(self._current)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show a focus that came from the keyboard."""
        self._is_focus_shown = event.reason() in _BY_KEYS
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._is_focus_shown = False
        self.update()

    def _set_current(self, place: Any) -> None:
        if place != self._current:
            self._current = place
            shape = Qt.CursorShape.ArrowCursor if place is None else Qt.CursorShape.PointingHandCursor
            self.setCursor(shape)
            self.hovered.emit(place)
            self.update()
