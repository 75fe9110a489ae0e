"""Saving in turns: nobody overwrites what somebody else has written meanwhile.

Processes of one user take turns at a file, by a lock in a folder of their own. Another program holds no lock:
the file is compared once more just before the new one takes its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from attnviz.model.io.files import save
from attnviz.model.io.lock import Lock
from attnviz.model.io.stamp import Stamp
from attnviz.model.io.tensors import Attached, Progress
from attnviz.model.spec.document import Document


class ChangedOnDisk(Exception):
    """The file is not what it was; nothing was written."""


def save_in_turn(
    document: Document,
    path: Path,
    expected: Stamp | None,
    folder: Path,
    progress: Progress,
    with_weights: bool = False,
    attached: Attached | None = None,
) -> tuple[Path, Stamp | None]:
    """Write a document, perhaps with its run, as `save` does; the path and the stamp of its file.

    `expected` is the stamp that the file must still have, if it exists; None for any. `folder` is for the
    locks. Raises `ChangedOnDisk`, and what `save` raises.
    """

    def check() -> None:
        if expected is not None and path.exists() and not expected.still_holds(path):
            raise ChangedOnDisk

    def checked(share: float) -> None:
        if share >= 1.0:
            check()
        progress(share)

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a file system without locks: the comparison alone remains
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = hashlib.blake2b(os.fsencode(os.path.realpath(path)), digest_size=16).hexdigest()
            lock = Lock.take(folder / f"{name}.lock", waits=True)
            if lock is not None:
                stack.callback(lock.release)
        check()
        written = save(document, path, checked, with_weights=with_weights, attached=attached)
        return written, Stamp.of(written)
