"""Scripts as files: the text, and beside it the arrays that are too many for it."""

from __future__ import annotations

import os
from pathlib import Path

from attnviz.model.io.files import replace_file
from attnviz.model.spec.document import Document
from attnviz.scripts.library import Library
from attnviz.scripts.script import AS_SHOWN, Wanted, program


def save_script(
    document: Document, path: str | os.PathLike[str], library: Library, wanted: Wanted = AS_SHOWN
) -> tuple[Path, ...]:
    """Write the script of a document; returns the written files.

    More than `MOST_INSIDE` explicit numbers go into an NPZ file of the same name beside it. Raises `OSError`
    if writing fails; an old file is then unchanged.
    """
    made, file = program(document, library, wanted), Path(path)
    beside = () if made.storage.fits_inside else (file.with_suffix(".npz"),)
    for arrays in beside:
        replace_file(arrays, made.storage.npz())
    replace_file(file, made.text('Path(__file__).with_suffix(".npz")').encode("utf-8"))
    return file, *beside
