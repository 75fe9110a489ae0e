"""Records in one growing file: the digest of a record's content names it, and it is written once.

Layout: a line with the format; then records, each a head and its content. The head has one byte for the
kind, eight for the length (little-endian) and the digest, BLAKE2b of 16 bytes. A *piece* is any content. A
*state* stands for everything before it: the newest whole state counts. A record that a process was writing
when it ended is a torn tail, which reading ignores. The file takes its name with its first state: until then
a session is where it was before.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from attnviz.errors import InputError, Message
from attnviz.model.io.files import replace_file, sync_folder, temporary_of
from attnviz.model.io.regular_file import length_of, opened

VERSION = 1
FIRST_LINE = f"attnviz journal {VERSION}\n".encode()
PIECE, STATE = b"P", b"S"

AT_ONCE_BYTES = 2**20
"""Bytes that wait to be written together: each writing hands the interpreter to another thread, and a busy
machine gives it back late.
"""

_HEAD = struct.Struct("<cQ16s")
_DIGEST_BYTES = 16
_HEAD_LIKE = re.compile(rb"[PS](?=.{5}\x00{3}.{16})", re.DOTALL)
"""The head of a record of less than 2⁴⁰ bytes."""
MOST_SEARCHED = 2**30
"""Bytes whose digests are computed in the search for a record behind a damaged one: a second."""
_FIRST_LINE = re.compile(rb"attnviz journal ([1-9][0-9]{0,5})\n")
_MORE_DIGITS = 5

Key = str
"""The digest of a record's content, in hexadecimal digits."""


class JournalError(InputError):
    """A journal that cannot be read: one sentence."""


class LaterVersion(JournalError):
    """A journal of a program that is newer than this one."""


class Records:
    """A growing file of records. Its one writer holds the journal's lock."""

    def __init__(self, path: Path) -> None:
        """Begin the file under a name of its own, until its first state. Raises `OSError`."""
        self.path = path
        self._current = temporary_of(path)
        self._lengths: dict[Key, int] = {}
        self._fresh: list[Key] = []
        self._waiting: list[bytes] = []
        self._n_waiting = 0
        self._end = self._place = len(FIRST_LINE)
        try:
            self._current.write_bytes(FIRST_LINE)
        except OSError as error:
            error.filename = str(path)  # the name that somebody knows
            raise
        self._file: FileIO | None = self._open()

    @property
    def size(self) -> int:
        """Bytes of the file up to its newest state."""
        return self._end

    @property
    def is_there(self) -> bool:
        """True if the file still has its name: nobody has removed it."""
        try:
            return self._file is not None and os.path.samestat(
                os.fstat(self._file.fileno()), self._current.stat()
            )
        except OSError:
            return False

    def length(self, key: Key) -> int:
        """Bytes that the record of a key takes."""
        return _HEAD.size + self._lengths[key]

    def put(self, content: bytes) -> Key:
        """Append a piece, unless the file has it, and return its key. Raises `OSError`."""
        digest = _digest(content)
        key = digest.hex()
        if key not in self._lengths:
            self._append(PIECE, digest, content)
            self._lengths[key] = len(content)
            self._fresh.append(key)
        return key

    def commit(self, state: bytes) -> None:
        """Append a state, and return when it is on the disk with all its pieces. Raises `OSError`."""
        self._append(STATE, _digest(state), state)
        self._write()
        assert self._file is not None
        os.fsync(self._file.fileno())
        if self._current != self.path:
            self._take_name()
        self._end = self._place
        self._fresh.clear()

    def roll_back(self) -> None:
        """Drop the pieces since the newest state, after a failure."""
        for key in self._fresh:
            self._lengths.pop(key, None)
        self._fresh.clear()
        self._waiting, self._n_waiting = [], 0
        self._place = self._end
        if self._file is not None:
            with contextlib.suppress(OSError):  # else the torn tail stays, until it is overwritten
                self._file.truncate(self._end)

    def rewrite(self, live: Iterable[Key], state: bytes) -> None:
        """Replace the file by one with these pieces and this state, completely or not at all."""
        kept = tuple(dict.fromkeys(live))
        self._write()
        with opened(self.path) as old:
            places = {entry.key: entry for entry in scan(old)}

            def parts() -> Iterator[bytes]:
                yield FIRST_LINE
                for key in kept:
                    yield from _record(PIECE, bytes.fromhex(key), content_at(old, places[key]))
                yield from _record(STATE, _digest(state), state)

            self.close()
            try:
                replace_file(self.path, parts())
                self._lengths = {key: places[key].length for key in kept}
                self._place = self._end = self.path.stat().st_size
                self._fresh.clear()
            finally:
                self._file = self._open()

    def remove(self) -> None:
        """Close and remove the file. Raises `OSError`."""
        self.close()
        self._current.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file. Safe to call again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _take_name(self) -> None:
        self.close()  # Windows renames no open file
        try:
            os.replace(self._current, self.path)
            self._current = self.path
            sync_folder(self.path.parent)
        finally:
            self._file = self._open()

    def _open(self) -> FileIO:
        return FileIO(self._current, "r+")

    def _append(self, kind: bytes, digest: bytes, content: bytes) -> None:
        if self._file is None:
            raise OSError("the journal is closed")
        for part in _record(kind, digest, content):
            self._waiting.append(part)
            self._n_waiting += len(part)
        if self._n_waiting >= AT_ONCE_BYTES:
            self._write()

    def _write(self) -> None:
        """Write what waits. Raises `OSError`."""
        if self._file is None:
            raise OSError("the journal is closed")
        waiting, self._waiting, self._n_waiting = self._waiting, [], 0
        self._file.seek(self._place)
        rest = memoryview(b"".join(waiting))
        while rest:
            written = self._file.write(rest)
            self._place += written
            rest = rest[written:]


@dataclass(frozen=True, slots=True)
class Entry:
    """A record in a file: its kind, its key, and where its content begins and ends."""

    kind: bytes
    key: Key
    begin: int
    length: int


def scan(file: BinaryIO) -> Iterator[Entry]:
    """The records of a file up to its end or its torn tail. Raises `JournalError` for another file."""
    size = length_of(file)
    _check_first_line(file)
    place = len(FIRST_LINE)
    while place + _HEAD.size <= size:
        file.seek(place)
        kind, length, digest = _HEAD.unpack(file.read(_HEAD.size))
        begin = place + _HEAD.size
        if kind not in (PIECE, STATE) or length > size - begin:
            return
        yield Entry(kind, digest.hex(), begin, length)
        place = begin + length


def intact(file: BinaryIO) -> tuple[tuple[Entry, ...], bool]:
    """The records whose content has their digest, also those behind damaged places; and True if the newest
    state may be among the damaged ones.

    A torn tail is no damage: nobody was told that it is on the disk. Raises `JournalError` for another file.
    """
    _check_first_line(file)
    records, is_lost = [], False
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        place = len(FIRST_LINE)
        while place < len(content):
            entry = _entry_at(content, place)
            if entry is None:
                behind = _next_entry(content, place)
                end = len(content) if behind is None else behind.begin - _HEAD.size
                entry = _entry_at(content, place, end)
                is_lost = is_lost or behind is not None or not _is_torn(content, place)
                place = end
            else:
                place = entry.begin + entry.length
            if entry is not None:
                records.append(entry)
                is_lost = is_lost and entry.kind != STATE  # a state stands for everything before it
    return tuple(records), is_lost


def _entry_at(content: mmap.mmap, place: int, end: int | None = None) -> Entry | None:
    """The record at a place if its content has its digest; `end` is that of a record whose length is lost."""
    begin = place + _HEAD.size
    if begin > len(content):
        return None
    kind, length, digest = _HEAD.unpack_from(content, place)
    length = length if end is None else end - begin
    if kind not in (PIECE, STATE) or not 0 <= length <= len(content) - begin:
        return None
    is_whole = _digest(content[begin : begin + length]) == digest
    return Entry(kind, digest.hex(), begin, length) if is_whole else None


def _next_entry(content: mmap.mmap, place: int) -> Entry | None:
    """The next whole record behind a damaged one, whose length may be wrong."""
    searched = 0
    for match in _HEAD_LIKE.finditer(content, place + 1):
        length = _HEAD.unpack_from(content, match.start())[1]
        if length <= len(content) - match.start() - _HEAD.size:
            searched += length
            if searched > MOST_SEARCHED:
                return None
            entry = _entry_at(content, match.start())
            if entry is not None:
                return entry
    return None


def _is_torn(content: mmap.mmap, place: int) -> bool:
    """True if the last record is the beginning of a whole one: its process ended while it was writing."""
    begin = place + _HEAD.size
    if begin > len(content):
        return True
    kind, length, digest = _HEAD.unpack_from(content, place)
    return kind in (PIECE, STATE) and length > len(content) - begin and _digest(content[begin:]) != digest


def _check_first_line(file: BinaryIO) -> None:
    """Raise `JournalError` for another file, `LaterVersion` for a journal of a newer program."""
    file.seek(0)
    said = file.read(len(FIRST_LINE) + _MORE_DIGITS)
    if said.startswith(FIRST_LINE):
        return
    version = _FIRST_LINE.match(said)
    if version is not None and int(version[1]) > VERSION:
        raise LaterVersion(
            Message(
                "The journal must be of version {reads}, which this program reads; got {version}.",
                reads=VERSION,
                version=int(version[1]),
            )
        )
    raise JournalError(Message("The file must be a journal of attnviz; got something else."))


def content_at(file: BinaryIO, entry: Entry) -> bytes:
    """The content of a record. Raises `JournalError` if it is not what was written."""
    file.seek(entry.begin)
    content = file.read(entry.length)
    if _digest(content).hex() != entry.key:
        raise altered()
    return content


def altered() -> JournalError:
    """The error of a record that is not what was written."""
    return JournalError(Message("Every record of a journal must be intact; got a damaged one."))


def _record(kind: bytes, digest: bytes, content: bytes) -> Iterator[bytes]:
    yield _HEAD.pack(kind, len(content), digest)
    yield content


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
