"""A record in an SVG, as its metadata, and in an HTML page, as a block of data that no browser runs."""

from __future__ import annotations

import re

_SVG = re.compile(rb'<metadata id="attnviz">([A-Za-z0-9+/=]*)</metadata>')
_HTML = re.compile(rb'<script type="text/plain" id="attnviz">([A-Za-z0-9+/=]*)</script>')
_ROOT = re.compile(rb"<svg\b[^>]*>")


def put_svg(data: bytes, text: str) -> bytes:
    """The picture with the record as the first child of its root."""
    root = _ROOT.search(data)
    assert root is not None
    element = b'<metadata id="attnviz">%s</metadata>' % text.encode("ascii")
    return data[: root.end()] + b"\n " + element + data[root.end() :]


def find_svg(data: bytes) -> bytes | None:
    """The text of the record, or None."""
    match = _SVG.search(data)
    return None if match is None else match[1]


def put_html(data: bytes, text: str) -> bytes:
    """The page with the record at the end of its body, or of the file."""
    element = b'<script type="text/plain" id="attnviz">%s</script>\n' % text.encode("ascii")
    at = data.rfind(b"</body>")
    return data + element if at < 0 else data[:at] + element + data[at:]


def find_html(data: bytes) -> bytes | None:
    """The text of the record, or None."""
    match = _HTML.search(data)
    return None if match is None else match[1]
