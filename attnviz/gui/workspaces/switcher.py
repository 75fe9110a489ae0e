"""The workspaces of a window: arranges the docks, follows the window's size, keeps what a person moved.

Over 500 lines because every act on docks must know whether they are being arranged, enlarged or touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from PySide6.QtCore import QByteArray, QEvent, QObject, QPointF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent, QScreen
from PySide6.QtWidgets import QApplication, QMainWindow, QTabBar, QTabWidget

from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.arrangement import Node, Split, Stack, first_panel, placed, splits, stacks
from attnviz.gui.workspaces.table import FIRST, WORKSPACE_BY_ID, WORKSPACES, WorkspaceRow
from attnviz.i18n import _

LAYOUT_VERSION = 2
SETTLED_MS = 50
"""Time after which every dock is in its place: Qt lays them out in the events after an arrangement."""
TAB_PX = 40
"""Pixels of a place that its tabs and its frame take."""
_TORN_OFF = QSize(560, 420)
"""Least size of a panel torn off."""
_ORIENTATION = {"across": Qt.Orientation.Horizontal, "down": Qt.Orientation.Vertical}


class Workspaces(QObject):
    """Shows one row of `WORKSPACES` at a time.

    An arrangement that nobody touched follows the window's size. One that a person changed is stored when
    another workspace is shown or the window is closed, and is restored as it was left.
    """

    switched = Signal(str)
    """The id of the workspace now shown."""
    chosen = Signal(str)
    """The panel that a person chose by its name."""
    settled = Signal()
    """The panels and their tabs have their places."""
    enlarged_changed = Signal(str)
    """The panel that has the whole window; empty when the others are back."""

    def __init__(self, window: QMainWindow, docks: Mapping[str, PanelDock], settings: Settings) -> None:
        super().__init__(window)
        self._window, self._docks, self._settings = window, docks, settings
        self._row = WORKSPACE_BY_ID.get(settings.workspace(), WORKSPACE_BY_ID[FIRST])
        self._opens = False
        self._node: Node = self._row.arrangement(window.width())
        self._is_arranging = self._has_begun = False
        self._is_touched = self._was_shown = False
        self._has_tabs = False
        """True once the tabs of the workspace are in front that belong there: they can be kept."""
        self.enlarged = ""
        """The panel that has the whole window."""
        self.widened = ""
        """The panel whose place has the width that it needs, as long as it is in front."""
        self._hidden: dict[str, frozenset[str]] = {}
        """Hidden panels, by the reason."""
        self._before, self._hidden_before = QByteArray(), frozenset[str]()
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._size)
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(SETTLED_MS)
        self._settled.timeout.connect(self._on_settled)
        for dock in docks.values():
            dock.topLevelChanged.connect(self._on_touched)
            dock.topLevelChanged.connect(self._dress)
            dock.topLevelChanged.connect(self._await_places)
            dock.topLevelChanged.connect(self._on_returned)
            dock.dockLocationChanged.connect(self._on_touched)
            dock.toggleViewAction().triggered.connect(self._on_touched)
            dock.toggleViewAction().triggered.connect(self._on_toggled)
            dock.visibilityChanged.connect(self._on_visible)
            dock.turned.connect(self._size_later)
        window.installEventFilter(self)

    @property
    def present(self) -> WorkspaceRow:
        """The workspace that is shown."""
        return self._row

    @property
    def main(self) -> str:
        """The first panel of the arrangement that is not hidden."""
        hidden = self._all_hidden()
        panels = (panel for stack in stacks(self._node) for panel in stack.panels)
        return next((panel for panel in panels if panel not in hidden), first_panel(self._node))

    @property
    def is_opening(self) -> bool:
        """True while the workspace shows its opening in the place of its panels."""
        return self._opens and self._row.opening is not None

    @property
    def shows_openings(self) -> bool:
        """True if every workspace that has an opening shows it."""
        return self._opens

    def set_opening(self, opens: bool) -> None:
        """Show the openings of workspaces that have one, or (False) their panels."""
        if opens == self._opens:
            return
        if self._row.opening is None or not self._has_begun:
            self._opens = opens
            return
        self.give_back()
        self.keep()
        self._opens = opens
        self._enter()

    def start(self) -> None:
        """Arrange the docks for the first time."""
        self._has_begun = True
        self._enter()

    def switch(self, id_: str) -> None:
        """Show the workspace `id_`."""
        if id_ == self._row.id:
            return
        self.give_back()
        self.keep()
        self._row = WORKSPACE_BY_ID[id_]
        self._enter()
        self.switched.emit(id_)

    def reset(self) -> None:
        """Arrange the present workspace as its row says."""
        self.give_back()
        self._settings.set_layout(self._row.id, b"")
        self._settings.set_choice(_tabs_key(self._row), ";;")
        self._enter()

    def show_panel(self, id_: str) -> None:
        """Bring a panel to the front: here if it stands here, otherwise in the workspace that has it."""
        if self.enlarged and id_ != self.enlarged:
            self.give_back()
        dock = self._docks[id_]
        if dock.isHidden() and not dock.isFloating() and id_ not in self._row.panels:
            rows = sorted(WORKSPACES, key=lambda row: not row.is_home)
            home = next((row for row in rows if id_ in row.panels), self._row)
            self.switch(home.id)
        self.open_here(id_)

    def open_here(self, id_: str) -> None:
        """Bring a panel to the front in the present workspace; one without a place in it takes the place
        under More from another one.
        """
        dock = self._docks[id_]
        if dock.panel_id not in self._panels() and not dock.isFloating():
            self._close_guests(dock)
        dock.show()
        dock.bring(id_)
        dock.raise_()
        if dock.panel_id in self._closed():
            self._size()  # its place had no pixels
        self._has_tabs = self._window.isVisible()

    def _close_guests(self, but: PanelDock) -> None:
        for dock in self.guests:
            if dock is not but:
                dock.hide()

    @property
    def guests(self) -> list[PanelDock]:
        """The docks that are open among the tabs of the drawer and have no place in this workspace."""
        here = self._panels()
        return [dock for dock in self.beside(self._docks[self._row.drawer]) if dock.panel_id not in here]

    def beside(self, dock: PanelDock) -> list[PanelDock]:
        """The docks of one place that are not closed: a dock, and those among whose tabs it is."""
        docks = (dock, *self._window.tabifiedDockWidgets(dock))
        return [
            one for one in docks if isinstance(one, PanelDock) and not (one.isHidden() or one.isFloating())
        ]

    def close(self, id_: str) -> None:
        """Close the tab of a panel in the present workspace, as a person does."""
        dock = self._docks[id_]
        is_own = dock.panel_id in self._panels()
        if dock.isFloating():
            dock.setFloating(False)
        dock.hide()
        if is_own:
            self._is_touched = True

    def choose(self, id_: str) -> None:
        """Bring a panel to the front because a person named it."""
        self.show_panel(id_)
        self.chosen.emit(id_)

    def may_widen(self, id_: str) -> bool:
        """True if the place of a panel is narrower than it needs, or widened for it: one that a person has
        sized keeps its size.
        """
        is_narrow = PANEL_BY_ID[id_].width + TAB_PX > max(self._docks[id_].width(), TAB_PX)
        return not self._is_touched and not self.enlarged and (is_narrow or id_ == self.widened)

    def widen(self, id_: str) -> None:
        """Give the place of a panel the width that it needs while it is in front; empty: its usual one."""
        self.widened = id_
        self._later.start()

    def choose_here(self, id_: str) -> None:
        """Bring a panel to the front in the present workspace because a person named it."""
        self.give_back()
        self.open_here(id_)
        self.chosen.emit(id_)

    def tear_off(self, id_: str) -> None:
        """Give a panel a window of its own, for a second screen; or return it to its place."""
        dock = self._docks[id_]
        if not dock.isFloating():
            self.give_back()
            self.show_panel(id_)  # a folded place has no width
        dock.setFloating(not dock.isFloating())
        if dock.isFloating():
            room = _screen_for(self._window).availableGeometry()
            dock.resize(dock.size().expandedTo(_TORN_OFF).boundedTo(room.size()))
            dock.move(room.center() - dock.rect().center())
            dock.frame_window()

    def show_only(self, panels: tuple[str, ...]) -> None:
        """Close the panels of this workspace but these; the first one in each place comes to the front.

        A workspace that a person arranged keeps what is open.
        """
        if self._is_touched or self.enlarged:
            return
        with self._arranging():
            for stack in stacks(self._node):
                docks = [self._docks[panel] for panel in stack.panels]
                fronts = [panel for panel in panels if self._docks[panel] in docks]
                for dock in docks:
                    dock.setVisible(any(self._docks[panel] is dock for panel in fronts))
                for panel in reversed(fronts):  # the last one is in front
                    self._docks[panel].bring(panel)
                    self._docks[panel].raise_()
        self._size()
        self._later.start()

    def hide(self, panels: frozenset[str], reason: str) -> None:
        """Hide these panels in every workspace until others are named for this reason; the chooser still
        shows them.
        """
        before = self._hidden.get(reason, frozenset())
        if panels == before:
            return
        self._hidden[reason] = panels
        with self._arranging():
            if not self.enlarged:
                self._show_again(before - panels)
            self._hide()
        self._later.start()

    def _show_again(self, panels: frozenset[str]) -> None:
        for id_ in self._panels():
            if not panels.isdisjoint(self._docks[id_].panels):
                self._docks[id_].show()

    def _all_hidden(self) -> frozenset[str]:
        return frozenset().union(*self._hidden.values())

    def _hide(self) -> None:
        hidden = self._all_hidden()
        for dock in self._docks.values():
            dock.close_parts(self._hidden.get("lesson", frozenset()), _("The lesson hides this part"))
            if hidden.issuperset(dock.panels):
                dock.hide()

    def enlarge(self, id_: str) -> None:
        """Give one panel the place of all others that are not floating."""
        self.give_back()
        self.show_panel(id_)
        self._before, self._hidden_before = self._window.saveState(LAYOUT_VERSION), self._all_hidden()
        with self._arranging():
            enlarged = self._docks[id_]
            for dock in self._docks.values():
                if dock is not enlarged and not dock.isFloating():
                    dock.hide()
            enlarged.show_title(PANEL_BY_ID[enlarged.panel_id].titled)
        self.enlarged = id_
        self.enlarged_changed.emit(id_)

    def toggle_enlarged(self, id_: str) -> None:
        """Enlarge a panel, or return from the one that is enlarged."""
        if not self.give_back():
            self.enlarge(id_)

    def give_back(self) -> bool:
        """Show the other panels again where they stood; False if no panel is enlarged."""
        if not self.enlarged:
            return False
        self.enlarged = ""
        with self._arranging():
            self._window.restoreState(self._before, LAYOUT_VERSION)
            self._show_again(self._hidden_before - self._all_hidden())
            self._hide()
        self._dress()
        self._follow()
        self.enlarged_changed.emit("")
        return True

    def keep(self) -> None:
        """Store which workspace is shown, and its arrangement if a person changed it."""
        self.give_back()
        self._keep_tabs()
        self._settings.set_workspace(self._row.id)
        if self._is_touched and not self.is_opening:
            state = bytes(self._window.saveState(LAYOUT_VERSION).data())
            self._settings.set_layout(self._row.id, state)

    # --- arranging

    def _enter(self) -> None:
        self._has_tabs = False
        with self._arranging():
            state = b"" if self.is_opening else self._settings.layout(self._row.id)
            self._node = self._row.arrangement(self._window.width(), opens=self._opens)
            self._arrange()  # also before a stored state, which may not know all panels
            self._is_touched = bool(state) and self._window.restoreState(QByteArray(state), LAYOUT_VERSION)
            self._restore_tabs()
            if not self._is_touched:
                self._raise_fronts()
            self._hide()
        self._dress()
        if not self._is_touched:
            self._size()
            self._later.start()  # some docks take their sizes only once they have been laid out

    @contextmanager
    def _arranging(self) -> Iterator[None]:
        self._is_arranging = True
        self._leave_separator()
        self._end_drags()
        self._window.setUpdatesEnabled(False)
        try:
            yield
        finally:
            self._window.setUpdatesEnabled(True)
            self._is_arranging = False
            self._await_places()

    @Slot()
    def _await_places(self) -> None:
        self._settled.start()

    @Slot()
    def _on_settled(self) -> None:
        self._has_tabs = self._window.isVisible()
        self._show_tabs()
        for dock in self._docks.values():
            dock.tell_visible()
            dock.frame_window()
        self.settled.emit()

    def _show_tabs(self) -> None:
        """Show the bars that Qt leaves hidden where they had a single tab in the workspace before; what has
        no room scrolls: short names with dots say nothing.
        """
        for bar in self.bars():
            bar.setUsesScrollButtons(True)
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            if bar.isHidden() and bar.count() > 1:
                bar.show()

    def _leave_separator(self) -> None:
        """Make Qt forget the separator under the pointer, to which it keeps a path: where docks have left
        that path, the next key ends the program.
        """
        QApplication.sendEvent(self._window, QEvent(QEvent.Type.HoverLeave))

    def _end_drags(self) -> None:
        """Release what the mouse drags, a separator or a panel: for a panel Qt holds a gap open, and taking
        its dock out of the window then ends the program.
        """
        up, left = QEvent.Type.MouseButtonRelease, Qt.MouseButton.LeftButton
        for widget in (self._window, *self._docks.values()):
            at = QCursor.pos()
            where = QPointF(widget.mapFromGlobal(at)), QPointF(at)
            QApplication.sendEvent(
                widget, QMouseEvent(up, *where, left, Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier)
            )

    def _arrange(self) -> None:
        window = self._window
        for dock in self._docks.values():
            if dock.isFloating():
                dock.setFloating(False)
            window.removeDockWidget(dock)
        first = self._docks[first_panel(self._node)]
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, first)
        self._divide(self._node)
        drawer = self._docks[self._row.drawer]
        here = self._panels()
        for id_, dock in self._docks.items():
            if id_ not in here:
                window.tabifyDockWidget(drawer, dock)
            dock.setVisible(id_ in here and id_ not in self._closed())

    def _raise_fronts(self) -> None:
        """Bring to the front the tabs of the last time, else the first ones."""
        _parts, guests, fronts = self._kept_tabs()
        for stack in stacks(self._node):
            tabs = (*stack.panels, *guests) if self._row.drawer in stack.panels else stack.panels
            self._docks[next((id_ for id_ in fronts if id_ in tabs), stack.panels[0])].raise_()

    # --- tabs

    def bars(self) -> list[QTabBar]:
        """The rows of tabs above the places; Qt makes them anew in another arrangement."""
        return self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)

    def _kept_tabs(self) -> tuple[tuple[str, ...], ...]:
        """The panels kept here: those that switches show, those opened on request, and the tabs in front."""
        groups = self._settings.choice(_tabs_key(self._row), ";;").split(";")
        known = [tuple(id_ for id_ in group.split() if id_ in PANEL_BY_ID) for group in groups]
        return tuple(known) if len(known) == 3 and self._keeps_tabs else ((), (), ())

    @property
    def _keeps_tabs(self) -> bool:
        """False in a plain workspace, where a lesson says what is shown, and in an opening."""
        return not self._row.is_plain and not self.is_opening

    def _keep_tabs(self) -> None:
        """Remember what `_kept_tabs` returns."""
        if not self._keeps_tabs or not self._has_tabs:
            return
        alone = {stack.panels[0] for stack in stacks(self._node) if len(stack.panels) == 1}
        firsts = {stack.panels[0] for stack in stacks(self._node)}
        shown = [dock for dock in self._docks.values() if not dock.isHidden() and not dock.isFloating()]
        opened = [dock.panel_id for dock in shown if dock.panel_id in self._closed()]
        guests = [*(dock.panel_id for dock in self.guests), *opened]
        parts = [dock.front for dock in shown if dock.front != dock.panel_id]
        fronts = [dock.panel_id for dock in shown if dock.is_front and dock.panel_id not in alone]
        fronts = fronts if set(fronts) - firsts else []
        text = ";".join(" ".join(group) for group in (parts, guests, fronts))
        if text != self._settings.choice(_tabs_key(self._row), ";;"):
            self._settings.set_choice(_tabs_key(self._row), text)

    def _restore_tabs(self) -> None:
        """Have switches and the place under More show what they showed when the workspace was left."""
        parts, guests, _fronts = self._kept_tabs()
        for dock in self._docks.values():
            dock.bring(next((id_ for id_ in parts if id_ in dock.panels), dock.panel_id))
        for id_ in guests if not self._is_touched else ():
            self._docks[id_].show()

    def _divide(self, node: Node) -> None:
        """Divide the place of a node's first panel, outer places before inner ones."""
        if isinstance(node, Stack):
            first, *others = (self._docks[panel] for panel in node.panels)
            for other in others:
                self._window.tabifyDockWidget(first, other)
            return
        heads = [self._docks[first_panel(part)] for part in node.parts]
        for left, right in zip(heads, heads[1:], strict=False):
            self._window.splitDockWidget(left, right, _ORIENTATION[node.direction])
        for part in node.parts:
            self._divide(part)

    @Slot()
    def _size_later(self) -> None:
        self._later.start()

    @Slot()
    def _size(self) -> None:
        """Give every place its pixels; Qt keeps them only for docks that are visible."""
        if self._is_touched or self.enlarged:
            return
        margins = self._window.contentsMargins()
        width = self._window.width() - margins.left() - margins.right()
        height = self._height()
        self._is_arranging = True
        for split, lengths in splits(self._node, width, height):
            self._resize(split, lengths)
        self._is_arranging = False

    def _resize(self, split: Split, lengths: tuple[int, ...]) -> None:
        fronts = [self._front(part) for part in split.parts]
        spare = sum(length for front, length in zip(fronts, lengths, strict=True) if front is None)
        seen = [index for index, front in enumerate(fronts) if front is not None]
        widest = max(seen, key=lambda index: split.parts[index].grows, default=0)
        docks = [self._docks[fronts[index] or ""] for index in seen]
        sizes = [lengths[index] + spare * (index == widest) for index in seen]
        if split.direction == "across" and seen:
            sizes = self._widened([split.parts[index] for index in seen], sizes, seen.index(widest))
        self._window.resizeDocks(docks, sizes, _ORIENTATION[split.direction])

    def _widened(self, parts: list[Node], lengths: list[int], widest: int) -> list[int]:
        """Lengths at which a wide panel in front of its tabs has its pixels; the widest place gives them."""
        missing = [max(0, self._needed(part) - length) for part, length in zip(parts, lengths, strict=True)]
        wanted = [length + more for length, more in zip(lengths, missing, strict=True)]
        wanted[widest] -= sum(missing)
        return wanted

    def _needed(self, node: Node) -> int:
        """The least width of the panel in front of its tabs, the widest of those below one another."""
        if isinstance(node, Split):
            return max(map(self._needed, node.parts)) if node.direction == "down" else 0
        if len(node.panels) == 1:
            return 0
        docks = [self._docks[panel] for panel in node.panels]
        seen = [dock.front for dock in docks if not dock.visibleRegion().isEmpty()]
        widths = [PANEL_BY_ID[panel].width for panel in seen if node.widens or panel == self.widened]
        return max((width + TAB_PX for width in widths if width), default=0)

    def _front(self, node: Node) -> str | None:
        """A panel of the place that is in front; None if all its panels are closed."""
        panels = (panel for stack in stacks(node) for panel in stack.panels)
        return next((panel for panel in panels if not self._docks[panel].isHidden()), None)

    def _height(self) -> int:
        used = sum(
            part.height()
            for part in (self._window.menuWidget(), self._window.statusBar())
            if part is not None and part.isVisible()
        )
        return self._window.height() - used

    @Slot()
    def _dress(self) -> None:
        """A panel alone in its place shows its title; among tabs, its tab is the title. That of a panel torn
        off is what a person drags.
        """
        alone = {stack.panels[0] for stack in stacks(self._node) if len(stack.panels) == 1}
        for id_, dock in self._docks.items():
            dock.show_title(dock.isFloating() or (PANEL_BY_ID[id_].titled and id_ in alone))

    def _panels(self) -> frozenset[str]:
        return placed(self._node)

    def _closed(self) -> frozenset[str]:
        """The panels that have a place here and are closed at first."""
        return frozenset(panel for stack in stacks(self._node) if stack.closed for panel in stack.panels)

    # --- what happens

    @Slot(bool)
    def _on_returned(self, is_floating: bool) -> None:
        """A panel that returns to its tabs is the one in front."""
        dock = self.sender()
        if isinstance(dock, PanelDock) and not is_floating and not self._is_arranging:
            dock.raise_()

    @Slot(bool)
    def _on_toggled(self, is_shown: bool) -> None:
        dock = self.sender().parent()
        if is_shown and isinstance(dock, PanelDock):
            self.choose(dock.front)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show) and not self._is_touched:
            if event.type() == QEvent.Type.Show and not self._was_shown:
                self._was_shown = True
                self._raise_fronts()  # what was raised before the window was shown is not always in front
            self._follow()
        elif event.type() == QEvent.Type.MouseButtonPress and watched is self._window:
            if self._window.isSeparator(event.position().toPoint()):  # type: ignore[attr-defined]
                self._is_touched = True
        return False

    def _follow(self) -> None:
        if self.enlarged:
            return
        node = self._row.arrangement(self._window.width(), opens=self._opens)
        if node is not self._node and self._window.isVisible():
            self._keep_tabs()
            self._enter()
        else:
            self._later.start()

    @Slot()
    def _on_touched(self) -> None:
        if not self._is_arranging and self._window.isVisible():
            self._is_touched = True

    @Slot(bool)
    def _on_visible(self, is_visible: bool) -> None:
        """A wide panel that comes to the front of a narrow drawer widens it; another one narrows it again."""
        dock = self.sender()
        if not is_visible or self._is_arranging or not isinstance(dock, PanelDock) or dock.isFloating():
            return
        if self._is_touched or not dock.isVisible() or not self._window.tabifiedDockWidgets(dock):
            return
        self._later.start()


def _screen_for(window: QMainWindow) -> QScreen:
    """A screen without the window if the system has one, else its own."""
    own = window.screen()
    return next((screen for screen in QGuiApplication.screens() if screen is not own), own)


def _tabs_key(row: WorkspaceRow) -> str:
    """The name under which the settings keep the tabs of a workspace."""
    return f"tabs.{row.id}"
