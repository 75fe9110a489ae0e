"""Documents on disk: whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import FITTING, explicit
from msgspec.structs import replace

from attnviz.model.io import files
from attnviz.model.io.files import DocumentError, dumps, load, loads, save
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    path = tmp_path / "documents"
    path.mkdir()
    return path


def test_reading_what_is_not_there_or_not_text_says_so(folder: Path) -> None:
    (folder / "latin.json").write_bytes(b'{"title": "\xe9"}')
    (folder / "folder.json").mkdir()
    for name, expected in (
        ("none.json", "The file must exist in "),
        ("latin.json", "The text must be UTF-8; byte 11 is not"),
        ("folder.json", "The path must name a file"),
    ):
        with pytest.raises(DocumentError, match=f"^{name}: {expected}"):
            load(folder / name)


def test_a_byte_order_mark_and_another_suffix_are_read(folder: Path) -> None:
    (folder / "d.txt").write_text(FITTING, encoding="utf-8-sig")
    assert load(folder / "d.txt") == loads(FITTING)


def test_a_text_past_the_limit_is_not_parsed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_TEXT", 500)
    (folder / "d.json").write_text(FITTING)
    with pytest.raises(
        DocumentError,
        match=r"d\.json: A JSON document must have at most 500 bytes, larger ones are \.safetensors "
        r"files; got more\.",
    ):
        load(folder / "d.json")


# --- writing ---------------------------------------------------------------------------------


def test_an_experiment_is_saved_with_the_default_view(folder: Path) -> None:
    experiment = loads(FITTING).experiment
    assert load(save(experiment, str(folder / "e"))) == Document(experiment)


def test_another_suffix_is_refused(folder: Path) -> None:
    with pytest.raises(
        DocumentError, match=r"d\.pkl: suffix must be one of '\.json', '\.safetensors'; got '\.pkl'\."
    ):
        save(loads(FITTING), folder / "d.pkl")
    assert not list(folder.iterdir())


def failing_save(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(DocumentError, match=f"^{path.name}: "):
        save(explicit(60, 60), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path], "nothing is left beside the file"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file size are POSIX")
def test_a_disk_that_is_full_leaves_the_old_file(folder: Path) -> None:
    import resource

    path = save(loads(FITTING), folder / "d.json")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        failing_save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("when", ["sync", "replace"])
def test_a_failure_while_writing_leaves_the_old_file(
    when: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(loads(FITTING), folder / "d.json")

    def fail(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync" if when == "sync" else "replace", fail)
    failing_save(path)


def test_a_disk_that_keeps_half_of_it_without_a_word_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(loads(FITTING), folder / "d.json")
    monkeypatch.setattr(files.os, "fsync", lambda descriptor: os.ftruncate(descriptor, 100))
    failing_save(path)


def test_saving_where_nothing_can_be_saved_says_why(folder: Path) -> None:
    with pytest.raises(DocumentError, match="^d.json: No such file or directory"):
        save(loads(FITTING), folder / "none" / "d.json")


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits are POSIX")
def test_permissions_are_kept_and_links_stay_links(folder: Path) -> None:
    path = save(loads(FITTING), folder / "d.json")
    path.chmod(0o640)
    link = folder / "link.json"
    link.symlink_to(path)
    save(explicit(2, 2), link)
    assert link.is_symlink() and load(path) == explicit(2, 2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["图" * 80 + ".json", "a" * 250 + ".json"], ids=["Chinese", "long"])
def test_every_name_that_the_disk_takes_can_be_saved(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    assert load(save(explicit(2, 2), folder / name)) == explicit(2, 2)
    assert [file.name for file in folder.iterdir()] == [name]


def test_what_an_ended_program_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    names = (".d.json.0123456789ab.tmp", ".d.json.0123456789ac.tmp", ".e.json.0123456789ab.tmp")
    old, new, other = (folder / name for name in names)
    for file in (old, new, other):
        file.write_text("half")
    for file in (old, other):
        os.utime(file, (0, 0))
    save(explicit(2, 2), folder / "d.json")
    assert {file.name for file in folder.iterdir()} == {"d.json", new.name, other.name}


KILLED = """
import os, signal, sys
from pathlib import Path
from attnviz.model.io.files import replace_file

def parts():
    yield b"half"
    print("writing", flush=True)
    sys.stdin.read()
    yield b"whole"

replace_file(Path(sys.argv[1]), parts())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_only_the_temporary_file_of_a_killed_process_is_removed(folder: Path) -> None:
    path = folder / "d.json"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"writing\n"
        (left,) = folder.iterdir()
        os.utime(left, (0, 0))  # it has waited for the disk for long
        save(explicit(2, 2), path)
        assert left.exists(), "its process lives and writes"
        writer.kill()
    save(explicit(2, 2), path)
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize("path", ["", "."])
def test_a_folder_is_named_in_the_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError, match=r"\.: The path must name a file; got a folder\."):
        load(path)


def test_a_write_protected_file_is_not_replaced(folder: Path) -> None:
    path = save(loads(FITTING), folder / "d.json")
    before = path.read_bytes()
    path.chmod(0o444)
    with pytest.raises(DocumentError, match="^d.json: the file is write-protected$"):
        save(explicit(2, 2), path)
    path.chmod(0o644)
    assert path.read_bytes() == before and [file.name for file in folder.iterdir()] == ["d.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links are POSIX")
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_what_is_no_file_is_not_replaced(folder: Path, kind: str) -> None:
    path, message = folder / "d.json", "this is not a file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to(os.devnull)
    else:
        path.symlink_to(path)
        message = "this link points to itself"
    before = _unread(path)
    with pytest.raises(DocumentError, match=f"^d.json: {message}$"):
        save(explicit(2, 2), path)
    assert _unread(path) == before


def _unread(path: Path) -> tuple[int, ...]:
    """Inode, kind and time of change: following a link sets the time of its last access."""
    found = os.lstat(path)
    return found.st_ino, found.st_mode, found.st_mtime_ns


@pytest.mark.skipif(not hasattr(os, "chown") or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(folder: Path) -> None:
    path = save(loads(FITTING), folder / "d.json")
    os.chown(path, 12345, 12346)
    path.chmod(0o640)
    save(explicit(2, 2), path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 12346, 0o640)


@pytest.mark.parametrize("given", [3, None, "toy-attention"])
def test_what_is_no_document_is_said_before_anything_is_written(tmp_path: Path, given: Any) -> None:
    with pytest.raises(TypeError, match="^document must be an Experiment or a Document; got a "):
        save(given, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_the_trained_length_of_a_document_is_kept_and_older_files_have_none() -> None:
    document = load_preset("toy-attention")
    text = dumps(document)
    assert document.trained_length is None and "trained_length" not in text and loads(text) == document
    known = replace(document, trained_length=512)
    assert known != document and loads(dumps(known)) == known
    assert replace(known, title="another").trained_length == 512
    with pytest.raises(ValueError, match=r"^trained_length must be a whole number of at least 1; got 0\.$"):
        replace(document, trained_length=0)
