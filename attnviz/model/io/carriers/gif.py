"""A record in a GIF: a comment extension before the trailer (GIF89a specification, section 24)."""

from __future__ import annotations

_OPENING = b"\x21\xfe"
_KEY = b"attnviz:"
_MOST = 255
"""Bytes of a sub-block."""


def put(data: bytes, text: str) -> bytes:
    """The picture with the record before its trailer."""
    body = _KEY + text.encode("ascii")
    blocks = (body[at : at + _MOST] for at in range(0, len(body), _MOST))
    comment = b"".join(bytes([len(block)]) + block for block in blocks)
    return data[:-1] + _OPENING + comment + b"\0" + data[-1:]


def find(data: bytes) -> bytes | None:
    """The text of the record, or None."""
    key = data.rfind(_KEY)
    if key < 3 or data[key - 3 : key - 1] != _OPENING:
        return None
    parts, at = [], key - 1
    while at < len(data) and data[at]:
        parts.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return b"".join(parts).removeprefix(_KEY)
