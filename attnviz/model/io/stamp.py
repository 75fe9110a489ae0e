"""The stamp of a file: what reveals that somebody else has changed it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from attnviz.model.io.regular_file import opened

_Read = TypeVar("_Read")


class Stamp(Struct, frozen=True):
    """Size, time of the last change in nanoseconds, identity, and digest (BLAKE2b) of a file.

    The digest is empty where the content was not read: such a stamp holds until the file is touched.
    """

    size: int
    changed: int
    node: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The stamp of a file; None if it does not exist. Raises `OSError` if it cannot be read."""
        try:
            with opened(path) as file:
                state = os.fstat(file.fileno())
                digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        except FileNotFoundError:
            return None
        return cls._of_state(state, digest)

    @classmethod
    def unread(cls, path: Path) -> Stamp | None:
        """The stamp of a file without its digest; None if it does not exist."""
        try:
            return cls._of_state(path.stat(), "")
        except FileNotFoundError:
            return None

    @classmethod
    def _of_state(cls, state: os.stat_result, digest: str) -> Stamp:
        return cls(state.st_size, state.st_mtime_ns, state.st_ino, digest)

    def still_holds(self, path: Path) -> bool:
        """True if the file has this content.

        A file of this size, time and identity is not read, nor one of another size. Raises `OSError` if it
        cannot be read.
        """
        present = Stamp.unread(path)
        if present is None or present.size != self.size:
            return False
        if self._is_touched_since(present):
            now = Stamp.of(path)
            return now is not None and now.digest == self.digest
        return True

    def _is_touched_since(self, other: Stamp) -> bool:
        return (other.size, other.changed, other.node) != (self.size, self.changed, self.node)


def stamped(path: Path, read: Callable[[], _Read]) -> tuple[_Read, Stamp | None]:
    """The result of `read` for a file, and the file's stamp; a change meanwhile counts as a later one.

    The digest is computed after the reading, since `read` refuses a wrong file of any size at once. Raises
    what `read` raises, and `OSError`.
    """
    before = Stamp.unread(path)
    content = read()
    after = Stamp.of(path)
    is_same = before is not None and after is not None and not before._is_touched_since(after)
    return content, after if is_same else before
