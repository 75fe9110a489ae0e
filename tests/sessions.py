"""Sessions that the tests of journals write and read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from attnviz.model.edit.chapters import Chapter, Chapters
from attnviz.model.edit.history import History
from attnviz.model.journal.crashes import find_abandoned
from attnviz.model.journal.journal import Journal
from attnviz.model.spec.document import Document


def titled(document: Document, *titles: str) -> tuple[Document, ...]:
    """The document under other titles: the steps of a history that share everything else."""
    return tuple(replace(document, title=title) for title in titles)


def session_of(entries: Iterable[Document], index: int = -1, path: Path | None = None) -> Chapters:
    """One document with these steps; its file holds the first."""
    steps = tuple(entries)
    return Chapters((Chapter(0, History(steps, index % len(steps)), steps[0], path),))


def left_behind(folder: Path, *sessions: Chapters) -> Path:
    """The file of a journal that its process has left without removing it."""
    journal = Journal(folder)
    for session in sessions:
        journal.write(session)
    journal.leave()
    (path,) = folder.glob("*.journal")
    return path


def read_only(folder: Path) -> Chapters:
    """The session of the one abandoned journal in a folder, which stays."""
    (found,) = find_abandoned(folder)
    try:
        return found.read()
    finally:
        found.release()
