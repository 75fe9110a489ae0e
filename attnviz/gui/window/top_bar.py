"""The bar at the top: menus, workspaces, layout, undo, engine, colours, language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup, QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar, QTabBar, QToolButton, QWidget

from attnviz.core.phrases import with_remark
from attnviz.engines.table import ENGINE_BY_ID, ENGINES
from attnviz.gui.commands.menus import Commands
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import composed, plain_tooltip, says
from attnviz.gui.store import AUTO, Store
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.workspaces.table import WORKSPACE_BY_ID, WORKSPACES
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import DType

HEIGHT = 40
NARROW_BELOW = 1160
"""Width below which the bar leaves out what it can, so that every menu and every tab stays in sight."""


class WorkspaceTabs(QTabBar):
    """Tabs that are as wide as their bold text, selected or not: their sizes are measured by a change of the
    style, not by one of the selection.
    """

    def set_options(self, options: Sequence[tuple[str, str, str]]) -> None:
        """Set the texts and tooltips of the tabs, which are added where they are missing."""
        for index, (_id, title, tip) in enumerate(options):
            if index == self.count():
                self.addTab("")
            self.setTabText(index, title)
            self.setTabToolTip(index, plain_tooltip(tip))

    def tabSizeHint(self, index: int) -> QSize:
        hint = super().tabSizeHint(index)
        if index == self.currentIndex():
            return hint
        bold, mnemonic, text = QFont(self.font()), Qt.TextFlag.TextShowMnemonic, self.tabText(index)
        bold.setWeight(QFont.Weight.DemiBold)
        more = QFontMetrics(bold).size(mnemonic, text) - self.fontMetrics().size(mnemonic, text)
        return hint + QSize(more.width(), 0)


class TopBar(QWidget):
    """The menus, one tab for each workspace, and what is used all the time.

    The engine button shows engine and dtype of the run; a narrow one leaves the dtype to the status line.
    """

    chosen = Signal(str)
    """The id of the workspace whose tab was chosen."""
    tab_clicked = Signal()
    """A tab was clicked, also that of the present workspace."""

    def __init__(self, store: Store, commands: Commands) -> None:
        super().__init__()
        self.setObjectName("top_bar")
        self.setFixedHeight(HEIGHT)
        self._store = store
        self._is_narrow = False
        self.menus = QMenuBar()
        self.menus.setNativeMenuBar(False)
        self.menus.setObjectName("menu_bar")
        self._tabs = self._workspace_tabs()
        self._panels = self._button(commands, "panels")
        self._panels.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self._panels.setText("…")
        self._engine_menu = QMenu(self)
        self._engine_menu.setToolTipsVisible(True)
        self._engine_menu.aboutToShow.connect(self._fill_engine_menu)
        self._engine = self._menu_button("engine_button", N_("Engine"), self._engine_menu)
        box = in_row(self, spacing=GRID // 2)
        box.addWidget(self.menus, 0, Qt.AlignmentFlag.AlignVCenter)
        box.addStretch(1)
        box.addWidget(self._tabs)
        box.addStretch(1)
        for widget in (
            self._panels,
            *(self._button(commands, id_) for id_ in ("undo", "redo")),
            self._engine,
            *(self._button(commands, id_) for id_ in ("dark", "language")),
        ):
            box.addWidget(widget)
        store.changed.connect(self._on_changed)
        store.traced.connect(self._on_trace)

    def retranslate(self) -> None:
        self._panels.setText("…")  # the action's own text is a name
        self._show_engine()

    def chooser_anchor(self) -> QRect:
        """The place in the window of the button that opens the chooser of panels."""
        return QRect(self._panels.mapTo(self.window(), QPoint(0, 0)), self._panels.size())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window menus and tabs stand closer, and the button names the engine alone."""
        super().resizeEvent(event)
        is_narrow = self.width() < NARROW_BELOW
        if is_narrow == self._is_narrow:
            return
        self._is_narrow = is_narrow
        for widget in (self.menus, self._tabs):
            widget.setProperty("narrow", "true" if is_narrow else "false")
            widget.style().polish(widget)
            QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))  # tabs are measured again
            widget.updateGeometry()
        self._show_engine()

    @Slot(str)
    def show_workspace(self, id_: str) -> None:
        """Select the tab of a workspace; in a plain one, leave out what a student does not need."""
        self._tabs.setCurrentIndex([row.id for row in WORKSPACES].index(id_))
        for part in (self._panels, self._engine):
            part.setVisible(not WORKSPACE_BY_ID[id_].is_plain)

    def _workspace_tabs(self) -> QTabBar:
        tabs = WorkspaceTabs()
        tabs.setDrawBase(False)
        tabs.setExpanding(False)
        tabs.setUsesScrollButtons(False)
        tabs.setElideMode(Qt.TextElideMode.ElideNone)
        tabs.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        options = [
            (row.id, row.title, composed(with_remark, row.hint, f"Ctrl+{key}"))
            for key, row in enumerate(WORKSPACES, 1)
        ]
        says(tabs, id="workspace_tabs", name=N_("Workspaces"), options=options)
        tabs.currentChanged.connect(self._on_tab)
        tabs.tabBarClicked.connect(self.tab_clicked)
        return tabs

    def _menu_button(self, id_: str, name: str, menu: QMenu) -> QToolButton:
        button = says(QToolButton(), id=id_, name=name, tip=True)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _button(self, commands: Commands, id_: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(f"{id_}_button")
        button.setDefaultAction(commands[id_])
        button.setIconSize(QSize(16, 16))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if id_ == "language":
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        return button

    def _show_engine(self) -> None:
        trace = self._store.trace
        engine = trace.engine if trace else self._store.engine
        label = next(row.label for row in ENGINES if row.id == engine)
        device = "" if trace is None or trace.device == "cpu" else f" {trace.device}"
        dtype = "" if self._is_narrow else f" · {self._store.experiment.dtype}"
        self._engine.setText(f"{label}{device}{dtype}")

    @Slot(int)
    def _on_tab(self, index: int) -> None:
        self.chosen.emit(WORKSPACES[index].id)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.experiment.dtype != new.experiment.dtype:
            self._show_engine()

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        self._show_engine()

    @Slot()
    def _fill_engine_menu(self) -> None:
        self._engine_menu.clear()
        group = QActionGroup(self._engine_menu)
        for row in ENGINES:
            is_only = len(set(row.devices) - {AUTO}) == 1  # choosing its only device by itself is no choice
            for device in row.devices[: 1 if is_only else None]:
                text = row.label if is_only else f"{row.label} · {device}"
                action = self._choice(group, text, row.unavailable())
                is_chosen = is_only or device == self._store.device
                action.setChecked(row.id == self._store.engine and is_chosen)
                action.setData((row.id, device))
                action.triggered.connect(self._on_engine)
        self._engine_menu.addSection(_("Precision"))
        group = QActionGroup(self._engine_menu)
        for dtype in get_args(DType):
            action = self._choice(group, dtype, ENGINE_BY_ID[self._store.engine].why_not(dtype))
            action.setChecked(dtype == self._store.experiment.dtype)
            action.setData(dtype)
            action.triggered.connect(self._on_dtype)

    def _choice(self, group: QActionGroup, text: str, reason: str) -> QAction:
        """An entry of the engine menu; `reason` says why it cannot be chosen."""
        action = self._engine_menu.addAction(text)
        action.setCheckable(True)
        action.setEnabled(not reason)
        action.setToolTip(reason)
        group.addAction(action)
        return action

    @Slot()
    def _on_engine(self) -> None:
        engine, device = self.sender().data()  # type: ignore[attr-defined]
        self._store.choose_engine(engine, device)

    @Slot()
    def _on_dtype(self) -> None:
        self._store.edit(replace, dtype=self.sender().data())  # type: ignore[attr-defined]
