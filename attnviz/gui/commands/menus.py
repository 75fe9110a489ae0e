"""Menus, buttons and shortcuts, built from `ACTIONS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QToolButton

from attnviz.core.phrases import enumerated, with_remark
from attnviz.gui.commands.actions import ACTIONS, MENUS, ActionRow
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import _

PLAIN_KEYS = {"Esc": Qt.Key.Key_Escape}
"""Keys that focused controls use themselves; the window takes them only when nobody else did."""


class Commands(QObject):
    """One QAction for every row of `ACTIONS`, and one QMenu for every row of `MENUS`."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._menus: dict[str, QMenu] = {}
        self._actions: dict[str, QAction] = {}
        self._plain: dict[Qt.Key, QAction] = {}
        self._theme = active_theme()
        for row in ACTIONS:
            action = says(QAction(self), partial(_text, row), id=f"action_{row.id}", tip=partial(_tip, row))
            action.setCheckable(row.checkable)
            action.setAutoRepeat(row.repeats)
            action.setShortcuts(_keys(row))
            for key in row.shortcuts:
                if key in PLAIN_KEYS:
                    self._plain[PLAIN_KEYS[key]] = action
            action.setData(row.argument)
            self._actions[row.id] = action

    def obey(self, handlers: QObject) -> None:
        """Have the methods `on_<id>` of an object run the commands."""
        for row in ACTIONS:
            self._actions[row.id].triggered.connect(getattr(handlers, f"on_{row.run or row.id}"))

    def __getitem__(self, id_: str) -> QAction:
        return self._actions[id_]

    def all(self) -> list[QAction]:
        """Every action, in the order of `ACTIONS`."""
        return list(self._actions.values())

    def menu(self, id_: str) -> QMenu:
        """The menu of one row of `MENUS`."""
        return self._menus[id_]

    def fill(self, bar: QMenuBar, extend: Callable[[str, QMenu], None]) -> None:
        """Add the menus to `bar`; `extend` adds entries outside `ACTIONS`, such as recent files."""
        for row in ACTIONS:
            if not row.menu:  # its keys need a widget that is visible
                bar.window().addAction(self._actions[row.id])
        for id_, title in MENUS:
            menu = says(bar.addMenu(""), title, id=f"menu_{id_}")
            menu.aboutToShow.connect(self._dress)
            self._menus[id_] = menu
            for row in ACTIONS:
                if row.menu == id_:
                    if row.separated:
                        menu.addSeparator()
                    menu.addAction(self._actions[row.id])
            extend(id_, menu)

    def press(self, event: QKeyEvent) -> bool:
        """Run the command of a plain key that no control wanted."""
        action = self._plain.get(Qt.Key(event.key()))
        if action is None or event.modifiers() != Qt.KeyboardModifier.NoModifier:
            return False
        action.trigger()
        return True

    def apply_theme(self, theme: Theme) -> None:
        """Set the ink of the icons to that of `theme`: at once in a bar, in a menu when it opens."""
        self._theme = theme
        for row in ACTIONS:
            owners = self._actions[row.id].associatedObjects()
            if row.icon and any(isinstance(owner, QToolButton) for owner in owners):
                self._actions[row.id].setIcon(icon(row.icon, theme))

    @Slot()
    def _dress(self) -> None:
        """Draw the icons of the menu that opens: all of them would take longer than the first frame."""
        for row in ACTIONS:
            if row.icon and self._menus[row.menu] is self.sender():
                self._actions[row.id].setIcon(icon(row.icon, self._theme))


def _keys(row: ActionRow) -> list[QKeySequence]:
    return [QKeySequence(key) for key in row.shortcuts if key not in PLAIN_KEYS]


def _text(row: ActionRow) -> str:
    """The title of an entry, with a plain key, which Qt does not know of, at the right."""
    plain = next((key for key in row.shortcuts if key in PLAIN_KEYS), "")
    return f"{_(row.text)}\t{plain}" if plain else _(row.text)


def _tip(row: ActionRow) -> str:
    keys = enumerated(key.toString(QKeySequence.SequenceFormat.NativeText) for key in _keys(row))
    plain = _(row.text).replace("&", "").replace("…", "")
    return with_remark(plain, keys) if keys else plain
