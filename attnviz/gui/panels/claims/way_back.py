"""The way back from the document of a claim to the one that was open before."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.gui.store import Store
from attnviz.model.spec.document import Document

MOST_STEPS_BACK = 100


class WayBack(QObject):
    """Remembers the document before the first claim that was opened, until that is open again."""

    changed = Signal(bool)
    """Whether a document to go back to is known."""

    def __init__(self, store: Store, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._before: Document | None = None
        store.changed.connect(self._on_changed)

    def open(self, document: Document) -> None:
        """Open the document of a claim, which leaves no chapter."""
        before = self._before if self._before is not None else self._store.document
        self._store.open(document)
        self._store.stand_in()
        self._before = before
        self.changed.emit(True)

    @Slot()
    def go(self) -> None:
        """Undo until the document before the claims is back."""
        store, before = self._store, self._before
        for _step in range(MOST_STEPS_BACK):
            if before is None or store.document == before or not store.can_undo:
                break
            store.undo()
        if before is not None and store.document != before:
            store.open(before)
        self._forget()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if self._before is not None and new == self._before:
            self._forget()

    def _forget(self) -> None:
        self._before = None
        self.changed.emit(False)
