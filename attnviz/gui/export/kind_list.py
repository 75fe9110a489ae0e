"""The list of everything that is exported, in its groups."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QResizeEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from attnviz.gui.export.source import Source
from attnviz.gui.export.table import EXPORT_BY_ID, EXPORTS, GROUPS, Export
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_, _

WIDTH = 224
_ROW, _HEAD = 3 * GRID, 4 * GRID
"""Heights of a kind and of the title of a group."""
_ID = Qt.ItemDataRole.UserRole


class KindList(QListWidget):
    """The rows of `EXPORTS` below the titles of their groups; one without a file is grey, with its reason."""

    def __init__(self, source: Source, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        says(self, id="export_what_box", name=N_("Export"))
        self.setFixedWidth(WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._items: dict[str, QListWidgetItem] = {}
        for group in GROUPS:
            rows = [row for row in EXPORTS if row.group == group.id]
            formats = dict.fromkeys(kind.suffix[1:] for row in rows for kind in row.formats)
            self._add_title(_(group.title), " \u00b7 ".join(formats))
            for row in rows:
                self._add(row, source)
        self.currentRowChanged.connect(self._on_row)

    @property
    def chosen(self) -> Export:
        """The chosen row."""
        return EXPORT_BY_ID[self.id_of(self.currentItem())]

    def item_of(self, id_: str) -> QListWidgetItem:
        """The line of a row."""
        return self._items[id_]

    @staticmethod
    def id_of(item: QListWidgetItem) -> str:
        """The id of the row of a line."""
        return str(item.data(_ID))

    def choose(self, id_: str) -> None:
        """Choose a row."""
        self.setCurrentItem(self._items[id_])

    @Slot(int)
    def _on_row(self, row: int) -> None:
        """Bring the title of the group into sight, too, and the whole next row: it may be the last one."""
        if row < 0:
            return
        title = next((at for at in range(row, -1, -1) if self.item(at).data(_ID) is None), -1)
        for at in (min(row + 1, self.count() - 1), title, row):
            self.scrollToItem(self.item(at))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The dialog opens at a row before it has its size."""
        super().resizeEvent(event)
        self._on_row(self.currentRow())

    def _add_title(self, title: str, formats: str) -> None:
        item = QListWidgetItem(title, self)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        item.setForeground(QColor(active_theme().ink))
        item.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold))
        item.setToolTip(formats)
        item.setSizeHint(QSize(0, _HEAD))
        item.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)

    def _add(self, row: Export, source: Source) -> None:
        item = self._items[row.id] = QListWidgetItem(_(row.title), self)
        item.setData(_ID, row.id)
        item.setSizeHint(QSize(0, _ROW))
        reason = row.why_not(source)
        if reason is not None:
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            item.setToolTip(plain_tooltip(reason.text()))
