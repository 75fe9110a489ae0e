"""`CARRIERS`: the kinds of files that carry the document they were made from, and can be opened again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attnviz.errors import InputError, Message
from attnviz.model.io.carriers import csvw, gif, markup, mp4, notebook, npz, pdf, png
from attnviz.model.io.carriers.comment import LATEX, MARKDOWN, PYTHON
from attnviz.model.io.carriers.record import Record, unpacked
from attnviz.model.io.regular_file import read_bytes

MOST_BYTES = 256 * 2**20
"""Largest file that is searched for a document."""


@dataclass(frozen=True)
class Carrier:
    """One kind of file: its suffix, how a record is put into its bytes, and how it is found there."""

    suffix: str
    put: Callable[[bytes, str], bytes]
    find: Callable[[bytes], bytes | None]


CARRIERS = (
    Carrier(".png", png.put, png.find),
    Carrier(".svg", markup.put_svg, markup.find_svg),
    Carrier(".pdf", pdf.put, pdf.find),
    Carrier(".html", markup.put_html, markup.find_html),
    Carrier(".gif", gif.put, gif.find),
    Carrier(".mp4", mp4.put, mp4.find),
    Carrier(".ipynb", notebook.put, notebook.find),
    Carrier(".py", PYTHON.put, PYTHON.find),
    Carrier(".tex", LATEX.put, LATEX.find),
    Carrier(".md", MARKDOWN.put, MARKDOWN.find),
    Carrier(".npz", npz.put, npz.find),
)
CARRIER_BY_SUFFIX = {row.suffix: row for row in CARRIERS}
CARRYING = (*CARRIER_BY_SUFFIX, csvw.CSV)
"""Suffixes of the files that open although they are no documents."""


def is_carrier(path: Path) -> bool:
    """True for a file that may carry a document, by its name."""
    return path.suffix.lower() in CARRIER_BY_SUFFIX or csvw.is_of_table(path)


def carries(path: Path) -> bool:
    """True for a file in which a document is found, damaged or not; False for one that cannot be read."""
    row = CARRIER_BY_SUFFIX.get(path.suffix.lower())
    try:
        return row is not None and row.find(_read(path)) is not None
    except (InputError, OSError):
        return False


def carrying(data: bytes, suffix: str, record: Record) -> bytes:
    """A file's bytes with a record in them; those of a kind that carries none are unchanged."""
    row = CARRIER_BY_SUFFIX.get(suffix)
    return data if row is None else row.put(data, record.packed())


def files_carrying(data: bytes, path: Path, record: Record) -> dict[Path, bytes]:
    """The file with a record in it; a CSV table is unchanged, and its record is in a file beside it."""
    if path.suffix.lower() == csvw.CSV:
        return {path: data, csvw.place(path): csvw.metadata(path.name, record)}
    return {path: carrying(data, path.suffix.lower(), record)}


def record_in(path: Path) -> Record:
    """The record of a file for which `is_carrier` is true.

    Raises `InputError` if it has none, and if it is damaged or too large; `OSError` if it cannot be read.
    """
    if csvw.is_of_table(path):
        return _beside(path)
    return carried(_read(path), path.suffix.lower())


def _beside(path: Path) -> Record:
    """The record of a CSV table."""
    place = csvw.place(path)
    if not place.is_file():
        raise InputError(
            Message("The file {file} must exist beside the table: it contains the document.", file=place.name)
        )
    return _unpacked(csvw.find(_read(place)))


def _read(path: Path) -> bytes:
    return read_bytes(path, MOST_BYTES)


def carried(data: bytes, suffix: str) -> Record:
    """The record in a file's bytes, of one of the suffixes of `CARRIERS`.

    Raises `InputError` if it has none, and if it is damaged.
    """
    return _unpacked(CARRIER_BY_SUFFIX[suffix].find(data))


def _unpacked(text: bytes | None) -> Record:
    if text is None:
        raise InputError(Message("The file must contain a document, as files of attnviz do; got none."))
    return unpacked(text)
