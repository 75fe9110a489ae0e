"""Locks: held by one, released by the end of a process, however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from attnviz.model.io.lock import Lock

HOLDER = """
import sys
from pathlib import Path
from attnviz.model.io.lock import Lock
lock = Lock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_one_holds_it_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    first = Lock.take(path)
    assert first is not None and Lock.take(path) is None
    first.release()
    assert not path.exists()
    second = Lock.take(path)
    assert second is not None
    first.release()  # again: it is no longer the first one's
    assert path.exists() and Lock.take(path) is None
    second.release()


def test_a_process_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        assert Lock.take(path) is None
    finally:
        process.kill()
        process.communicate()
    taken = Lock.take(path)
    assert taken is not None
    taken.release()
