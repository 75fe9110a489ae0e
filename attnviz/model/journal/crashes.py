"""Journals whose process has ended without removing them: found, read, and removed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec

from attnviz.errors import about, message_of
from attnviz.model.edit.chapters import Chapter, Chapters, RunRecord
from attnviz.model.edit.history import History
from attnviz.model.io.files import remove_abandoned
from attnviz.model.io.json_text import parse
from attnviz.model.io.lock import Lock
from attnviz.model.io.regular_file import opened
from attnviz.model.io.tensors import AttachedFile
from attnviz.model.journal.journal import LOCK_SUFFIX, SUFFIX, State, StoredChapter
from attnviz.model.journal.packing import Unpacker
from attnviz.model.journal.records import (
    FIRST_LINE,
    STATE,
    Entry,
    JournalError,
    Key,
    altered,
    content_at,
    intact,
)
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.origin import Linked, nothing_linked

MOST_TRIED = 8
"""Number of states that are tried, from the newest, in a damaged journal."""

DAMAGED_SUFFIX = ".damaged"


RunOf = Callable[[AttachedFile, Experiment], RunRecord]


def no_run(found: AttachedFile, experiment: Experiment) -> RunRecord:
    """Refuse a run: nobody reads it."""
    raise altered()


class Abandoned:
    """A journal that no process writes any more, and that no other is offered while its lock is held."""

    def __init__(self, path: Path, lock: Lock) -> None:
        """Read what the journal says of itself. Raises `OSError`."""
        self.path = path
        self._lock = lock
        self.problem: JournalError | None = None
        """Why it has no state that can be read: it is damaged, or a newer program has written it."""
        self.is_damaged = False
        """True if some of it cannot be read; of its documents that is known when they have been read."""
        self._entries: tuple[Entry, ...] = ()
        self._state: State | None = None
        with opened(path) as file:
            self.is_empty = file.read(len(FIRST_LINE) + 1) in (b"", FIRST_LINE)
            """True if its process ended before it had written anything."""
            if self.is_empty:
                return
            try:
                self._entries, self.is_damaged = intact(file)
                self._state = next(_states(file, self._entries), None)
            except JournalError as error:
                self.problem = error
        if self._state is None and self.problem is None:
            self.problem = altered()

    @property
    def title(self) -> str:
        """The title of the document that was edited last."""
        return "" if self._state is None else self._state.title

    @property
    def file(self) -> Path | None:
        """The file of that document."""
        path = None if self._state is None else self._state.named.path
        return None if path is None else Path(path)

    @property
    def is_modified(self) -> bool:
        """True if that document has unsaved changes; False if undo has set all of them aside."""
        return self._state is None or self._state.is_modified

    @property
    def time(self) -> float:
        """When the journal was written last, in seconds since 1970."""
        return self.path.stat().st_mtime if self._state is None else self._state.time

    def read(self, linked: Linked = nothing_linked, run_of: RunOf = no_run) -> Chapters:
        """The session. Of a damaged journal: the newest state that can be read, and the steps around it;
        `is_damaged` is true then.

        `linked` supplies the matrices of checkpoints that its documents point at, `run_of` the run of an
        experiment from what is stored.

        Raises `JournalError`, one sentence, and `OSError`.
        """
        problem: ValueError = self.problem or altered()
        with opened(self.path) as file:
            unpacker = Unpacker(_getter(file, self._entries), linked)
            for state in islice(_states(file, self._entries), MOST_TRIED):
                try:
                    session = _session(state, unpacker, run_of)
                except ValueError as error:
                    problem, self.is_damaged = error, True
                else:
                    self.is_damaged = self.is_damaged or not _is_whole(state, session)
                    return session
        raise JournalError(about(self.path.name, message_of(problem))) from problem

    def remove(self) -> None:
        """Remove the journal: it was restored, or is not wanted."""
        self.path.unlink(missing_ok=True)
        self.release()

    def retire(self) -> None:
        """End the journal, whose session another one has: a damaged one is kept for what was not read."""
        if self.is_damaged:
            self.set_aside()
        else:
            self.remove()

    @property
    def aside(self) -> Path:
        """The name under which a damaged journal is kept."""
        return self.path.with_suffix(DAMAGED_SUFFIX)

    def set_aside(self) -> None:
        """Keep a damaged journal under another name, by which it is not found again."""
        self.path.replace(self.aside)
        self.release()

    def release(self) -> None:
        """Leave the journal for the next start."""
        self._lock.release()


def find_abandoned(folder: Path) -> tuple[Abandoned, ...]:
    """The abandoned journals of a folder, the newest first; each is locked until it is removed or released.

    Empty ones are removed, and what else an ended process has left. One that cannot be read at all has a
    `problem`.
    """
    left = (*folder.glob("*" + LOCK_SUFFIX), *folder.glob(".*.tmp"))
    for name in {path.name.strip(".").split(".")[0] for path in left}:
        _tidy(folder / name)
    journals = [journal for path in sorted(folder.glob("*" + SUFFIX)) for journal in _abandoned(path)]
    for journal in journals:
        if journal.file is not None:
            remove_abandoned(journal.file)  # it may have ended while it saved
    return tuple(sorted(journals, key=lambda journal: journal.time, reverse=True))


def _tidy(stem: Path) -> None:
    """Remove what its process was writing, and the lock of a journal that does not exist."""
    with contextlib.suppress(OSError):
        lock = Lock.take(stem.with_suffix(LOCK_SUFFIX))
        if lock is not None:
            for path in stem.parent.glob(f".{stem.name}{SUFFIX}.*.tmp"):
                path.unlink()
            lock.release()


def _abandoned(path: Path) -> Iterator[Abandoned]:
    with contextlib.suppress(OSError):
        lock = Lock.take(path.with_suffix(LOCK_SUFFIX))
        if lock is None:
            return
        journal = Abandoned(path, lock)
        if journal.is_empty:
            journal.remove()
        else:
            yield journal


def _states(file: BinaryIO, entries: Sequence[Entry]) -> Iterator[State]:
    """The states that can be read, the newest first."""
    for entry in reversed(entries):
        if entry.kind == STATE:
            with contextlib.suppress(ValueError):
                yield msgspec.convert(parse(content_at(file, entry).decode("ascii")), State)


def _getter(file: BinaryIO, entries: Iterable[Entry]) -> Callable[[Key], bytes]:
    places = {entry.key: entry for entry in entries}

    def get(key: Key) -> bytes:
        if key not in places:
            raise altered()
        return content_at(file, places[key])

    return get


def _session(state: State, unpacker: Unpacker, run_of: RunOf) -> Chapters:
    """The session of a state; of the other documents, those that can be read."""
    chapters = {state.index: _chapter(state.index, state.chapters[state.index], unpacker, run_of)}
    for number, stored in enumerate(state.chapters):
        with contextlib.suppress(ValueError):
            chapters.setdefault(number, _chapter(number, stored, unpacker, run_of))
    numbers = sorted(chapters)
    return Chapters(tuple(chapters[number] for number in numbers), numbers.index(state.index))


def _is_whole(state: State, session: Chapters) -> bool:
    """True if a session has all documents, steps and saved contents of its state."""
    return len(session.chapters) == len(state.chapters) and all(
        len(chapter.history.entries) == len(stored.entries)
        and (chapter.saved is None) == (stored.saved is None)
        and (chapter.run is None) == (stored.run is None)
        for chapter, stored in zip(session.chapters, state.chapters, strict=True)
    )


def _chapter(number: int, stored: StoredChapter, unpacker: Unpacker, run_of: RunOf) -> Chapter:
    """A document with its run, and the steps around its present one that can be read. Raises `ValueError`."""
    present = unpacker.document(stored.entries[stored.index])
    before = _readable(reversed(stored.entries[: stored.index]), unpacker)[::-1]
    behind = _readable(stored.entries[stored.index + 1 :], unpacker)
    history = History((*before, present, *behind), len(before))
    saved = None if stored.saved is None else next(iter(_readable((stored.saved,), unpacker)), None)
    path = None if stored.path is None else Path(stored.path)
    edited = None if stored.edited is None else datetime.fromtimestamp(stored.edited)
    chapter = Chapter(number, history, saved, path, edited, stored.stamp)
    if stored.run is not None:
        with contextlib.suppress(ValueError):
            run = run_of(unpacker.run(stored.run), present.experiment)
            chapter = chapter.with_saved_run(run, stored.run_step)
    return chapter if stored.is_run_saved else replace(chapter, saved_run=None)


def _readable(keys: Iterable[Key], unpacker: Unpacker) -> tuple[Document, ...]:
    """The documents up to the first that cannot be read."""
    documents: list[Document] = []
    with contextlib.suppress(ValueError):
        documents.extend(map(unpacker.document, keys))
    return tuple(documents)
