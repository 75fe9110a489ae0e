"""Byte-pair encoding of a text with a model's vocabulary (Sennrich, Haddow, Birch 2016, arXiv:1508.07909).

One of the rules in `PIECE_KINDS` cuts a text into pre-tokens. A pre-token is split into characters; of the
neighbouring pairs, the one with the lowest rank is merged, leftmost first, until no pair has a rank. A
character that is no token becomes the tokens of its UTF-8 bytes, `<0xE4>` and so on; in the alphabet of GPT-2
every byte has a character of its own. The rules are written here: a document names one and brings no pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Literal

from attnviz.core.tokens import token_bytes
from attnviz.errors import FieldError, Message, whole_number

LeadingSpace = Literal["never", "always", "unless_there"]

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
_KNOWN_PIECES = 20_000
"""Largest number of pre-tokens whose ids are cached: words recur."""


# --- the kinds of pieces ---------------------------------------------------------------------------


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
    classes = "".join(map(_class, text))
    at = 0
    while at < len(text):
        found = _CONTRACTION.match(text, at)
        end = found.end() if found else _end_of_run(classes, at)
        yield "".join(ALPHABET[byte] for byte in text[at:end].encode())
        at = end


def _class(character: str) -> str:
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


def _text_bytes(token: str) -> bytes:
    return (
        bytes([_byte_value(token)]) if is_byte_token(token) else token.encode("utf-8", errors="surrogatepass")
    )


def _space_bytes(token: str) -> bytes:
    return _text_bytes(token.replace(SPACE, " "))


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
    stands for; `written` the tokens of which a vocabulary needs one to write a byte.
    """

    id: str
    cut: Callable[[str], Iterator[str]]
    bytes_of: Callable[[str], bytes]
    written: Callable[[int], tuple[str, ...]]


PIECE_KINDS = (
    PieceKind("words", _words, _text_bytes, _text_byte),
    PieceKind("metaspace", _whole, _space_bytes, _space_byte),
    PieceKind("byte_level", _byte_level, _alphabet_bytes, _alphabet_byte),
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


# --- encoding --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BytePairs:
    """The tokens of a vocabulary by id, and the pairs to merge, lowest rank first.

    Attributes:
        kind: Id of one of `PIECE_KINDS`.
        whole: Whether a pre-token that is a token stays whole, whatever the merges would yield.
        leading_space: Whether a space is prepended to a text.
        special: Tokens that no text encodes to and that have no bytes.

    Raises `ValueError` where a merge yields no token, or a byte of a text could not be written.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    kind: str
    whole: bool = False
    leading_space: LeadingSpace = "never"
    special: frozenset[str] = frozenset()
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _ranks: dict[tuple[str, str], int] = field(init=False, repr=False, compare=False)
    _known: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fault = fault_in(self.tokens, self.merges, self.kind)
        if fault is not None:
            raise fault
        ids = {token: id_ for id_, token in enumerate(self.tokens)}
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_ranks", {pair: rank for rank, pair in enumerate(self.merges)})
        object.__setattr__(self, "_known", {})

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`. A special token spelt out in it is plain text.

        Raises `ValueError` for a text with half of a surrogate pair, which has no bytes.
        """
        return self.encode_inside(self.begun(text))

    def begun(self, text: str) -> str:
        """Return `text` with the prepended space, if the vocabulary has one; an empty text stays empty."""
        is_put = self.leading_space == "always" or (
            self.leading_space == "unless_there" and not self._begins(text)
        )
        return " " + text if text and is_put else text

    def encode_inside(self, text: str) -> list[int]:
        """Return the ids of a part of a text: as `encode`, without the prepended space."""
        check_text(text)
        ids: list[int] = []
        for piece in PIECE_KIND_BY_ID[self.kind].cut(text):
            ids += self._known.get(piece) or self._remember(piece)
        return ids

    def has(self, token: str) -> bool:
        """True if `token` is in the vocabulary."""
        return token in self._ids

    def byte_id(self, byte: int) -> int | None:
        """Return the id of the token that writes one byte: its character where that is a token, else the byte
        token.

        None if no such token exists; every byte of UTF-8 texts has one.
        """
        written = PIECE_KIND_BY_ID[self.kind].written(byte)
        return next((self._ids[token] for token in reversed(written) if token in self._ids), None)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; special tokens add nothing, and bytes that are no character read ⟨E4⟩.

        Raises `ValueError` for an id outside the vocabulary.
        """
        return self.text_of(b"".join(self.token_bytes(one) for one in ids))

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens; a token outside the vocabulary is its own text."""
        ids = self._ids
        data = (self.token_bytes(ids[token]) if token in ids else token_bytes(token) for token in tokens)
        return self.text_of(b"".join(data))

    def text_of(self, data: bytes) -> str:
        """Return the text of the bytes of a whole sequence, without the prepended space."""
        return shown_bytes(data[1:] if self.leading_space != "never" and data[:1] == b" " else data)

    def token_bytes(self, one: int) -> bytes:
        """Return the UTF-8 bytes of the token `one`: none for a special token, some for a piece of a
        character.

        Raises `ValueError` for an id outside the vocabulary.
        """
        if not 0 <= one < len(self.tokens):
            raise FieldError("token id", one, whole_number(0, len(self.tokens) - 1))
        token = self.tokens[one]
        return b"" if token in self.special else PIECE_KIND_BY_ID[self.kind].bytes_of(token)

    def shown(self, one: int) -> str:
        """Return the shown form of the token `one`: its text, a special token's name, or bytes as ⟨E4⟩.

        A control character other than the line end is invisible and is shown as a byte, too. Raises
        `ValueError` for an id outside the vocabulary.
        """
        data = self.token_bytes(one)
        if not data:
            return self.tokens[one]
        text = shown_bytes(data)
        return text if len(text) != 1 or text.isprintable() or text == "\n" else _all_bytes(data)

    def _begins(self, text: str) -> bool:
        """True if a text begins with the prepended text."""
        return text[:1] == " " or (self.kind == "metaspace" and text[:1] == SPACE)

    def _remember(self, piece: str) -> tuple[int, ...]:
        """Encode one pre-token and cache the ids: words recur."""
        if self.whole and piece in self._ids and piece not in self.special:
            found: tuple[int, ...] = (self._ids[piece],)
        else:
            found = tuple(self._ids[part] for part in merged(self._characters(piece), self._ranks))
        if len(self._known) < _KNOWN_PIECES and len(piece) < 64:
            self._known[piece] = found
        return found

    def _characters(self, piece: str) -> Iterator[str]:
        for character in piece:
            if character in self._ids:
                yield character
            else:
                yield from map(byte_token, _text_bytes(character))


def merged(parts: Iterable[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Merge neighbours in `parts`: repeatedly the pair of the lowest rank, leftmost first.

    O(n log n) in the number of parts, so a long text does not block.
    """
    texts: list[str] = list(parts)
    after, before = list(range(1, len(texts) + 1)), list(range(-1, len(texts) - 1))

    def offer(left: int) -> tuple[int, int, str, str] | None:
        right = after[left]
        rank = ranks.get((texts[left], texts[right])) if right < len(texts) else None
        return None if rank is None else (rank, left, texts[left], texts[right])

    queue = [found for found in map(offer, range(len(texts))) if found]
    heapify(queue)
    while queue:
        _rank, left, first, second = heappop(queue)
        right = after[left]
        if texts[left] != first or right >= len(texts) or texts[right] != second:
            continue  # one of the two was merged into another piece
        texts[left], texts[right] = first + second, ""
        after[left] = after[right]
        if after[left] < len(texts):
            before[after[left]] = left
        for start in (before[left], left):
            found = offer(start) if start >= 0 else None
            if found:
                heappush(queue, found)
    return [text for text in texts if text]


def fault_in(tokens: Sequence[str], merges: Sequence[tuple[str, str]], kind: str) -> FieldError | None:
    """Return why these tokens and merges cannot encode a text; None if they encode every text."""
    known = set(tokens)
    for index, (left, right) in enumerate(merges):
        for text in (left, right, left + right):
            if text not in known:
                return FieldError(
                    f"merges[{index}]", text, Message("must join tokens of the vocabulary into one of them")
                )
    for byte in TEXT_BYTES:
        if known.isdisjoint(PIECE_KIND_BY_ID[kind].written(byte)):
            none = Message("none for the byte {byte}", byte=f"{byte:02X}")
            return FieldError("tokens", none, Message("must have a token for every byte of a text"))
    return None


def check_text(text: str) -> None:
    """Refuse half of a surrogate pair, which is no character and has no bytes. Raises `ValueError`."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        code = f"U+{ord(text[fault.start]):04X}"
        half = Message("{code}, half of a character", code=code)
        raise FieldError("text", half, Message("must consist of whole characters")) from None


def shown_bytes(data: bytes) -> str:
    """`data` as UTF-8 text; a byte that is part of no character reads ⟨E4⟩, its two hexadecimal digits."""
    text = ""
    while data:
        try:
            return text + data.decode("utf-8", errors="strict")
        except UnicodeDecodeError as fault:
            text += data[: fault.start].decode("utf-8") + _all_bytes(data[fault.start : fault.start + 1])
            data = data[fault.start + 1 :]
    return text


def _all_bytes(data: bytes) -> str:
    return "".join(f"⟨{byte:02X}⟩" for byte in data)
