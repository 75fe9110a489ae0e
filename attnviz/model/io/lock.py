"""A lock that the system releases when its process ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, waits: bool) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, waits: bool) -> None:
        # Not `lockf`: its locks belong to the process, and two windows of one process would share them.
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))


class Lock:
    """The lock on one file, held from `take` until `release` or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path, *, waits: bool = False) -> Lock | None:
        """Take the lock on `path`, a file of its own; None if another holds it and `waits` is false.

        Raises `OSError` if the file cannot be created or the file system has no locks.
        """
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(descriptor, waits)
                is_taken = _is_at(descriptor, path)
            except (BlockingIOError, PermissionError):
                os.close(descriptor)
                return None
            except BaseException:
                os.close(descriptor)
                raise
            if is_taken:
                return cls(path, descriptor)
            os.close(descriptor)  # the last holder removed the file meanwhile

    def release(self) -> None:
        """Release the lock and remove its file. Safe to call again."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        if sys.platform == "win32":  # which removes no open file
            os.close(descriptor)
            with contextlib.suppress(OSError):
                self.path.unlink()
            return
        with contextlib.suppress(OSError):  # still held: who waits finds another file, and takes that
            self.path.unlink()
        os.close(descriptor)


def hold(file: BinaryIO) -> None:
    """Lock an open file until it is closed or the process ends; on a file system without locks, nothing."""
    with contextlib.suppress(OSError):
        _lock(file.fileno(), waits=False)


def is_held(path: Path) -> bool:
    """True if a process holds the lock on a file. Raises `OSError` where that cannot be told."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        _lock(descriptor, waits=False)
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(descriptor)
    return False


def _is_at(descriptor: int, path: Path) -> bool:
    """True if the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
