"""The session of a window: its documents, each with its history. It is what a journal holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnviz.model.edit.history import History
from attnviz.model.io.stamp import Stamp
from attnviz.model.spec.document import Document


@dataclass(frozen=True)
class Kept:
    """A document with its history, its content when it was opened or saved last, and its file as it was then.

    `edited` is the time of its last edit in seconds since 1970; 0 before the first.
    """

    history: History
    saved: Document
    path: Path | None = None
    stamp: Stamp | None = None
    edited: float = 0.0

    @property
    def is_modified(self) -> bool:
        """True if the document differs from the saved one."""
        return not self.history.present.has_work_of(self.saved)


@dataclass(frozen=True)
class Session:
    """The documents in the order of undo; `kept[index]` is the present one."""

    kept: tuple[Kept, ...]
    index: int = 0

    @property
    def present(self) -> Kept:
        return self.kept[self.index]

    @property
    def is_worth_keeping(self) -> bool:
        """True if the end of the process would lose an edit, or one that undo has set aside."""
        return any(kept.is_modified or kept.history.can_redo for kept in self.kept)
