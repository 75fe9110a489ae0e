"""The stamp of a file: what reveals that somebody else has changed it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec import Struct


class Stamp(Struct, frozen=True):
    """Size, time of the last change in nanoseconds, identity, and digest (BLAKE2b) of a file."""

    size: int
    changed: int
    node: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The stamp of a file; None if it does not exist. Raises `OSError` if it cannot be read."""
        try:
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        except FileNotFoundError:
            return None
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, digest)

    def still_holds(self, path: Path) -> bool:
        """True if the file has this content.

        A file of this size, time and identity is not read. Raises `OSError` if it cannot be read.
        """
        try:
            found = path.stat()
        except FileNotFoundError:
            return False
        if (found.st_size, found.st_mtime_ns, found.st_ino) == (self.size, self.changed, self.node):
            return True
        now = Stamp.of(path)
        return now is not None and now.digest == self.digest
