"""File, Recent edits: the unsaved documents that another one followed, with the time of the last edit."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.services.documents import name_of
from attnviz.gui.store import Store
from attnviz.i18n import _


class EditsMenu(QMenu):
    """A menu of the unsaved chapters of the history; an entry returns to its document."""

    def __init__(self, store: Store, file_menu: QMenu) -> None:
        super().__init__(file_menu)
        self.setObjectName("menu_recent_edits")
        self.setToolTipsVisible(True)
        self._store = store
        file_menu.aboutToShow.connect(self._name)
        self.aboutToShow.connect(self._fill)

    @Slot()
    def _name(self) -> None:
        self.setTitle(_("Recent edits"))
        self.setEnabled(bool(self._store.chapters.unsaved))

    @Slot()
    def _fill(self) -> None:
        self.clear()
        for chapter in self._store.chapters.unsaved:
            name, when = name_of(chapter), chapter.edited
            action = self.addAction(name.replace("&", "&&") + (f"\t{_time(when)}" if when else ""))
            action.setToolTip(plain_tooltip(_("Return to the unsaved changes of {name}").format(name=name)))
            action.setData(chapter.number)
            action.triggered.connect(self._on_entry)

    @Slot()
    def _on_entry(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        self._store.go_to_chapter(action.data())


def _time(when: datetime) -> str:
    """The time of day, with the date if that is another day."""
    is_today = when.date() == datetime.now().date()
    return when.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
