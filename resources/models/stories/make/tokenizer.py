"""The tokenizer of the bundled model: whole words, pieces of words, characters, and bytes for the rest.

`tokenizer.json` is written in the form of the `tokenizers` library (model `BPE`, with `byte_fallback` and
`ignore_merges`), so other programs read it too; this module needs no such library. Texts are encoded as
`core/bpe.py` says, with pieces of the kind `words`: a pre-token that is in the vocabulary is one token, any
other is assembled from characters. Every text can be encoded, and every encoding decodes to its text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from attnviz.core.bpe import BytePairs
from attnviz.core.piece_kinds import WORDS, byte_token

BEGIN = "<|begin|>"
"""The token before every text."""

END = "<|end|>"
"""The token after every text."""

SPECIAL = (BEGIN, END)
"""Tokens that no text holds: their ids are their places here, and they have no bytes."""

_ASCII = "\n" + "".join(map(chr, range(0x20, 0x7F)))
"""Characters that are always in the vocabulary."""

_BYTES = tuple(b for b in (*range(0x20), *range(0x7F, 0xC0), *range(0xC2, 0xF5)) if chr(b) not in _ASCII)
"""The bytes of UTF-8 text that are no character of `_ASCII`."""

_PRE_TOKEN = re.compile(WORDS)


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary, token -> id, and the pairs of pieces that are merged, lowest rank first.

    Raises `ValueError` for ids that are not 0, 1, 2, …, and for a special or byte token that is missing.
    """

    vocabulary: dict[str, int]
    merges: tuple[tuple[str, str], ...]
    _pairs: BytePairs = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sorted(self.vocabulary.values()) != list(range(len(self.vocabulary))):
            raise ValueError(
                "vocabulary must have the ids 0, 1, 2, …, one per token; some are missing or repeated"
            )
        for name in (*SPECIAL, *map(byte_token, _BYTES), *_ASCII):
            if name not in self.vocabulary:
                raise ValueError(f"vocabulary must contain every byte and special token; {name!r} is missing")
        by_id = tuple(sorted(self.vocabulary, key=self.vocabulary.__getitem__))
        pairs = BytePairs(by_id, self.merges, "words", whole=True, special=frozenset(SPECIAL))
        object.__setattr__(self, "_pairs", pairs)

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
        """The ids of `text`, without begin and end. A special token spelt out in `text` is plain text.

        Raises `ValueError` for a text with half of a surrogate pair.
        """
        return self._pairs.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; special tokens add nothing, and bytes that are no character read ⟨E4⟩.

        Raises `ValueError` for an id outside the vocabulary.
        """
        return self._pairs.decode(ids)

    def token_bytes(self, one: int) -> bytes:
        """The UTF-8 bytes of the token `one`: none for a special token, one for a piece of a character.

        Raises `ValueError` for an id outside the vocabulary.
        """
        return self._pairs.token_bytes(one)

    def text(self, one: int) -> str:
        """The shown form of the token `one`: its text, a special token's name, or a byte as ⟨E4⟩.

        A control character other than the line end is invisible and is shown as a byte, too.

        Raises `ValueError` for an id outside the vocabulary.
        """
        return self._pairs.shown(one)

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`, in the form of the `tokenizers` library."""
        path.write_text(json.dumps(self._document(), ensure_ascii=False, indent=0), encoding="utf-8")

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
                "pattern": {"Regex": WORDS},
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
        raise ValueError(f"{path.name} must be a tokenizer in the JSON that this program writes") from None
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
    names = (*SPECIAL, *map(byte_token, _BYTES), *_ASCII, *characters, *pieces, *common)
    return Tokenizer({name: i for i, name in enumerate(dict.fromkeys(names))}, tuple(merges))


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
