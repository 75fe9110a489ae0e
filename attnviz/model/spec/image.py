"""The image whose patches are the tokens of a document."""

from __future__ import annotations

from attnviz.errors import FieldError, must_be, verbatim, whole_number
from attnviz.model.spec.value import Value

MOST_BYTES = 4 * 2**20
"""Largest image that a document keeps."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PATCHES = 256
"""Most patches along one side."""


class Image(Value, frozen=True):
    """The image as the model sees it, before its numbers are scaled; it changes no number.

    Attributes:
        png: The file of it.
        rows: Patches from the top to the bottom.
        columns: Patches from left to right; the patches follow each other row by row.
        begin: Tokens before that of the first patch.
    """

    png: bytes
    rows: int
    columns: int
    begin: int = 0

    def check(self) -> None:
        if not self.png.startswith(SIGNATURE) or len(self.png) > MOST_BYTES:
            at_most = must_be("a PNG of at most {most} MB", most=MOST_BYTES // 2**20)
            raise FieldError("image.png", verbatim("…"), at_most)
        for name, least in (("rows", 1), ("columns", 1), ("begin", 0)):
            value = getattr(self, name)
            if not least <= value <= MOST_PATCHES:
                raise FieldError(f"image.{name}", value, whole_number(least, MOST_PATCHES))

    @property
    def n_tokens(self) -> int:
        """Tokens up to the last patch."""
        return self.begin + self.rows * self.columns

    def patch(self, token: int) -> tuple[int, int] | None:
        """(row, column) of a token's patch; None for a token that is none."""
        index = token - self.begin
        return divmod(index, self.columns) if 0 <= index < self.rows * self.columns else None

    def token(self, row: int, column: int) -> int:
        """The token of a patch."""
        return self.begin + row * self.columns + column
