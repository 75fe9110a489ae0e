"""The conventions by which vocabularies write a text: how it is cut, and the bytes that a token stands for.

The rules are written here: a document names one and brings no pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WORDS = r' ?[A-Za-z]+| ?[0-9]| ?"|[\s\S]'
"""One pre-token of `words`: a word, digit or quotation mark with the space before it, or any character."""

SPACE = "\u2581"
"""Character that SentencePiece writes for a space."""

TEXT_BYTES = (*range(0xC0), *range(0xC2, 0xF5))
"""Bytes that occur in UTF-8 texts."""

_WORD = re.compile(WORDS)
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_CONTRACTION = re.compile("'(?:[stmd]|re|ve|ll)")
_RUNS = re.compile(r" ?L+| ?N+| ?O+")
_SPACES = re.compile(r"[ W]+")


def _alphabet() -> tuple[str, ...]:
    """Return the character of each byte in GPT-2's alphabet (Radford et al. 2019).

    Bytes that are printable characters of Latin-1 stand for themselves; the others, in order, are U+0100 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


ALPHABET = _alphabet()
_BYTE_OF = {character: byte for byte, character in enumerate(ALPHABET)}


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text))


def _whole(text: str) -> Iterator[str]:
    if text:
        yield text.replace(" ", SPACE)


def _byte_level(text: str) -> Iterator[str]:
    """GPT-2's pre-tokens: contractions, words, numbers, other signs, each with the space before it; spaces.

    Of several spaces before a word, the last one belongs to the word.
    """
    classes = "".join(map(class_of, text))
    at = 0
    while at < len(text):
        contraction = _CONTRACTION.match(text, at)
        end = contraction.end() if contraction else _end_of_run(classes, at)
        yield "".join(ALPHABET[byte] for byte in text[at:end].encode())
        at = end


def class_of(character: str) -> str:
    """L, N, W (white space), O (other), or the space itself."""
    if character == " ":
        return " "
    if character.isspace() and not "\x1c" <= character <= "\x1f":
        return "W"
    kind = unicodedata.category(character)[0]
    return kind if kind in "LN" else "O"


def _end_of_run(classes: str, at: int) -> int:
    """Return the index where the pre-token that begins at `at` ends."""
    run = _RUNS.match(classes, at)
    if run:
        return run.end()
    spaces = _SPACES.match(classes, at)
    assert spaces is not None  # every class belongs to one of the two patterns
    is_last, several = spaces.end() == len(classes), spaces.end() - at > 1
    return spaces.end() - (several and not is_last)


def text_bytes(token: str) -> bytes:
    return (
        bytes([_byte_value(token)]) if is_byte_token(token) else token.encode("utf-8", errors="surrogatepass")
    )


def _space_bytes(token: str) -> bytes:
    return text_bytes(token.replace(SPACE, " "))


def _alphabet_bytes(token: str) -> bytes:
    if all(character in _BYTE_OF for character in token):
        return bytes(_BYTE_OF[character] for character in token)
    return token.encode("utf-8", errors="surrogatepass")


def is_byte_token(token: str) -> bool:
    """True if a token is written as `byte_token` writes them."""
    return _BYTE_TOKEN.fullmatch(token) is not None


def _byte_value(token: str) -> int:
    return int(token[3:5], 16)


def byte_token(byte: int) -> str:
    """The token that stands for one byte: `<0xE4>`."""
    return f"<0x{byte:02X}>"


def _text_byte(byte: int) -> tuple[str, ...]:
    """Return the tokens of which one suffices to write a byte: its ASCII character, or its byte token."""
    return (byte_token(byte), chr(byte)) if byte < 0x80 else (byte_token(byte),)


def _space_byte(byte: int) -> tuple[str, ...]:
    return (byte_token(byte), SPACE) if byte == 0x20 else _text_byte(byte)


def _alphabet_byte(byte: int) -> tuple[str, ...]:
    return (ALPHABET[byte],)


@dataclass(frozen=True)
class PieceKind:
    """One convention by which vocabularies write a text.

    `cut` returns the pre-tokens, in the characters of the vocabulary; `bytes_of` the bytes that a token
    stands for, and `added_bytes` those of an added one; `written` the tokens of which a vocabulary needs one
    to write a byte.
    """

    id: str
    cut: Callable[[str], Iterator[str]]
    bytes_of: Callable[[str], bytes]
    added_bytes: Callable[[str], bytes]
    written: Callable[[int], tuple[str, ...]]


PIECE_KINDS = (
    PieceKind("words", _words, text_bytes, text_bytes, _text_byte),
    PieceKind("metaspace", _whole, _space_bytes, _space_bytes, _space_byte),
    PieceKind("byte_level", _byte_level, _alphabet_bytes, text_bytes, _alphabet_byte),
)
PIECE_KIND_BY_ID = {kind.id: kind for kind in PIECE_KINDS}

BYTE_SPACE = "Ġ"
"""The space in the alphabet of bytes of GPT-2."""


def plain_texts(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens as text: `Ġ` and the other characters that stand for bytes, and `▁` for a space, are read."""
    if any(BYTE_SPACE in token for token in tokens):
        return tuple(map(_of_bytes, tokens))
    return tuple(token.replace(SPACE, " ") for token in tokens)


def _of_bytes(token: str) -> str:
    try:
        return PIECE_KIND_BY_ID["byte_level"].bytes_of(token).decode()
    except UnicodeDecodeError:  # part of a character
        return token
