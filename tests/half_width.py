"""Half-width punctuation beside Chinese characters, where a typesetter uses full-width signs."""

from __future__ import annotations

import re

_HAN = r"[㐀-鿿]"

_NOTATION = re.compile(r"\[[^\[\]]*\]|\([^()]*\)(?= = [\d(])")
"""Indices, as in `分数[她, 猫]`, and the names of the numbers of a shape, as in `(头, 查询) = (2, 4)`."""

_HALF_WIDTH = re.compile(rf"{_HAN}(?:[,;:]| \()|[,;:] {_HAN}")


def half_width_marks(text: str) -> list[str]:
    """The places of a Chinese text, a few characters each, with a comma, semicolon, colon or parenthesis of
    ASCII between words.
    """
    words = _NOTATION.sub("", text)
    return [words[max(0, m.start() - 12) : m.end() + 12] for m in _HALF_WIDTH.finditer(words)]
