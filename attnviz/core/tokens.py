"""Text to tokens and back: by space, by character, by UTF-8 byte."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from attnviz.errors import FieldError, among
from attnviz.i18n import N_


@dataclass(frozen=True)
class Splitting:
    """One way to split a text into tokens."""

    id: str
    title: str


SPLITTINGS = (
    Splitting("word", N_("word")),
    Splitting("character", N_("char")),
    Splitting("byte", N_("byte")),
)

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")
"""Characters of Chinese and Japanese, which are written without spaces between words."""

_BYTE = re.compile(r"⟨([0-9A-F]{2})⟩")


def split(text: str, splitting: str) -> tuple[str, ...]:
    """Tokens of `text`: words between spaces, characters with their combining marks, or bytes.

    A byte that is no printable ASCII character becomes its two hexadecimal digits in ⟨⟩, so that a
    piece of a character never appears as another character. Raises `ValueError` for an unknown splitting.
    """
    if splitting == "word":
        return tuple(text.split())
    if splitting == "character":
        return _characters(text)
    if splitting == "byte":
        return tuple(
            chr(byte) if 0x20 <= byte < 0x7F else f"⟨{byte:02X}⟩"
            for byte in text.encode("utf-8", errors="surrogatepass")
        )
    raise FieldError("splitting", splitting, among(row.id for row in SPLITTINGS))


def join(tokens: tuple[str, ...], splitting: str) -> str:
    """Join tokens to the text that `split` cuts into `tokens`, as far as such a text exists."""
    if splitting == "word":
        return " ".join(tokens)
    if splitting == "character":
        return "".join(tokens)
    return b"".join(map(token_bytes, tokens)).decode("utf-8", errors="backslashreplace")


def token_bytes(token: str) -> bytes:
    """The bytes of a token: the one that ⟨E4⟩ names, else those of its text in UTF-8."""
    match = _BYTE.fullmatch(token)
    return bytes([int(match[1], 16)]) if match else token.encode("utf-8", errors="surrogatepass")


def guess_splitting(tokens: tuple[str, ...]) -> str:
    """The splitting in which a text line most likely shows these tokens."""
    if any(_BYTE.fullmatch(token) for token in tokens):
        return "byte"
    if len(tokens) > 1 and all(len(_characters(token)) == 1 for token in tokens):
        return "character"
    return "word"


def is_unspaced(text: str) -> bool:
    """True for a text whose words no spaces divide: at least half of it is Chinese or Japanese."""
    inner = text.strip()
    return " " not in inner and len(inner) > 1 and 2 * len(_UNSPACED.findall(inner)) >= len(inner)


def _characters(text: str) -> tuple[str, ...]:
    """Base characters, each with the combining marks and joiners that follow it."""
    clusters: list[str] = []
    for character in text:
        joins = unicodedata.combining(character) or character in "\u200d\ufe0e\ufe0f"
        if clusters and (joins or clusters[-1].endswith("\u200d")):
            clusters[-1] += character
        else:
            clusters.append(character)
    return tuple(clusters)
