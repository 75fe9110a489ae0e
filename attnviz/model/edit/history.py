"""Undo and redo: a list of documents and an index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from attnviz.model.spec.document import Document

LIMIT = 300
"""Largest number of documents. They share their common parts, so an entry costs only its change."""


@dataclass(frozen=True)
class History:
    """The documents so far; `entries[index]` is the present one."""

    entries: tuple[Document, ...]
    index: int = 0

    @cached_property
    def present(self) -> Document:
        return self.entries[self.index]

    @property
    def can_undo(self) -> bool:
        return self.index > 0

    @property
    def can_redo(self) -> bool:
        return self.index < len(self.entries) - 1

    def push(self, document: Document) -> History:
        """Add an entry after the present one; the redo entries are dropped."""
        entries = (*self.entries[: self.index + 1], document)[-LIMIT:]
        return History(entries, len(entries) - 1)

    def amend(self, document: Document) -> History:
        """Replace the present entry; used within one gesture and for changes of the view."""
        entries = list(self.entries)
        entries[self.index] = document
        return replace(self, entries=tuple(entries))

    def undo(self) -> History:
        """One entry back, or unchanged at the first."""
        return replace(self, index=max(0, self.index - 1))

    def redo(self) -> History:
        """One entry forward, or unchanged at the last."""
        return replace(self, index=min(len(self.entries) - 1, self.index + 1))

    def at_end(self) -> History:
        """At the last entry: all that was undone is redone."""
        return replace(self, index=len(self.entries) - 1)
