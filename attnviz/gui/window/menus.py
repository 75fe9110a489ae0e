"""Parts of the menus that are filled when they open: recent files and edits, presets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from attnviz.checkpoints.presets import grouped_presets
from attnviz.core.text import visible
from attnviz.gui.commands.surface import Surface
from attnviz.gui.look.fonts import section_title_font
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.services.documents import name_of
from attnviz.gui.store import Store
from attnviz.gui.window.handlers import Handlers
from attnviz.i18n import _
from attnviz.model.captions import plain_caption

if TYPE_CHECKING:
    from attnviz.gui.export.table import Export


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


class Menus(QObject):
    """Extends the menus of the bar by entries outside `ACTIONS`."""

    def __init__(self, surface: Surface, handlers: Handlers, parent: QObject) -> None:
        super().__init__(parent)
        self._surface, self._handlers = surface, handlers
        self._services, self._commands = surface.services, surface.commands
        self._recent = QMenu()
        self._kinds: list[QAction] = []
        """The entries that the menu of exports has of the table of kinds."""

    def extend(self, id_: str, menu: QMenu) -> None:
        """Add to the menu of this id what it has outside `ACTIONS`."""
        if id_ == "file":
            self._recent = QMenu(menu)
            self._recent.setObjectName("menu_recent")
            self._recent.aboutToShow.connect(self._fill_recent)
            menu.insertMenu(self._commands["save"], self._recent)
            menu.insertMenu(self._commands["save"], EditsMenu(self._services.store, menu))
            menu.aboutToShow.connect(self._name_recent)
        if id_ == "presets":
            menu.aboutToShow.connect(self._fill_presets)
        if id_ == "export":
            menu.setToolTipsVisible(True)
            menu.aboutToShow.connect(self._fill_kinds)
        menu.aboutToShow.connect(self._point_at_nothing)

    @Slot()
    def _point_at_nothing(self) -> None:
        """Clear the pointer when a menu takes the mouse: its widget receives no leave event."""
        self._services.store.set_stage_hover("")
        self._services.store.set_hover(None)

    @Slot()
    def _name_recent(self) -> None:
        self._recent.setTitle(_("Open recent"))
        self._recent.setEnabled(bool(self._services.settings.recent()))

    @Slot()
    def _fill_recent(self) -> None:
        self._recent.clear()
        for path in self._services.settings.recent():
            action = self._recent.addAction(visible(path.name).replace("&", "&&"))
            action.setToolTip(plain_tooltip(visible(str(path))))
            action.setData(str(path))
            action.triggered.connect(self._handlers.on_recent)

    @Slot()
    def _fill_kinds(self) -> None:
        """Offer every kind of the groups whose kinds differ; of the others a command opens the last one."""
        from attnviz.gui.export.table import EXPORTS, GROUPS

        menu, before = self._commands.menu("export"), self._commands["copy_picture"]
        for old in self._kinds:
            menu.removeAction(old)
            old.deleteLater()
        self._kinds = []
        for group in (group for group in GROUPS if not group.is_alike):
            title = QAction(_(group.title), menu)
            title.setEnabled(False)
            title.setFont(section_title_font())
            kinds = [self._kind(row) for row in EXPORTS if row.group == group.id]
            menu.insertActions(before, [title, *kinds])
            self._kinds += [title, *kinds, menu.insertSeparator(before)]

    def _kind(self, row: Export) -> QAction:
        """The entry that opens the export dialog at a kind; grey, with the reason, where none can be made."""
        entry = QAction(f"{_(row.title)}…".replace("&", "&&"), self._commands.menu("export"))
        entry.setObjectName(f"export_{row.id}")
        entry.setData(row.id)
        entry.triggered.connect(self._handlers.on_kind)
        reason = self._handlers.why_no_kind(row.id)
        entry.setEnabled(reason is None)
        entry.setToolTip("" if reason is None else plain_tooltip(reason.text()))
        return entry

    @Slot()
    def _fill_presets(self) -> None:
        _fill_presets(self._commands.menu("presets"), self._handlers.on_preset)


def _fill_presets(menu: QMenu, chosen: Callable[[], object]) -> None:
    """Fill a menu anew, in the present language; `chosen` is called with the id as the action's data."""
    menu.clear()
    for old in menu.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly):
        old.deleteLater()
    for group, presets in grouped_presets():
        part = menu.addMenu(_(group))
        part.setToolTipsVisible(True)
        for preset in presets:
            sentence = plain_caption(_(preset.description))
            action = part.addAction(_(preset.title).replace("&", "&&"))
            action.setObjectName(f"preset_{preset.id}")
            action.setStatusTip(sentence)
            action.setToolTip(plain_tooltip(sentence))
            action.setData(preset.id)
            action.triggered.connect(chosen)
