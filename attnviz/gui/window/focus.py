"""Keyboard focus of the window: Space plays after every click, and answers a control that Tab reached.

Controls take the focus by Tab. A click on one leaves the focus where it was, and ends typing in a text.
A control or a panel that is hidden gives its focus to the map.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QMainWindow,
    QMenuBar,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)

CONTROLS = (QAbstractButton, QComboBox)
"""Widgets that Space presses or opens while they have the focus."""

TEXTS = (QLineEdit, QPlainTextEdit)
"""Widgets that Space is typed into."""


class Focus(QObject):
    """Watches the window's events, but only while a control or a text has the focus.

    `leave` moves the focus away from a text or a control, to the place where Space plays.
    """

    def __init__(self, window: QMainWindow, leave: Callable[[], object]) -> None:
        super().__init__(window)
        self._window, self._leave = window, leave
        self._application = QApplication.instance()
        assert isinstance(self._application, QApplication)
        self._application.focusChanged.connect(self._on_focus)

    @Slot(QWidget, QWidget)
    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        assert self._application is not None
        self._application.removeEventFilter(self)
        if old is not None and isinstance(new, (*CONTROLS, QTabBar)) and not old.isVisible():
            if self._holds(old) and self._holds(new):
                self._leave()  # Qt hands the focus of what it hides to the next control
                return
        if isinstance(new, (*CONTROLS, *TEXTS)) and self._holds(new):
            self._application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Space and not event.modifiers() and isinstance(watched, CONTROLS):
                event.accept()  # the control has the key before the window's shortcut
                return True
        elif kind == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            if self._ends_focus(watched):
                self._leave()
        return False

    def _ends_focus(self, pressed: QWidget) -> bool:
        """True if a press there ends typing, and no widget under it takes the focus by itself."""
        focused = self._window.focusWidget()
        if focused is None or not self._holds(pressed) or isinstance(pressed, QMenuBar):
            return False
        if pressed is focused or focused.isAncestorOf(pressed):
            return not isinstance(focused, TEXTS)
        return not any(_takes_click(widget) for widget in _upwards(pressed))

    def _holds(self, widget: QWidget) -> bool:
        return self._window.isAncestorOf(widget)


def _takes_click(widget: QWidget) -> bool:
    return widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.ClickFocus)


def _upwards(widget: QWidget) -> list[QWidget]:
    """The widget and its ancestors, as far as its window."""
    chain = [widget]
    while not chain[-1].isWindow() and (parent := chain[-1].parentWidget()) is not None:
        chain.append(parent)
    return chain
