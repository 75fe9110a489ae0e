"""A record in a PNG: a `tEXt` chunk before the end (PNG specification, third edition, 11.3.3.3)."""

from __future__ import annotations

import struct
import zlib

from attnviz.errors import InputError, Message

MAGIC = b"\x89PNG\r\n\x1a\n"
_KEY = b"attnviz\0"
_END = b"IEND"


def put(data: bytes, text: str) -> bytes:
    """The picture with the record before its last chunk."""
    body = b"tEXt" + _KEY + text.encode("ascii")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = data.rindex(_END) - 4
    return data[:end] + chunk + data[end:]


def find(data: bytes) -> bytes | None:
    """The text of the record, or None. Raises `InputError` for a picture that ends early."""
    at = len(MAGIC)
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if len(body) < length:
            break
        if kind == b"tEXt" and body.startswith(_KEY):
            return body[len(_KEY) :]
        if kind == _END:
            return None
        at += length + 12
    raise InputError(Message("The picture must be complete; it ends early."))
