"""A push button that Tab reaches and a click does not: the focus stays where the work is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget


class Button(QPushButton):
    """A push button of the window."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)


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
