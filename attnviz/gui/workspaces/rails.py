"""Rails: a place of tabs that is folded to its tabs, until a tab is clicked."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication, QMainWindow, QTabBar

from attnviz.gui.widgets.fold_button import MOST
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.upright import UprightNames


class Rails(QObject):
    """Folds and unfolds places of tabs. A folded place has no width but that of its tabs, at its side.

    A click on the tab in front folds, a click on any tab of a rail unfolds.
    """

    changed = Signal(str, bool)
    """A panel of the place, and whether the user folded it."""

    def __init__(self, window: QMainWindow, docks: Mapping[str, PanelDock]) -> None:
        super().__init__(window)
        self._window, self._docks = window, docks
        self._folded: set[PanelDock] = set()
        self._upright = UprightNames(self)

    def watch(self) -> None:
        """Listen to the tabs; Qt makes their bars anew in another arrangement."""
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setUsesScrollButtons(True)  # many tabs scroll: short names with dots say nothing
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.installEventFilter(self._upright)  # once, however often it is called
            bar.tabBarClicked.connect(self._on_clicked, Qt.ConnectionType.UniqueConnection)

    def is_folded(self, panel: str) -> bool:
        """True if the place of a panel is a rail."""
        return self._docks[panel] in self._folded

    def fold(self, panel: str) -> None:
        """Fold the place of a panel to its tabs; a panel without tabs stays as it is."""
        place = self._place(self._docks[panel])
        if len(place) == 1:
            return
        for dock in place:
            self._folded.add(dock)
            dock.setMaximumWidth(0)
            dock.visibilityChanged.emit(False)

    def unfold(self, panel: str) -> bool:
        """Give the place of a panel its width again; False if it had it."""
        place = [dock for dock in self._place(self._docks[panel]) if dock in self._folded]
        for dock in place:
            self._folded.discard(dock)
            dock.setMaximumWidth(MOST)
        if place:
            self._docks[panel].visibilityChanged.emit(True)
        return bool(place)

    def clear(self) -> None:
        """Unfold everything, before another arrangement."""
        for dock in self._folded:
            dock.setMaximumWidth(MOST)
        self._folded.clear()

    def _place(self, dock: PanelDock) -> list[PanelDock]:
        """The docks that share the place of a dock, and it."""
        others = self._window.tabifiedDockWidgets(dock)
        return [dock, *(other for other in others if isinstance(other, PanelDock))]

    @Slot(int)
    def _on_clicked(self, index: int) -> None:
        bar = self.sender()
        if not isinstance(bar, QTabBar) or index < 0 or bar.shape() != QTabBar.Shape.RoundedEast:
            return
        if QApplication.mouseButtons() & ~Qt.MouseButton.LeftButton:
            return
        panel = self._named(bar.tabText(index))
        if not panel:
            return
        if self.unfold(panel):
            self.changed.emit(panel, False)
        elif index == bar.currentIndex():
            self.fold(panel)
            self.changed.emit(panel, True)

    def _named(self, title: str) -> str:
        """The panel whose tab has this title."""
        return next((id_ for id_, dock in self._docks.items() if dock.windowTitle() == title), "")
