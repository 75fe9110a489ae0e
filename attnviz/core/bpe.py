"""Byte-pair encoding of a text with a model's vocabulary (Sennrich, Haddow, Birch 2016, arXiv:1508.07909).

One of the rules in `PIECE_KINDS` cuts a text into pre-tokens. A pre-token is split into characters; of the
neighbouring pairs, the one with the lowest rank is merged, leftmost first, until no pair has a rank. A
character that is no token becomes the tokens of its UTF-8 bytes, `<0xE4>` and so on; in the alphabet of GPT-2
every byte has a character of its own. Special and added tokens are found in a text before it is cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Literal, Protocol

from attnviz.core.piece_kinds import PIECE_KIND_BY_ID, SPACE, TEXT_BYTES, byte_token, class_of, text_bytes
from attnviz.core.tokens import token_bytes
from attnviz.errors import FieldError, Message, whole_number

LeadingSpace = Literal["never", "always", "unless_there", "first"]
"""Rule that prepends a space to the parts of a text between added tokens, or (`first`) to its first part."""

_KNOWN_PIECES = 20_000
"""Largest number of pre-tokens whose ids are cached: words recur."""


# --- added tokens ----------------------------------------------------------------------------------


class AddedToken(Protocol):
    """A token that is found in a text before it is cut, with the flags of the package `tokenizers`.

    With `lstrip` and `rstrip` the white space before and behind it belongs to it. With `single_word` it is
    not found inside a word. With `normalized` it is found in the normalised text.
    """

    @property
    def token(self) -> str: ...
    @property
    def lstrip(self) -> bool: ...
    @property
    def rstrip(self) -> bool: ...
    @property
    def single_word(self) -> bool: ...
    @property
    def normalized(self) -> bool: ...


LONGEST_ADDED = 256
"""Most characters of an added token: the search reads as many at each place of a text."""


class _Search:
    """Added tokens by the texts that stand for them; the leftmost one is found, of several the longest."""

    def __init__(self, written: Mapping[str, AddedToken]) -> None:
        self._written = {text: one for text, one in written.items() if text}
        self._lengths: dict[str, list[int]] = {}
        """By first character."""
        for text in sorted(self._written, key=len, reverse=True):
            lengths = self._lengths.setdefault(text[0], [])
            if not lengths or lengths[-1] != len(text):
                lengths.append(len(text))
        self._first = (
            re.compile("[" + "".join(map(re.escape, self._lengths)) + "]") if self._lengths else None
        )

    def parts(self, text: str) -> Iterator[tuple[int, str, str | None]]:
        """Each part of a text: its place, its text, and the token that it is, None between tokens."""
        done = 0
        for start, end, one in self._found(text):
            if one.single_word and (_is_word(text[start - 1 : start]) or _is_word(text[end : end + 1])):
                continue
            if one.lstrip:
                start = max(done, _stripped(text, start, -1))
            if one.rstrip:
                end = _stripped(text, end, 1)
            if done < start:
                yield done, text[done:start], None
            yield start, text[start:end], one.token
            done = end
        if done < len(text):
            yield done, text[done:], None

    def _found(self, text: str) -> Iterator[tuple[int, int, AddedToken]]:
        at = 0
        while self._first is not None and (first := self._first.search(text, at)):
            start = first.start()
            ends = (min(start + length, len(text)) for length in self._lengths[first[0]])
            end = next((end for end in ends if text[start:end] in self._written), None)
            at = start + 1 if end is None else end
            if end is not None:
                yield start, end, self._written[text[start:end]]


def _stripped(text: str, at: int, step: int) -> int:
    """Return the place behind the white space that begins at `at`, in the direction of `step`."""
    while (one := text[at - 1 : at] if step < 0 else text[at : at + 1]) and class_of(one) in " W":
        at += step
    return at


def _is_word(character: str) -> bool:
    """True for a character of a word as regular expressions of Unicode define it (UTS 18, annex C)."""
    if not character:
        return False
    kind = unicodedata.category(character)
    return kind[0] in "LM" or kind in ("Nd", "Nl", "Pc") or _ALPHABETIC.match(character) is not None


_ALPHABETIC = re.compile(
    "[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189\u200c\u200d]"
)
"""Symbols that are letters in circles and squares, and the joiners, which count as characters of a word."""


# --- encoding --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BytePairs:
    """The tokens of a vocabulary by id, and the pairs to merge, lowest rank first.

    Attributes:
        kind: Id of one of `PIECE_KINDS`.
        whole: Whether a pre-token that is a token stays whole, whatever the merges would yield.
        leading_space: Whether a space is prepended to a text.
        special: Tokens that have no bytes, and that no cut part of a text encodes to.
        added: Tokens that are found in a text before it is cut; one may lie outside `tokens`.
        begin: The token that is put before a whole text.

    Raises `ValueError` where a merge yields no token, or a byte of a text could not be written.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    kind: str
    whole: bool = False
    leading_space: LeadingSpace = "never"
    special: frozenset[str] = frozenset()
    added: tuple[AddedToken, ...] = ()
    begin: str | None = None
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _ranks: dict[tuple[str, str], int] = field(init=False, repr=False, compare=False)
    _known: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)
    _added: tuple[_Search, _Search] = field(init=False, repr=False, compare=False)
    """Those found in the text as it is, then those found in its normalised parts."""
    _names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fault = fault_in(self.tokens, self.merges, self.kind)
        if fault is not None:
            raise fault
        ids = {token: id_ for id_, token in enumerate(self.tokens)}
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_ranks", {pair: rank for rank, pair in enumerate(self.merges)})
        object.__setattr__(self, "_known", {})
        plain = {one.token: one for one in self.added if not one.normalized}
        normal = {self._normalised(one.token): one for one in self.added if one.normalized}
        object.__setattr__(self, "_added", (_Search(plain), _Search(normal)))
        object.__setattr__(self, "_names", frozenset(one.token for one in self.added))

    def encode(self, text: str, *, has_ends: bool = False) -> list[int]:
        """Return the ids of a whole text, behind the begin token unless the text `has_ends` of its own.

        The ids are those of the package `tokenizers` for the same file. Raises `ValueError` for a text with
        half of a surrogate pair, which has no bytes, and for an added token outside the vocabulary.
        """
        begin = [] if has_ends else [self._ids[token] for token in self.first]
        return begin + self._encoded(text, self.leading_space)

    @property
    def first(self) -> tuple[str, ...]:
        """The tokens that are put before a whole text."""
        return () if self.begin is None else (self.begin,)

    def begun(self, text: str) -> str:
        """Return `text` with the prepended space, if the vocabulary has one; an empty text stays empty."""
        return self._led(text, self.leading_space)

    def encode_inside(self, text: str) -> list[int]:
        """Return the ids of a part of a text: as `encode`, without the begin token and a prepended space."""
        return self._encoded(text, "never")

    def _encoded(self, text: str, leading: LeadingSpace) -> list[int]:
        check_text(text)
        ids: list[int] = []
        search, normal = self._added
        for start, part, token in search.parts(text):
            if token is not None:
                ids.append(self._id(token))
                continue
            led = self._normalised(part, leading)
            for at, inner, known in normal.parts(led):
                if known is not None:
                    ids.append(self._id(known))
                    continue
                if leading == "unless_there" or (leading == "first" and start == at == 0):
                    inner = self._led(inner, leading)
                for piece in PIECE_KIND_BY_ID[self.kind].cut(inner):
                    ids += self._known.get(piece) or self._remember(piece)
        return ids

    def _normalised(self, text: str, leading: LeadingSpace | None = None) -> str:
        """A part of a text as added tokens that are `normalized` are found in it."""
        if self.leading_space not in ("always", "never"):
            return text  # these prepend and replace after it is cut at added tokens
        led = " " + text if text and (leading or self.leading_space) == "always" else text
        return led.replace(" ", SPACE) if self.kind == "metaspace" else led

    def _led(self, text: str, leading: LeadingSpace) -> str:
        is_put = leading == "always" or (leading != "never" and not self._begins(text))
        return " " + text if text and is_put else text

    def _id(self, token: str) -> int:
        if token not in self._ids:
            raise FieldError("text", token, Message("must consist of tokens of the vocabulary"))
        return self._ids[token]

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
        """Return the text that encodes to `tokens`, as far as one exists.

        A special token that is found in a text is written as it is, and so is a token outside the vocabulary.
        """
        inside = tokens[1:] if self.first and tuple(tokens[:1]) == self.first else tokens
        ids, added = self._ids, {one.token: one.normalized for one in self.added}

        def bytes_of(token: str) -> bytes:
            return self.token_bytes(ids[token]) if token in ids else token_bytes(token)

        return joined(inside, bytes_of, self.leading_space, added, self.special)

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
        token, kind = self.tokens[one], PIECE_KIND_BY_ID[self.kind]
        if token in self.special:
            return b""
        return kind.added_bytes(token) if token in self._names else kind.bytes_of(token)

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
            ids: tuple[int, ...] = (self._ids[piece],)
        else:
            ids = tuple(self._ids[part] for part in merged(self._characters(piece), self._ranks))
        if len(self._known) < _KNOWN_PIECES and len(piece) < 64:
            self._known[piece] = ids
        return ids

    def _characters(self, piece: str) -> Iterator[str]:
        for character in piece:
            if character in self._ids:
                yield character
            else:
                yield from map(byte_token, text_bytes(character))


def joined(
    tokens: Sequence[str],
    bytes_of: Callable[[str], bytes],
    leading: LeadingSpace,
    added: Mapping[str, bool],
    special: Container[str] = (),
    has_space: Callable[[str, str], bool] = lambda before, token: False,
) -> str:
    """Return the text of tokens from their bytes, without the spaces that an encoder prepends to its parts.

    `added` has the added tokens, and whether each is found in a normalised part of a text; special ones are
    written as they are. `has_space(before, token)` is true if a text has a space between two neighbours that
    neither has in its bytes.
    """
    data = b""
    for index, (before, token) in enumerate(pairwise(("", *tokens))):
        is_named = token in special and token in added
        encoded = token.encode("utf-8", errors="surrogatepass") if is_named else bytes_of(token)
        if leading == "always" and added.get(token):
            encoded = b" " + encoded  # a normalised part begins with the space, and so does the token in it
        begins = leading != "never" if not index else leading == "always" and added.get(before) is False
        if begins and added.get(token) is not False:
            encoded = encoded.removeprefix(b" ")
        data += b" " + encoded if index and has_space(before, token) else encoded
    return shown_bytes(data)


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

    queue = [offered for offered in map(offer, range(len(texts))) if offered]
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
            offered = offer(start) if start >= 0 else None
            if offered:
                heappush(queue, offered)
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
