"""The document as Python: a script, a notebook, and the text for the clipboard."""

from __future__ import annotations

from pathlib import Path

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check
from attnviz.explain.scripts.files import ARRAYS, program_files
from attnviz.explain.scripts.library import LIBRARIES
from attnviz.explain.scripts.script import program
from attnviz.gui.export.kinds.table import shortened
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.model.io.files import replace_files


def as_python(suffix: str, source: Source, choice: Choice, check: Check) -> Made:
    """The program that recomputes the document, with its arrays beside it where they are many.

    The preview is its text, without the document that the file carries.
    """
    library = next(row for row in LIBRARIES if row.id == choice.format)
    script = program(source.document, library)
    check()
    record = record_of(source.document)
    files = program_files(script, Path(f"attention{suffix}"), record)
    text = script.text('Path(__file__).with_suffix(".npz")')

    def write(contents: tuple[bytes, ...], path: Path) -> tuple[Path, ...]:
        return replace_files(program_files(script, path, record))

    beside = "" if script.storage.fits_inside else ARRAYS
    return Made(tuple(files.values()), shortened(text), text, write, beside)
