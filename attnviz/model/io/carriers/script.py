"""A record in a Python script: a block of comments at its end."""

from __future__ import annotations

_OPENING = b"# The document of this script, which attnviz opens:"
_MOST = 98
"""Characters of the record in a line."""


def put(data: bytes, text: str) -> bytes:
    """The script with the record after its last line."""
    body = text.encode("ascii")
    lines = [b"# " + body[at : at + _MOST] for at in range(0, len(body), _MOST)]
    return b"\n".join([data.rstrip(b"\n"), b"", _OPENING, *lines, b""])


def find(data: bytes) -> bytes | None:
    """The text of the record, or None."""
    _before, opening, block = data.rpartition(_OPENING)
    return b"".join(line.strip(b"# \t") for line in block.splitlines()) if opening else None
