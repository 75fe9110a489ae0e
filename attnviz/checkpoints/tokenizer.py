"""The tokenizer of the model in the box: whole words, pieces of words, characters, and bytes for the rest.

`tokenizer.json` is written in the form of the `tokenizers` library (model `BPE`, with `byte_fallback` and
`ignore_merges`), so other programs read it too; this module needs no such library. A text is cut by
`PATTERN` into pre-tokens. A pre-token that is in the vocabulary is one token. Any other is cut into
characters, of which the neighbours with the lowest rank are merged until none are left (Sennrich, Haddow,
Birch 2016, arXiv:1508.07909); a character outside the vocabulary becomes the tokens of its UTF-8 bytes,
`<0xE4>` and so on. Every text can be encoded, and every encoding decodes to its text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

BEGIN = "<|begin|>"
"""The token before every text."""

END = "<|end|>"
"""The token after every text."""

SPECIAL = (BEGIN, END)
"""Tokens that no text holds: their ids are their places here, and they have no bytes."""

PATTERN = r' ?[A-Za-z]+| ?[0-9]| ?"|[\s\S]'
"""One pre-token: a word or digit or quotation mark with the space before it, or any one character."""

_ASCII = "\n" + "".join(map(chr, range(0x20, 0x7F)))
"""Characters that are always in the vocabulary."""

_BYTES = tuple(b for b in (*range(0x20), *range(0x7F, 0xC0), *range(0xC2, 0xF5)) if chr(b) not in _ASCII)
"""The bytes of UTF-8 text that are no character of `_ASCII`."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_PRE_TOKEN = re.compile(PATTERN)


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary, token -> id, and the pairs of pieces that are merged, lowest rank first.

    Raises `ValueError` for ids that are not 0, 1, 2, …, and for a special or byte token that is missing.
    """

    vocabulary: dict[str, int]
    merges: tuple[tuple[str, str], ...]
    _bytes: tuple[bytes, ...] = field(init=False, repr=False)
    _ranks: dict[tuple[str, str], int] = field(init=False, repr=False)
    _known: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sorted(self.vocabulary.values()) != list(range(len(self.vocabulary))):
            raise ValueError(
                "vocabulary has ids that are not 0, 1, 2, …; legal is one id per token, none left out"
            )
        for name in (*SPECIAL, *map(_byte_token, _BYTES), *_ASCII):
            if name not in self.vocabulary:
                raise ValueError(
                    f"vocabulary lacks {name!r}; legal is one that holds every byte and special token"
                )
        by_id = sorted(self.vocabulary, key=self.vocabulary.__getitem__)
        object.__setattr__(self, "_bytes", tuple(_bytes_of(token) for token in by_id))
        object.__setattr__(self, "_ranks", {pair: rank for rank, pair in enumerate(self.merges)})
        object.__setattr__(self, "_known", {})

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.vocabulary)

    @property
    def begin(self) -> int:
        """Id of the token before every text."""
        return self.vocabulary[BEGIN]

    @property
    def end(self) -> int:
        """Id of the token after every text."""
        return self.vocabulary[END]

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without begin and end. A special token spelt out in `text` is plain text."""
        ids: list[int] = []
        for piece in _PRE_TOKEN.findall(text):
            ids += self._known.get(piece) or self._remember(piece)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; special tokens add nothing, and bytes that are no character read ⟨E4⟩.

        Raises `ValueError` for an id outside the vocabulary.
        """
        return shown(b"".join(self.token_bytes(one) for one in ids))

    def token_bytes(self, one: int) -> bytes:
        """The UTF-8 bytes of the token `one`: none for a special token, one for a piece of a character.

        Raises `ValueError` for an id outside the vocabulary.
        """
        if not 0 <= one < len(self._bytes):
            raise ValueError(f"token id is {one}; legal is 0 to {len(self._bytes) - 1}")
        return self._bytes[one]

    def text(self, one: int) -> str:
        """What the token `one` is shown as: its text, a special token's name, or a byte as ⟨E4⟩.

        A control character, but for the line end, cannot be seen and is shown as a byte, too.

        Raises `ValueError` for an id outside the vocabulary.
        """
        data = self.token_bytes(one)
        if not data:
            return SPECIAL[one]
        return (
            shown(data) if data.decode(errors="ignore").isprintable() or data == b"\n" else f"⟨{data[0]:02X}⟩"
        )

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`, in the form of the `tokenizers` library."""
        path.write_text(json.dumps(self._document(), ensure_ascii=False, indent=0), encoding="utf-8")

    def _remember(self, piece: str) -> tuple[int, ...]:
        """Encode the pre-token `piece`, and keep the answer: words come again."""
        whole = self.vocabulary.get(piece)
        found = (
            (whole,) if whole is not None else tuple(self.vocabulary[part] for part in self._merged(piece))
        )
        self._known[piece] = found
        return found

    def _merged(self, piece: str) -> list[str]:
        """`piece` as characters and bytes, then merged as far as the ranks go."""
        parts: list[str] = []
        for character in piece:
            if character in self.vocabulary:
                parts.append(character)
            else:
                parts += [_byte_token(byte) for byte in character.encode("utf-8", errors="surrogatepass")]
        worst = len(self._ranks)
        while len(parts) > 1:
            rank, at = min((self._ranks.get(both, worst), i) for i, both in enumerate(pairwise(parts)))
            if rank == worst:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return parts

    def _document(self) -> dict[str, object]:
        added = [
            {"id": self.vocabulary[name], "content": name, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
            for name in SPECIAL
        ]  # fmt: skip
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": PATTERN},
                "behavior": "Isolated",
                "invert": False,
            },
            "post_processor": None,
            "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": True,
                "ignore_merges": True,
                "vocab": self.vocabulary,
                "merges": [list(both) for both in self.merges],
            },
        }


def load(path: Path) -> Tokenizer:
    """Read a `tokenizer.json` that `Tokenizer.save` wrote.

    Raises `ValueError` for a file that holds something else, `OSError` for one that cannot be read.
    """
    try:
        model = json.loads(path.read_text(encoding="utf-8"))["model"]
        vocabulary = {str(token): int(one) for token, one in model["vocab"].items()}
        merges = tuple((str(left), str(right)) for left, right in model["merges"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError(
            f"{path.name} holds no tokenizer; legal is the JSON that this program writes"
        ) from None
    return Tokenizer(vocabulary, merges)


def train(texts: Iterable[str], n_words: int, n_merges: int) -> Tokenizer:
    """The tokenizer of `texts`: their characters, their `n_words` commonest words, and `n_merges` pieces.

    A character must be seen 25 times. The pieces are learnt from the other words that are seen more than
    3 times, each counted at most 10 times, so that a word that is not whole is cut into pieces that many
    words have. Ties go to what comes first in the alphabet.
    """
    counts = Counter(piece for text in texts for piece in _PRE_TOKEN.findall(text))
    words = {piece: count for piece, count in counts.items() if len(piece) > 1}
    common = sorted(words, key=lambda word: (-words[word], word))[:n_words]
    characters = sorted({piece for piece, count in counts.items() if len(piece) == 1 and count >= 25})
    whole = frozenset(common)
    rest = {word: min(count, 10) for word, count in words.items() if count > 3 and word not in whole}
    merges = _learn(rest, n_merges)
    pieces = (left + right for left, right in merges)
    names = (*SPECIAL, *map(_byte_token, _BYTES), *_ASCII, *characters, *pieces, *common)
    return Tokenizer({name: i for i, name in enumerate(dict.fromkeys(names))}, tuple(merges))


def shown(data: bytes) -> str:
    """`data` as UTF-8 text; a byte that is part of no character reads ⟨E4⟩, its two hexadecimal digits."""
    text = ""
    while data:
        try:
            text += data.decode("utf-8", errors="strict")
            break
        except UnicodeDecodeError as fault:
            text += data[: fault.start].decode("utf-8") + f"⟨{data[fault.start]:02X}⟩"
            data = data[fault.start + 1 :]
    return text


def _learn(words: dict[str, int], n_merges: int) -> list[tuple[str, str]]:
    """The `n_merges` commonest pairs of neighbours, each found after those before it have been merged."""
    parts = {word: list(word) for word in words}
    merges: list[tuple[str, str]] = []
    for _ in range(n_merges):
        counts: Counter[tuple[str, str]] = Counter()
        for word, pieces in parts.items():
            for both in pairwise(pieces):
                counts[both] += words[word]
        if not counts:
            break
        best = min(counts, key=lambda both: (-counts[both], both))
        merges.append(best)
        for pieces in parts.values():
            _merge(pieces, best)
    return merges


def _merge(pieces: list[str], both: tuple[str, str]) -> None:
    """Join every neighbouring pair `both` in `pieces`, from the left, in place."""
    at = 0
    while at + 1 < len(pieces):
        if (pieces[at], pieces[at + 1]) == both:
            pieces[at : at + 2] = [both[0] + both[1]]
        at += 1


def _byte_token(byte: int) -> str:
    return f"<0x{byte:02X}>"


def _bytes_of(token: str) -> bytes:
    if token in SPECIAL:
        return b""
    match = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(match[1], 16)]) if match else token.encode("utf-8", errors="surrogatepass")
