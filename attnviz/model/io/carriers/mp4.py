"""A record in an MP4 video: a `uuid` box after its last box, which players skip (ISO/IEC 14496-12, 4.2)."""

from __future__ import annotations

import struct

_KIND = b"uuid" + b"attnviz-document"
"""The type of the box, and the 16 bytes that tell it from the boxes of other programs."""
_SIZE = 4
"""Bytes of the length of a box."""


def put(data: bytes, text: str) -> bytes:
    """The video with the record after its boxes, which keep their offsets."""
    body = _KIND + text.encode("ascii")
    return data + struct.pack(">I", _SIZE + len(body)) + body


def find(data: bytes) -> bytes | None:
    """The text of the record, or None."""
    at = data.rfind(_KIND)
    if at < _SIZE:
        return None
    (size,) = struct.unpack(">I", data[at - _SIZE : at])
    return data[at + len(_KIND) : at - _SIZE + size]
