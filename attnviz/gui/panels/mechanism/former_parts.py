"""Records of the parts that a section's controls switched off, for each attention."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from attnviz.gui.store import Store
from attnviz.model.edit.block import LastSeen


class SeenBySite(QObject):
    """One `LastSeen` for each site of the document: a layer's switch brings back that layer's numbers."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._store = store
        self._sites: dict[str, LastSeen] = {}
        store.opened.connect(self._on_opened)

    @Slot()
    def _on_opened(self) -> None:
        """An attention of another document has the same name and other numbers."""
        self._sites.clear()

    @property
    def here(self) -> LastSeen:
        """The records of the selected attention."""
        return self._sites.setdefault(self._store.document.site, LastSeen())
