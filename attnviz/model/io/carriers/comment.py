"""A record in a text that a program reads: comments at its end, in the manner of its language."""

from __future__ import annotations

from dataclasses import dataclass

_OPENING = b"The document of this file, which attnviz opens:"
_KEY = b", which attnviz opens:"
_MOST = 98
"""Characters of the record in a line."""


@dataclass(frozen=True)
class Comment:
    """The comments of a language: the mark that begins each line, or the ones around all of them.

    `gap` stands between the text and the comments.
    """

    mark: bytes = b""
    before: bytes = b""
    after: bytes = b""
    gap: bytes = b"\n"

    def put(self, data: bytes, text: str) -> bytes:
        """The text with the record after its last line."""
        body = text.encode("ascii")
        record = (body[at : at + _MOST] for at in range(0, len(body), _MOST))
        lines = b"".join(self.mark + line + b"\n" for line in (_OPENING, *record))
        return data.rstrip(b"\n") + b"\n" + self.gap + self.before + lines + self.after

    def find(self, data: bytes) -> bytes | None:
        """The text of the record, or None."""
        _before, key, block = data.rpartition(_KEY)
        block = block.partition(self.after)[0] if self.after else block
        return b"".join(line.strip(self.mark + b" \t\r") for line in block.splitlines()) if key else None


PYTHON = Comment(b"# ")
LATEX = Comment(b"% ", gap=b"")
"""Without a gap: an empty line ends a paragraph, which no formula may contain."""
MARKDOWN = Comment(before=b"<!-- ", after=b"-->\n")
"""A comment of HTML, which no renderer of Markdown shows."""
