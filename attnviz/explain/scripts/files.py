"""Scripts and notebooks as files: the text, and beside it the arrays that are too many for it."""

from __future__ import annotations

import os
from pathlib import Path

from attnviz.errors import FieldError, InputError, about, must_be, suffix_error
from attnviz.explain.scripts.notebook import notebook
from attnviz.explain.scripts.script import Program
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import replace_files
from attnviz.model.io.regular_file import opened

SCRIPT, NOTEBOOK = ".py", ".ipynb"
ARRAYS = ".npz"
"""Suffix of the file of arrays beside a script."""


def save_program(made: Program, path: str | os.PathLike[str], record: Record) -> tuple[Path, ...]:
    """Write a script, `.py`, or its notebook, `.ipynb`; returns the written files.

    The file carries the document of `record`: `load` reads it from there. More than `MOST_INSIDE` explicit
    numbers go into an NPZ file of the same name beside it. Raises `InputError` for another suffix, and
    `FieldError` for such a file that no earlier script reads; `OSError` if writing fails. An old file is then
    unchanged.
    """
    file = Path(path)
    check_suffix(file, (SCRIPT, NOTEBOOK))
    files = program_files(made, file, record)
    for arrays in list(files)[1:]:
        _check_own(arrays, file)
    return replace_files(files)


def program_files(made: Program, file: Path, record: Record) -> dict[Path, bytes]:
    """The script or the notebook, which the suffix selects; and the arrays beside it, if they are many."""
    arrays = file.with_suffix(ARRAYS)
    if file.suffix.lower() == NOTEBOOK:
        text = notebook(made, repr(arrays.name))
    else:
        text = made.text('Path(__file__).with_suffix(".npz")')
    data = carrying(text.encode(), file.suffix.lower(), record)
    return {file: data} if made.storage.fits_inside else {file: data, arrays: made.storage.npz()}


def _check_own(arrays: Path, script: Path) -> None:
    """Refuse to replace arrays, whose name nobody has typed, unless the script to be replaced reads them."""
    if arrays.exists() and not _reads(script):
        other = must_be("a name beside which no other file {file} stands", file=arrays.name)
        raise FieldError("output", script.name, other)


def _reads(script: Path) -> bool:
    """True for a script or a notebook that reads arrays beside it."""
    if not script.is_file():
        return False
    with opened(script) as stream:
        return ARRAYS.encode() in stream.read()


def check_suffix(file: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file name with another suffix."""
    if file.suffix.lower() not in suffixes:
        raise InputError(about(file.name or file, suffix_error(file.suffix, suffixes).message))
