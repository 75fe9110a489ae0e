"""Scripts and notebooks as files: the text, and beside it the arrays that are too many for it."""

from __future__ import annotations

import os
from pathlib import Path

from attnviz.errors import InputError, about, suffix_error
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import record_of, replace_file
from attnviz.model.spec.document import Document
from attnviz.scripts.library import Library
from attnviz.scripts.notebook import notebook
from attnviz.scripts.script import AS_SHOWN, Wanted, program

SCRIPT, NOTEBOOK = ".py", ".ipynb"


def save_script(
    document: Document, path: str | os.PathLike[str], library: Library, wanted: Wanted = AS_SHOWN
) -> tuple[Path, ...]:
    """Write the script of a document, `.py`, or its notebook, `.ipynb`; returns the written files.

    The file carries the document: `load` reads it from there. More than `MOST_INSIDE` explicit numbers go
    into an NPZ file of the same name beside it. Raises `InputError` for another suffix, `OSError` if writing
    fails; an old file is then unchanged.
    """
    file = Path(path)
    check_suffix(file, (SCRIPT, NOTEBOOK))
    made, arrays = program(document, library, wanted), file.with_suffix(".npz")
    beside = () if made.storage.fits_inside else (arrays,)
    if file.suffix.lower() == NOTEBOOK:
        text = notebook(made, repr(arrays.name))
    else:
        text = made.text('Path(__file__).with_suffix(".npz")')
    data = carrying(text.encode(), file.suffix.lower(), record_of(document))
    for stored in beside:
        replace_file(stored, made.storage.npz())
    replace_file(file, data)
    return file, *beside


def check_suffix(file: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file name with another suffix."""
    if file.suffix.lower() not in suffixes:
        raise InputError(about(file.name, suffix_error(file.suffix, suffixes).message))
