"""The record in a written file: the document that it was made from, the version and the command.

The record is JSON, deflated, in base64: text that every kind of file can hold. Reading is bounded, since a
file may come from anywhere: a few kilobytes could inflate to gigabytes.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.errors import InputError, Message, quoted
from attnviz.model.io.json_text import MAX_TEXT, document_from, parse, write
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.origin import Link, Linked, nothing_linked
from attnviz.version import __version__

MOST_CARRIED = 2**20
"""Largest number of characters of a record; of a larger document, it has the name and the command alone."""
MOST_INLINE = 2**16
"""Numbers in the arrays of a document up to which it is written into a record."""

FORMAT = "attnviz-made"


Suppliers = Callable[[], Mapping[str, Callable[[], Matrix]]]
"""The matrices that a record may refer to by name, read when they are needed."""


@dataclass(frozen=True)
class Record:
    """The document as JSON text; its title, the version, and instead of a large document the command."""

    document: str
    title: str
    version: str
    command: str

    @staticmethod
    def of(
        document: Document,
        command: str = "",
        names: Mapping[Matrix, str] | None = None,
        numbers: int = 0,
        link: Link | None = None,
    ) -> Record:
        """The record of a document, or of its command where the document is too large.

        Matrices in `names` and those of the checkpoint `link` are written by name; the others have `numbers`
        numbers.
        """
        text = write(document, names or {}, link) if numbers <= MOST_INLINE else ""
        small = Record(text, document.title, __version__, "")
        if small.document and len(small.packed()) <= MOST_CARRIED:
            return small
        return Record("", document.title, __version__, command)

    def packed(self) -> str:
        """The record as text of letters, digits, +, / and =."""
        fields = {"format": FORMAT, "version": self.version, "title": self.title, "command": self.command}
        whole = json.dumps({**fields, "document": self.document}).encode()
        return base64.b64encode(zlib.compress(whole, 9)).decode("ascii")

    def restored(self, shipped: Suppliers, linked: Linked = nothing_linked) -> Document:
        """The document; `shipped` supplies the matrices that it names, `linked` those of its checkpoint.

        Raises `InputError` where the file has its title alone, and where the document is invalid.
        """
        if self.document:
            has_names = '"tensor"' in self.document
            return document_from(parse(self.document), shipped() if has_names else {}, linked)
        raise InputError(
            Message(
                "A document must have at most {most:,} characters to be stored in this file; the "
                "file names {title} only.",
                most=MOST_CARRIED,
                title=quoted(self.command or self.title),
            )
        )


def unpacked(text: bytes) -> Record:
    """The record in the text of `Record.packed`. Raises `InputError` for damaged or overlong text."""
    damaged = InputError(Message("The document in the file must be complete; it is damaged."))
    if len(text) > 2 * MOST_CARRIED:
        raise damaged
    inflater = zlib.decompressobj()
    try:
        whole = inflater.decompress(base64.b64decode(text, validate=True), 2 * MAX_TEXT)
        fields: Any = json.loads(whole)
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        raise damaged from None
    names = ("document", "title", "version", "command")
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise damaged
    values = [fields.get(name) for name in names]
    texts = [value for value in values if isinstance(value, str)]
    if inflater.unconsumed_tail or len(texts) < len(names):
        raise damaged
    return Record(*texts)
