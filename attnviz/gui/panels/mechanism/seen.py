"""What the controls of a section switched off, kept for each attention by itself."""

from __future__ import annotations

from attnviz.gui.store import Store
from attnviz.model.edit.block import LastSeen


class SeenBySite:
    """One `LastSeen` for each site of the document: a layer's switch brings back that layer's numbers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sites: dict[str, LastSeen] = {}

    @property
    def here(self) -> LastSeen:
        """What was seen at the attention that is looked at."""
        return self._sites.setdefault(self._store.document.site, LastSeen())
