"""`CARRIERS`: the kinds of files that carry the document they were made of, and can be opened again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.errors import InputError, Message
from attnviz.model.io.carriers import gif, markup, mp4, notebook, pdf, png, script
from attnviz.model.io.carriers.record import Record, unpacked

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
    Carrier(".py", script.put, script.find),
)
CARRIER_BY_SUFFIX = {row.suffix: row for row in CARRIERS}


def carrying(data: bytes, suffix: str, record: Record) -> bytes:
    """A file's bytes with a record in them; those of a kind that carries none are unchanged."""
    row = CARRIER_BY_SUFFIX.get(suffix)
    return data if row is None else row.put(data, record.packed())


def carried(data: bytes, suffix: str) -> Record:
    """The record in a file's bytes, of one of the suffixes of `CARRIERS`.

    Raises `InputError` if it has none, and if it is damaged.
    """
    text = CARRIER_BY_SUFFIX[suffix].find(data)
    if text is None:
        raise InputError(Message("The file must carry a document, as files of attnviz do; got none in it."))
    return unpacked(text)
