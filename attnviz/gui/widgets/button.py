"""A push button that Tab reaches and a click does not: the focus stays where the work is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import active_theme


class Button(QPushButton):
    """A push button of the window."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)


class PaintedButton(QAbstractButton):
    """Base of the buttons that paint themselves: Tab reaches them, and Enter presses them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


def rove(buttons: Sequence[QAbstractButton], chosen: int) -> None:
    """Give a row of buttons one Tab stop: the chosen button, else the first one that is enabled.

    A focus inside the row moves to that button.
    """
    usable = [button for button in buttons if button.isEnabled()]
    wanted = buttons[chosen] if 0 <= chosen < len(buttons) else None
    stop = wanted if wanted in usable else next(iter(usable), None)
    had_focus = any(button.hasFocus() for button in buttons)
    for button in buttons:
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus if button is stop else Qt.FocusPolicy.NoFocus)
    if had_focus and stop is not None and not stop.hasFocus():
        stop.setFocus(Qt.FocusReason.TabFocusReason)
