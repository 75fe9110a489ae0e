"""The journal of one window: its session on the disk. A journal is data: nothing in it is executed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from attnviz.errors import Message
from attnviz.model.edit.chapters import Chapter, Chapters
from attnviz.model.io.lock import Lock
from attnviz.model.io.stamp import Stamp
from attnviz.model.journal.packing import Full, Packer
from attnviz.model.journal.records import JournalError, Key, Records, altered
from attnviz.model.spec.document import Document

MOST_BYTES = 2**29
"""Largest size of what a journal keeps; the steps farthest from the present one are left out."""

SLACK_BYTES = 2**22
"""Bytes of a journal that nothing needs any more, besides as many as it keeps, before it is rewritten."""

AT_ONCE = 16
"""Documents that are not in the file yet, and that may delay a state."""

SUFFIX, LOCK_SUFFIX = ".journal", ".lock"


class StoredChapter(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One document of a state: the keys of its history, and those of its file's content and of its run, if
    they are stored.

    `edited` counts seconds since 1970.
    """

    entries: tuple[Key, ...]
    index: int
    saved: Key | None
    path: str | None = None
    stamp: Stamp | None = None
    edited: float | None = None
    run: Key | None = None
    run_step: int | None = None
    is_run_saved: bool = False


class State(Struct, frozen=True, forbid_unknown_fields=True):
    """A state: the documents, which of them is the present one, and the time.

    `about` is the one that a sentence on the state names, `title` its title; None for the present one.
    `is_modified` is False if undo has set all its edits aside.
    """

    chapters: tuple[StoredChapter, ...]
    index: int
    title: str
    time: float
    about: int | None = None
    is_modified: bool = True

    @property
    def named(self) -> StoredChapter:
        """The document that a sentence on the state names."""
        return self.chapters[self.index if self.about is None else self.about]

    def __post_init__(self) -> None:
        places = (
            (self.index, self.chapters),
            (self.about or 0, self.chapters),
            *((chapter.index, chapter.entries) for chapter in self.chapters),
        )
        if any(not 0 <= index < len(items) for index, items in places):
            raise altered()


class Journal:
    """The journal that a window writes. It begins with the first `write`; one thread at a time uses it."""

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self._folder, self._most = folder, most
        self._lock: Lock | None = None
        self._records: Records | None = None
        self._packer: Packer | None = None

    def write(self, session: Chapters) -> None:
        """Write the session, and return when it is on the disk.

        Raises `OSError`, and `JournalError` for a document that is too large; the journal then holds the
        session of the last time.
        """
        records = self._opened()
        packer = self._packer = self._packer or Packer(records)
        try:
            # A long history that was restored takes its time: what is needed most comes first.
            if sum(not packer.knows(document) for document in _by_nearness(session)) > AT_ONCE:
                records.commit(_packed(session, packer, self._most, AT_ONCE))
            state = _packed(session, packer, self._most)
            if records.size > 2 * sum(map(records.length, packer.live)) + SLACK_BYTES:
                records.rewrite(packer.live, state)
            else:
                records.commit(state)
        except BaseException:
            records.roll_back()
            self._packer = None
            raise
        packer.end()

    def remove(self) -> None:
        """End and remove the journal: nothing is unsaved. Another `write` begins another one."""
        if self._records is not None:
            self._records.remove()
        self.leave()

    def leave(self) -> None:
        """End the journal and let the next start find it."""
        records, self._records, self._packer = self._records, None, None
        if records is not None:
            records.close()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _opened(self) -> Records:
        if self._records is not None and not self._records.is_there:
            self.leave()  # somebody removed the file
        if self._records is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}"
            lock = self._lock = Lock.take(self._folder / (name + LOCK_SUFFIX))
            try:
                self._records = Records(self._folder / (name + SUFFIX))
            except BaseException:
                self._lock = None
                if lock is not None:
                    lock.release()
                raise
            self._packer = None
        return self._records


def _packed(session: Chapters, packer: Packer, most: int, n_documents: int | None = None) -> bytes:
    """The state of a session, whose records are in the file then; of the `n_documents` needed most."""
    packer.begin(most)
    present = session.present.document
    try:
        keys = {id(present): packer.document(present)}
    except Full:
        raise JournalError(
            Message(
                "A document must have at most {n:,} MiB to be saved automatically; got more.", n=most >> 20
            )
        ) from None
    for document in islice(_by_nearness(session), n_documents):
        try:
            keys[id(document)] = packer.document(document)
        except Full:
            break
    runs = dict(_runs(session, packer)) if n_documents is None else {}
    stored = [_stored(chapter, keys, runs) for chapter in session.chapters]
    risked = session.most_at_risk
    places = session.index, session.chapters.index(risked)
    if stored[places[1]] is None:  # the present one is always stored
        risked, places = session.present, (session.index, session.index)
    index, about = (sum(chapter is not None for chapter in stored[:place]) for place in places)
    chapters = tuple(chapter for chapter in stored if chapter is not None)
    state = State(chapters, index, risked.document.title, time.time(), about, risked.is_modified)
    return json.dumps(msgspec.to_builtins(state)).encode("ascii")


def _runs(session: Chapters, packer: Packer) -> Iterator[tuple[int, Key]]:
    """The keys of the runs by the numbers of their chapters, the present one first; those with room."""
    for chapter in (session.present, *session.others):
        if chapter.own_run is not None:
            try:
                yield chapter.number, packer.run(chapter.own_run.attached())
            except Full:
                return


def _by_nearness(session: Chapters) -> Iterator[Document]:
    """All documents of a session, what is needed most first."""
    for chapter in (session.present, *session.others):
        entries, index = chapter.history.entries, chapter.history.index
        yield entries[index]
        if chapter.saved is not None:
            yield chapter.saved
        yield from reversed(entries[:index])
        yield from entries[index + 1 :]


def _stored(chapter: Chapter, keys: dict[int, Key], runs: dict[int, Key]) -> StoredChapter | None:
    """A document with the steps that have a key, and its run; None if its present one has none."""
    entries, index = chapter.history.entries, chapter.history.index
    if id(entries[index]) not in keys:
        return None
    first = next(i for i in range(index + 1) if all(id(entry) in keys for entry in entries[i : index + 1]))
    behind = next((i for i in range(index, len(entries)) if id(entries[i]) not in keys), len(entries))
    return StoredChapter(
        tuple(keys[id(entry)] for entry in entries[first:behind]),
        index - first,
        keys.get(id(chapter.saved)),
        None if chapter.path is None else str(chapter.path),
        chapter.stamp,
        None if chapter.edited is None else chapter.edited.timestamp(),
        runs.get(chapter.number),
        None if chapter.run is None else chapter.run.shown,
        chapter.run is not None and chapter.run.record is chapter.saved_run,
    )
