"""The right-click menu of every panel: the rows that apply to the target under the pointer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, Slot
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from attnviz.gui.context.rows import ROWS
from attnviz.gui.context.target import Target, target_at
from attnviz.gui.widgets.panel_dock import PanelDock

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface


class ContextMenus(QObject):
    """Opens a menu wherever a dock asks for one."""

    def __init__(self, window: QWidget, surface: Surface) -> None:
        super().__init__(window)
        self._window, self._surface = window, surface
        for dock in surface.docks.values():
            dock.menu_wanted.connect(self._on_wanted)

    @Slot(QPoint, bool)
    def _on_wanted(self, at: QPoint, is_by_key: bool) -> None:
        dock = self.sender()
        assert isinstance(dock, PanelDock)
        widget = QApplication.focusWidget() if is_by_key else dock.childAt(dock.mapFromGlobal(at))
        if widget is None:
            return
        point = None if is_by_key else QPointF(widget.mapFromGlobal(at))
        self.menu(target_at(self._surface, widget, point)).popup(at)

    def menu(self, target: Target) -> QMenu:
        """The menu of a target."""
        menu = QMenu(self._window)
        menu.setObjectName("context_menu")
        menu.aboutToHide.connect(menu.deleteLater)
        for row in ROWS:
            if row.applies(self._surface, target):
                if row.separated:
                    menu.addSeparator()
                action = menu.addAction(row.text(self._surface, target).replace("&", "&&"))
                action.setObjectName(f"context_{row.id}")
                action.triggered.connect(partial(_run, row.run, self._surface, target))
        return menu


def _run(run: object, surface: Surface, target: Target, checked: bool = False) -> None:
    run(surface, target)  # type: ignore[operator]
