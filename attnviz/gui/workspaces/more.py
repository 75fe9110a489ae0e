"""The buttons at the right of each row of tabs: Enlarge, and those of the drawer, More and ×."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QMainWindow, QTabBar, QToolButton, QWidget
from shiboken6 import isValid

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.enlarge_button import EnlargeButton
from attnviz.gui.widgets.fold_button import MOST
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.switcher import Workspaces
from attnviz.i18n import N_


class Corner(QWidget):
    """The buttons of one row of tabs, for the dock in front of it."""

    def __init__(self, window: QWidget, *buttons: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("corner")
        self.enlarge = EnlargeButton()
        self.dock: PanelDock | None = None
        in_row(self, *buttons, self.enlarge, spacing=0)
        self.hide()

    def put(self, bar: QTabBar, dock: PanelDock) -> None:
        """Stand at the right end of the tabs above a dock, which keep the rest of its width."""
        self.dock = dock
        self.adjustSize()
        width, place, top = self.sizeHint().width(), dock.geometry(), bar.geometry()
        bar.setMaximumWidth(max(place.width() - width, 4 * GRID))
        self.setGeometry(QRect(place.right() + 1 - width, top.top(), width, top.height()))
        self.show()
        self.raise_()


class More(QObject):
    """Keeps the buttons beside the tabs: they lie over the window, and the tabs leave them their room."""

    wanted = Signal()
    """All panels are to be offered."""

    def __init__(self, window: QMainWindow, docks: Mapping[str, PanelDock], workspaces: Workspaces) -> None:
        super().__init__(window)
        self._window, self._docks, self._workspaces = window, docks, workspaces
        self._bars: list[QTabBar] = []
        self._close = self._button("more_close", "×", N_("Close this tab"), self._on_close)
        tip = N_("Open another panel here, from the list of all panels")
        more = self._button("more_button", "", tip, self.wanted.emit)
        says(more, N_("More…"))
        self.box = self._corner(self._close, more)
        self.box.setObjectName("more_box")
        self._others: list[Corner] = []
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._place)
        workspaces.switched.connect(self._place_later)
        workspaces.enlarged_changed.connect(self._place_later)
        workspaces.settled.connect(self._place_later)
        for dock in docks.values():
            dock.visibilityChanged.connect(self._place_later)
            dock.turned.connect(self._place_later)
            dock.installEventFilter(self)

    def _button(self, id_: str, text: str, tip: str, act: Callable[[], object]) -> QToolButton:
        button = says(QToolButton(), text, id=id_, name=tip, tip=True)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(act)
        return button

    def _corner(self, *buttons: QWidget) -> Corner:
        corner = Corner(self._window, *buttons)
        corner.enlarge.clicked.connect(self._on_enlarge)
        return corner

    def retranslate(self) -> None:
        """Measure the room of the buttons again."""
        self._later.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide):
            self._later.start()
        return False

    # --- placing

    @Slot()
    def _place_later(self) -> None:
        self._later.start()

    def _rows(self) -> list[tuple[QTabBar, PanelDock]]:
        """The rows of tabs in sight, each with the dock in front, where the workspace has such buttons."""
        if self._workspaces.present.is_plain or self._workspaces.enlarged:
            return []
        docks = {dock.windowTitle(): dock for dock in self._docks.values()}
        bars = (bar for bar in self._workspaces.bars() if bar.isVisible())
        found = ((bar, docks.get(bar.tabText(bar.currentIndex()))) for bar in bars)
        return [(bar, dock) for bar, dock in found if dock is not None]

    @Slot()
    def _place(self) -> None:
        """Lay the buttons at the right ends of the rows of tabs."""
        rows = self._rows()
        self._watch([bar for bar, _dock in rows])
        drawer = self._workspaces.beside(self._docks[self._workspaces.present.drawer])
        others = [row for row in rows if row[1] not in drawer]
        while len(self._others) < len(others):
            self._others.append(self._corner())
        unused = {self.box, *self._others}
        for bar, dock in rows:
            is_drawer = dock in drawer
            corner = self.box if is_drawer else self._others[others.index((bar, dock))]
            if is_drawer:
                self._close.setVisible(dock in self._workspaces.guests)
            corner.put(bar, dock)
            unused.discard(corner)
        for corner in unused:
            corner.hide()

    def _watch(self, bars: list[QTabBar]) -> None:
        """Follow these rows of tabs, give others their whole width back, and hear the clicks on all."""
        for bar in self._bars:
            if bar not in bars and isValid(bar):  # Qt deletes bars without tabs
                bar.removeEventFilter(self)
                bar.setMaximumWidth(MOST)
        for bar in bars:
            bar.installEventFilter(self)  # once, however often it is called
        for bar in self._workspaces.bars():
            bar.tabBarDoubleClicked.connect(self._on_double_click, Qt.ConnectionType.UniqueConnection)
        self._bars = bars

    # --- acting

    @Slot()
    def _on_close(self) -> None:
        if self.box.dock is not None:
            self._workspaces.close(self.box.dock.front)

    @Slot()
    def _on_enlarge(self) -> None:
        corner = self.sender().parent()
        if isinstance(corner, Corner) and corner.dock is not None:
            self._workspaces.enlarge(corner.dock.front)

    @Slot(int)
    def _on_double_click(self, index: int) -> None:
        """Enlarge a panel by its tab, once the event has returned: Qt may delete the row of tabs."""
        bar = self.sender()
        if isinstance(bar, QTabBar) and index >= 0:
            title = bar.tabText(index)
            dock = next((dock for dock in self._docks.values() if dock.windowTitle() == title), None)
            if dock is not None:
                QTimer.singleShot(0, dock, lambda: dock.enlarge_wanted.emit(dock.front))
