"""A record in a notebook: a field of its metadata (nbformat 4)."""

from __future__ import annotations

import json
from typing import Any

from attnviz.errors import InputError, Message

_KEY = "attnviz"


def put(data: bytes, text: str) -> bytes:
    """The notebook with the record in its metadata."""
    notebook = json.loads(data)
    notebook.setdefault("metadata", {})[_KEY] = text
    return (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode()


def find(data: bytes) -> bytes | None:
    """The text of the record, or None. Raises `InputError` for a file that is no notebook."""
    try:
        notebook: Any = json.loads(data)
        text = notebook["metadata"].get(_KEY)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise InputError(Message("The file must be a notebook in JSON.")) from None
    return text.encode("ascii", "replace") if isinstance(text, str) else None
