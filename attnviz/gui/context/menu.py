"""The right-click menu of every panel: the rows that apply to the target under the pointer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, Slot
from PySide6.QtWidgets import QApplication, QMenu

from attnviz.gui.context.rows import ROWS
from attnviz.gui.context.target import Target, target_at
from attnviz.gui.widgets.panel_dock import PanelDock

if TYPE_CHECKING:
    from attnviz.gui.window import Window


class ContextMenus(QObject):
    """Opens a menu wherever a dock asks for one."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        for dock in window.docks.values():
            dock.menu_wanted.connect(self._on_wanted)

    @Slot(QPoint, bool)
    def _on_wanted(self, at: QPoint, is_by_key: bool) -> None:
        dock = self.sender()
        assert isinstance(dock, PanelDock)
        widget = QApplication.focusWidget() if is_by_key else dock.childAt(dock.mapFromGlobal(at))
        if widget is None:
            return
        point = None if is_by_key else QPointF(widget.mapFromGlobal(at))
        self.menu(target_at(self._window, widget, point)).popup(at)

    def menu(self, target: Target) -> QMenu:
        """The menu of a target."""
        made = QMenu(self._window)
        made.setObjectName("context_menu")
        made.aboutToHide.connect(made.deleteLater)
        for row in ROWS:
            if row.applies(self._window, target):
                if row.separated:
                    made.addSeparator()
                action = made.addAction(row.text(self._window, target).replace("&", "&&"))
                action.setObjectName(f"context_{row.id}")
                action.triggered.connect(partial(_run, row.run, self._window, target))
        return made


def _run(run: object, window: Window, target: Target, checked: bool = False) -> None:
    run(window, target)  # type: ignore[operator]
