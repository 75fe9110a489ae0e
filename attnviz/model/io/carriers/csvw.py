"""A record beside a CSV table, in the metadata of *CSV on the Web* (W3C, Model for Tabular Data, 5.3).

CSV has no comments: a line that begins with # stops pandas and is a row in a spreadsheet, and a record in a
cell is a label that nobody wrote. The standard keeps the table as it is, and names the file for its metadata:
`weights.csv-metadata.json` beside `weights.csv`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attnviz.core.text import in_json
from attnviz.errors import InputError, Message
from attnviz.model.io.carriers.record import Record

CSV = ".csv"
_ENDING = f"{CSV}-metadata.json"
_KEY = "attnviz"


def is_of_table(path: Path) -> bool:
    """True for a CSV table, and for the file of its metadata."""
    return path.name.lower().endswith((CSV, _ENDING))


def place(path: Path) -> Path:
    """The file of the metadata of a table; itself, if it is one."""
    return path if path.name.lower().endswith(_ENDING) else path.with_name(f"{path.name}-metadata.json")


def metadata(name: str, record: Record) -> bytes:
    """The metadata of the table with this file name."""
    fields = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": name,
        "dc:title": record.title,
        "dc:creator": f"attnviz {record.version}",
        "notes": [{_KEY: record.packed()}],
    }
    return (in_json(json.dumps(fields, ensure_ascii=False, indent=1)) + "\n").encode()


def find(data: bytes) -> bytes | None:
    """The text of the record in the metadata, or None. Raises `InputError` for what is no metadata."""
    try:
        fields: Any = json.loads(data)
        texts = [note[_KEY] for note in fields["notes"] if isinstance(note, dict) and _KEY in note]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise InputError(Message("The file must be the metadata of a table in JSON.")) from None
    return texts[0].encode("ascii", "replace") if texts and isinstance(texts[0], str) else None
