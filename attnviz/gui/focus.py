"""Keyboard focus of the window: Space plays after every click, and answers a control that Tab reached.

Controls take the focus by Tab. A click on one leaves the focus where it was, and ends typing in a text.
A control or a panel that is hidden gives its focus to the map. Tab passes panels behind a tab and on a rail:
they are visible to Qt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDockWidget,
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


def next_stop(window: QMainWindow, docks: Collection[QDockWidget], *, is_forward: bool) -> QWidget | None:
    """The widget that Tab, or Shift+Tab, goes to; None if the window has no stop but the present one.

    Panel by panel, from left to right and from top to bottom; inside each one in Qt's order. A dock is found
    from above: the wrappers that `parentWidget` makes on the way up took widgets of panels with them.
    """
    start = window.focusWidget() or window
    chain: list[QWidget] = [window]
    while (following := chain[-1].nextInFocusChain()) not in (None, window):
        chain.append(following)
    stops, places = list[QWidget](), list[tuple[int, int]]()
    for widget in chain[1:]:
        if widget is not start and not _takes_tab(widget, window):
            continue
        dock = next((one for one in docks if one.isAncestorOf(widget)), None)
        if widget is start or dock is None or not dock.visibleRegion().isEmpty():  # else behind a tab
            stops.append(widget)
            places.append((-1, -1) if dock is None else (dock.x(), dock.y()))
    stops = [stops[at] for at in sorted(range(len(stops)), key=places.__getitem__)]
    if start is window:
        return stops[0 if is_forward else -1] if stops else None
    found = stops[(stops.index(start) + (1 if is_forward else -1)) % len(stops)]
    return None if found is start else found


def _takes_tab(widget: QWidget, window: QMainWindow) -> bool:
    """True for a widget of `window` that Tab may reach, if it is in sight or can be scrolled there."""
    has_policy = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return has_policy and widget.isVisible() and widget.isEnabled() and widget.window() is window


def _takes_click(widget: QWidget) -> bool:
    return widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.ClickFocus)


def _upwards(widget: QWidget) -> list[QWidget]:
    """The widget and its ancestors, as far as its window."""
    found = [widget]
    while not found[-1].isWindow() and (parent := found[-1].parentWidget()) is not None:
        found.append(parent)
    return found
