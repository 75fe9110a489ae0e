"""The current panel: the one clicked last, by its tab, its title or its body, or chosen by its name."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QMouseEvent, QWindow
from PySide6.QtWidgets import QTabBar, QWidget

from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.switcher import Workspaces

FIRST = "stage"
"""The current panel before a click, where it is in sight."""


class Current(QObject):
    """Knows the panel that commands without a pointer mean, and marks its frame.

    One that goes out of sight, behind a tab or with its workspace, is replaced by the main panel in sight.
    """

    def __init__(self, window: QWidget, docks: Mapping[str, PanelDock], workspaces: Workspaces) -> None:
        super().__init__(window)
        self._window, self._docks, self._workspaces = window, docks, workspaces
        self._chosen = FIRST
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._mark)
        window.installEventFilter(self)
        workspaces.chosen.connect(self.choose)
        for dock in docks.values():
            dock.activated.connect(self.choose)
            dock.visibilityChanged.connect(self._on_visible)

    @property
    def id(self) -> str:
        """Id of the current panel."""
        docks, workspaces = self._docks, self._workspaces
        wished = (self._chosen, workspaces.enlarged, FIRST)
        seen = (docks[id_] for id_ in wished if id_ and docks[id_].is_in_sight)
        return next(seen, docks[workspaces.main]).front

    @Slot(str)
    def choose(self, panel: str) -> None:
        """Make a panel the current one."""
        self._chosen = panel
        self._later.start()

    def choose_around(self, widget: QWidget | None) -> None:
        """Make the panel that has a widget the current one; elsewhere nothing changes."""
        while widget is not None and not isinstance(widget, PanelDock):
            widget = widget.parentWidget()
        if widget is not None:
            self.choose(widget.front)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and watched is self._window:
            self._watch()
        elif event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWindow):
            assert isinstance(event, QMouseEvent)
            self._press(event.position().toPoint())
        return False

    def _watch(self) -> None:
        """Hear every press in the window before a widget takes it: the events of its handle are few.

        PySide makes what `windowHandle` returns a child of the window, and deletes it twice at the end.
        """
        name = f"{self._window.objectName()}Window"
        for handle in QGuiApplication.topLevelWindows():
            if handle.objectName() == name:
                handle.installEventFilter(self)

    def _press(self, at: QPoint) -> None:
        pressed = self._window.childAt(at)
        if isinstance(pressed, QTabBar):
            title = pressed.tabText(pressed.tabAt(pressed.mapFrom(self._window, at)))
            named = (id_ for id_, dock in self._docks.items() if dock.windowTitle() == title)
            self._chosen = next(named, self._chosen)
            self._later.start()
        else:
            self.choose_around(pressed)

    @Slot()
    def _on_visible(self) -> None:
        self._later.start()

    @Slot()
    def _mark(self) -> None:
        current = self._docks[self.id]
        for dock in self._docks.values():
            dock.set_current(dock is current)
