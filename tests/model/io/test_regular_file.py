"""Files of a user: what is no regular file, or too large, is refused at once, whoever reads it."""

from __future__ import annotations

import ast
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import attnviz
from attnviz.checkpoints.reader import read_checkpoint, read_object
from attnviz.checkpoints.signals.image import read_image
from attnviz.checkpoints.signals.reading import read_array
from attnviz.checkpoints.tokenizers.files import read_text as tokenizer_text
from attnviz.gui.panels.mechanism.mask import read_numbers
from attnviz.model.io.carriers.table import carries
from attnviz.model.io.regular_file import Missing, NotRegular, TooLarge, opened, read_bytes, read_text
from attnviz.model.io.stamp import Stamp, stamped
from attnviz.model.spec.memory_map import mapped
from attnviz.study.lessons.table import lesson_named
from attnviz.study.survey.store import read_table
from attnviz.study.survey.texts import read_texts

PACKAGE = Path(attnviz.__file__).parent
HUGE = 10 * 2**30
"""Bytes of a file that nobody reads in a second; it takes no room, since nothing is written to it."""

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="pipes with names are POSIX")

OPENINGS: dict[str, Callable[[Path], object]] = {
    "d.json": attnviz.load,
    "d.safetensors": attnviz.load,
    "d.npz": attnviz.load,
    "d.svg": attnviz.load,
    "lesson.md": lambda path: lesson_named(str(path)),
    "image.png": read_image,
    "features.npy": read_array,
    "mask.csv": read_numbers,
    "texts.txt": read_texts,
    "texts.jsonl": read_texts,
    "survey.parquet": read_table,
    "config.json": read_object,
    "merges.txt": tokenizer_text,
    "model.gguf": mapped,
    "stamped.json": Stamp.of,
}
"""Of a file's name, the function that reads it."""

KINDS: dict[str, Callable[[Path], None]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
}


@contextmanager
def at_once() -> Iterator[None]:
    """Fail for what takes longer than a few seconds: a hanging test would say nothing."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError("it waits, or reads the whole")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(5)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@POSIX
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPENINGS)
def test_what_is_no_file_is_refused_at_once_by_every_reader(name: str, kind: str, tmp_path: Path) -> None:
    if OPENINGS[name] is read_table:
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    KINDS[kind](path)
    if OPENINGS[name] is read_texts and kind == "a folder":
        return  # of texts
    with at_once(), pytest.raises((ValueError, OSError), match=f"The path must name a file; got {kind}."):
        OPENINGS[name](path)


@POSIX
@pytest.mark.parametrize("name", [name for name in OPENINGS if name not in ("model.gguf", "stamped.json")])
def test_a_huge_wrong_file_is_refused_at_once_by_every_reader(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(HUGE)
    with at_once(), pytest.raises((ValueError, OSError)):
        OPENINGS[name](path)


@POSIX
def test_a_file_that_becomes_a_pipe_before_it_is_opened_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, regular = tmp_path / "d.json", (tmp_path / "regular")
    os.mkfifo(path)
    regular.write_text("{}")
    found = os.stat(regular)
    monkeypatch.setattr(os, "stat", lambda path: found)
    with at_once(), pytest.raises(NotRegular):
        opened(path)


def test_the_size_comes_first_and_every_fault_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    with pytest.raises(Missing, match=f"^The file must exist in {tmp_path}\\.$"):
        opened(path)
    path.write_bytes(b"\xef\xbb\xbfword")
    assert read_text(path, 7) == "word" and read_bytes(path, 7) == path.read_bytes()
    with pytest.raises(TooLarge, match=r"^The file must have at most 6 bytes; got 7\.$"):
        read_text(path, 6)
    path.write_bytes(b"w\xff")
    with pytest.raises(ValueError, match=r"^The text must be UTF-8; byte 1 is not\.$"):
        read_text(path, 6)


def test_a_wrong_file_is_not_hashed_and_a_change_while_it_is_read_counts_as_a_later_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(b"one")
    assert stamped(path, lambda: 5) == (5, Stamp.of(path))

    def change() -> str:
        path.write_bytes(b"other")
        return "one"

    read, stamp = stamped(path, change)
    assert read == "one" and stamp is not None and not stamp.still_holds(path)
    with path.open("wb") as file:
        file.truncate(HUGE)
    with at_once(), pytest.raises(attnviz.model.io.files.DocumentError):
        stamped(path, lambda: attnviz.load(path))


@POSIX
def test_a_shard_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    os.mkfifo(tmp_path / "model.safetensors")
    with at_once(), pytest.raises(ValueError, match="The folder must contain "):
        read_checkpoint(tmp_path)
    assert not carries(tmp_path / "model.safetensors")


# --- nobody opens a file past it ---------------------------------------------------------------------

OWN = {
    "model/io/regular_file.py": "the place itself",
    "model/io/lock.py": "a file that is locked, and neither read nor written",
    "compute/budget.py": "files of the system",
    "figures/sequences/outputs.py": "a temporary file of its own",
}
"""Modules that open what no user names."""


def reads(tree: ast.AST) -> Iterator[int]:
    """The lines that read a file by its path and not by `opened`; files that ship with the program are passed
    over.
    """
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        words = ast.unparse(call.func)
        first = ast.unparse(call.args[0]) if call.args else ""
        is_read = words.endswith((".read_text", ".read_bytes")) and "path(" not in words
        is_opened = words.endswith(".open") and first[:2] in ("'r", '"r') and not words.startswith("os")
        is_bare = words == "open" and not any(mode in ast.unparse(call) for mode in ("'w'", "descriptor_of"))
        is_loaded = words in ("np.load", "zipfile.ZipFile", "Image.open", "os.open")
        is_stream = any(name in first for name in ("stream", "file", "BytesIO", "devnull", "folder"))
        if is_read or is_opened or is_bare or (is_loaded and not is_stream):
            yield call.lineno


def test_every_file_of_a_user_is_opened_in_one_place() -> None:
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).as_posix()
        lines = list(reads(ast.parse(file.read_text(encoding="utf-8"))))
        if lines and name not in OWN and not name.startswith(("resources/", "bench/")):
            found[name] = lines
    assert found == {}
