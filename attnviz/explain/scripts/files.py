"""Scripts and notebooks as files: the text, and beside it the arrays that are too many for it."""

from __future__ import annotations

import os
from pathlib import Path

from attnviz.errors import InputError, about, suffix_error
from attnviz.explain.scripts.library import Library
from attnviz.explain.scripts.notebook import notebook
from attnviz.explain.scripts.script import AS_SHOWN, Program, Wanted, program
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import record_of, replace_files
from attnviz.model.spec.document import Document

SCRIPT, NOTEBOOK = ".py", ".ipynb"


def save_script(
    document: Document,
    path: str | os.PathLike[str],
    library: Library,
    wanted: Wanted = AS_SHOWN,
    record: Record | None = None,
) -> tuple[Path, ...]:
    """Write the script of a document, `.py`, or its notebook, `.ipynb`; returns the written files.

    The file carries the document, or `record`: `load` reads it from there. More than `MOST_INSIDE` explicit
    numbers go into an NPZ file of the same name beside it. Raises `InputError` for another suffix, `OSError`
    if writing fails; an old file is then unchanged.
    """
    file = Path(path)
    check_suffix(file, (SCRIPT, NOTEBOOK))
    made = program(document, library, wanted)
    return replace_files(program_files(made, file, record or record_of(document)))


def program_files(made: Program, file: Path, record: Record) -> dict[Path, bytes]:
    """The script or the notebook, which the suffix selects; and the arrays beside it, if they are many."""
    arrays = file.with_suffix(".npz")
    if file.suffix.lower() == NOTEBOOK:
        text = notebook(made, repr(arrays.name))
    else:
        text = made.text('Path(__file__).with_suffix(".npz")')
    data = carrying(text.encode(), file.suffix.lower(), record)
    return {file: data} if made.storage.fits_inside else {file: data, arrays: made.storage.npz()}


def check_suffix(file: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file name with another suffix."""
    if file.suffix.lower() not in suffixes:
        raise InputError(about(file.name or file, suffix_error(file.suffix, suffixes).message))
