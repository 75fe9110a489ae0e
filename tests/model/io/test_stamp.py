"""Stamps of files: another content is noticed, another time alone is not."""

from __future__ import annotations

import os
from pathlib import Path

from attnviz.model.io.files import replace_file
from attnviz.model.io.stamp import Stamp


def test_another_content_is_noticed_also_of_the_same_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(b"one")
    stamp = Stamp.of(path)
    assert stamp is not None and stamp.still_holds(path)
    replace_file(path, b"two")
    os.utime(path, ns=(stamp.changed, stamp.changed))
    assert not stamp.still_holds(path)


def test_the_same_content_in_a_new_file_counts_as_the_same(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(b"one")
    stamp = Stamp.of(path)
    assert stamp is not None
    replace_file(path, b"one")
    os.utime(path, ns=(5, 5))
    assert stamp.still_holds(path)


def test_a_removed_file_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    assert Stamp.of(path) is None
    path.write_bytes(b"one")
    stamp = Stamp.of(path)
    path.unlink()
    assert stamp is not None and not stamp.still_holds(path)
