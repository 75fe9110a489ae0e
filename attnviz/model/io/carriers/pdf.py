"""A record in a PDF: a stream object in an incremental update (ISO 32000-1, 7.5.6), which readers keep."""

from __future__ import annotations

import re

_TRAILER = re.compile(rb"trailer\s*<<(.*?)>>\s*startxref\s+(\d+)\s+%%EOF\s*$", re.DOTALL)
_SIZE = re.compile(rb"/Size\s+(\d+)")
_REFERENCES = re.compile(rb"/(?:Root|Info|ID)\s*(?:\d+\s+\d+\s+R|\[.*?\])", re.DOTALL)
_STREAM = re.compile(rb"<< /Type /AttnvizRecord /Length (\d{1,8}) >>\nstream\n")


def put(data: bytes, text: str) -> bytes:
    """The document with the record in one more object after its end."""
    trailer = _TRAILER.search(data)
    assert trailer is not None
    size = _SIZE.search(trailer[1])
    assert size is not None
    number, body = int(size[1]), text.encode("ascii")
    start = data if data.endswith(b"\n") else data + b"\n"
    stream = b"<< /Type /AttnvizRecord /Length %d >>\nstream\n%s\nendstream" % (len(body), body)
    added = b"%d 0 obj\n%s\nendobj\n" % (number, stream)
    table = b"xref\n%d 1\n%010d 00000 n \n" % (number, len(start))
    kept = b" ".join(_REFERENCES.findall(trailer[1]))
    end = b"trailer\n<< /Size %d /Prev %d %s >>\nstartxref\n%d\n%%%%EOF\n"
    return start + added + table + end % (number + 1, int(trailer[2]), kept, len(start) + len(added))


def find(data: bytes) -> bytes | None:
    """The text of the last record, or None."""
    streams = list(_STREAM.finditer(data))
    return data[streams[-1].end() : streams[-1].end() + int(streams[-1][1])] if streams else None
