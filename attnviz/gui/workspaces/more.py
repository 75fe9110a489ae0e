"""The buttons at the right of the drawer's tabs: More, and those of a tab that it opened or a wide one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QMainWindow, QTabBar, QToolButton, QWidget
from shiboken6 import isValid

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.fold_button import MOST
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.switcher import TAB_PX, Workspaces
from attnviz.i18n import N_


class More(QObject):
    """Keeps the buttons beside the tabs: they lie over the window, and the tabs leave them their room."""

    wanted = Signal()
    """All panels are to be offered."""

    def __init__(self, window: QMainWindow, docks: Mapping[str, PanelDock], workspaces: Workspaces) -> None:
        super().__init__(window)
        self._window, self._docks, self._workspaces = window, docks, workspaces
        self._bar: QTabBar | None = None
        self.box = QWidget(window)
        self.box.setObjectName("more_box")
        self._close = self._button("more_close", "×", N_("Close this tab"), self._on_close)
        self._wide = self._button(
            "more_wide", "↔", N_("Give the tab its full width, or its usual one"), self._on_wide
        )
        self._wide.setCheckable(True)
        tip = N_("Open another panel here, from the list of all panels")
        self._more = self._button("more_button", "", tip, self.wanted.emit)
        says(self._more, N_("More…"))
        in_row(self.box, self._close, self._wide, self._more, spacing=0)
        self.box.hide()
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

    def _front(self) -> tuple[QTabBar | None, PanelDock | None]:
        """The bar of the drawer's tabs above their panels, and the dock in front of them."""
        drawer = self._docks[self._workspaces.present.drawer]
        docks = {dock.windowTitle(): dock for dock in self._workspaces.beside(drawer)}
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if bar.isVisible() and bar.shape() == QTabBar.Shape.RoundedNorth:
                dock = docks.get(bar.tabText(bar.currentIndex()))
                if dock is not None:
                    return bar, dock
        return None, None

    @Slot()
    def _place(self) -> None:
        """Lay the buttons at the right end of the tabs, where the workspace offers all panels."""
        bar, dock = self._front()
        if self._workspaces.present.is_plain or self._workspaces.enlarged:
            bar = None
        if bar is not self._bar:
            if self._bar is not None and isValid(self._bar):  # Qt deletes bars without tabs
                self._bar.removeEventFilter(self)
                self._bar.setMaximumWidth(MOST)
            if bar is not None:
                bar.installEventFilter(self)
            self._bar = bar
        self.box.setVisible(bar is not None)
        if bar is None or dock is None:
            return
        is_guest = dock in self._workspaces.guests
        needed = PANEL_BY_ID[dock.front].width + TAB_PX
        is_widened = self._workspaces.widened == dock.front
        self._close.setVisible(is_guest)
        self._wide.setVisible(
            self._workspaces.may_widen and (is_widened or needed > max(dock.width(), TAB_PX))
        )
        self._wide.setChecked(is_widened)
        self.box.adjustSize()
        width, place = self.box.sizeHint().width(), dock.geometry()
        bar.setMaximumWidth(max(place.width() - width, 4 * GRID))
        top = bar.geometry()
        self.box.setGeometry(QRect(place.right() + 1 - width, top.top(), width, top.height()))
        self.box.raise_()

    # --- acting

    @Slot()
    def _on_close(self) -> None:
        _bar, dock = self._front()
        if dock is not None:
            self._workspaces.close(dock.front)

    @Slot()
    def _on_wide(self) -> None:
        _bar, dock = self._front()
        if dock is not None:
            self._workspaces.widen("" if self._workspaces.widened == dock.front else dock.front)
            self._later.start()
