"""A tokenizer.json made from a vocabulary in another format: byte-level pairs, SentencePiece, WordPiece.

The result is what the package `tokenizers` reads, as `transformers` converts such files. All functions return
the parsed JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from attnviz.core.piece_kinds import SPACE

Json = dict[str, Any]

DIGITS: Json = {"type": "Digits", "individual_digits": True}
NFC: Json = {"type": "NFC"}

LLAMA_3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2_SPLIT = LLAMA_3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")
"""Rules of cutting a text before pairs are merged, in the syntax of Oniguruma."""


@dataclass(frozen=True)
class Added:
    """A token that is found in a text before it is cut; the fields are those of a tokenizer.json."""

    id: int
    content: str
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


def byte_level(
    vocabulary: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    before: Json | None = None,
    normalizer: Json | None = None,
    whole_words: bool = False,
) -> Json:
    """Byte-pair encoding of bytes; `before` cuts the text, alone or before the rule of GPT-2.

    A `Split` replaces the rule of GPT-2, other steps come before it. `whole_words`: a word that is a token is
    not assembled from pieces.
    """
    splits = before is not None and before["type"] == "Split"
    bytes_of = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": not splits}
    cut = bytes_of if before is None else {"type": "Sequence", "pretokenizers": [before, bytes_of]}
    model = _pairs(vocabulary, merges, whole_words=whole_words)
    return _whole(model, normalizer, cut, {**bytes_of, "use_regex": True})


def split(pattern: str) -> Json:
    """The step that cuts a text by a regular expression."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def spaced_pairs(
    pieces: Sequence[tuple[str, float]],
    unknown: str | None,
    has_bytes: bool,
    leads: bool,
    leads_each: bool = True,
) -> Json:
    """SentencePiece's byte-pair encoding: the best pair of neighbours merges first.

    A pair's rank is that of the token that it makes, by its score. A text that `leads` has a space before it;
    `leads_each` if each part between added tokens has one.
    """
    vocabulary = {text: one for one, (text, _score) in enumerate(pieces)}
    model = _pairs(vocabulary, merges_of(pieces), unknown=unknown, has_bytes=has_bytes)
    if leads and not leads_each:
        cut = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": False}
        return _whole(model, None, cut, _spaced(leads))
    steps: list[Json] = [{"type": "Prepend", "prepend": SPACE}] if leads else []
    steps += [{"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]
    return _whole(model, {"type": "Sequence", "normalizers": steps}, None, _spaced(leads))


def merges_of(pieces: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    """The pairs that merge to a piece, by its score, and by how long the left one is."""
    vocabulary = {text: one for one, (text, _score) in enumerate(pieces)}
    pairs: list[tuple[float, int, int, str, str]] = []
    for text, score in pieces:
        halves = ((text[:at], text[at:]) for at in range(1, len(text)))
        own = [(a, b) for a, b in halves if a in vocabulary and b in vocabulary]
        pairs += [(-score, vocabulary[a], vocabulary[b], a, b) for a, b in own]
    return [(a, b) for _score, _first, _second, a, b in sorted(pairs)]


def unigram(
    pieces: Sequence[tuple[str, float]],
    unknown: int,
    has_bytes: bool,
    leads: bool,
    characters: bytes = b"",
    joins_spaces: bool = True,
) -> Json:
    """SentencePiece's Unigram: the cut of the highest probability. `characters` is its compiled map."""
    steps: list[Json] = []
    if characters:
        text = base64.b64encode(characters).decode("ascii")
        steps.append({"type": "Precompiled", "precompiled_charsmap": text})
    if joins_spaces:
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    scheme = "always" if leads else "never"
    cut = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": True}
    model = {
        "type": "Unigram",
        "unk_id": unknown,
        "vocab": [[text, score] for text, score in pieces],
        "byte_fallback": has_bytes,
    }
    normalizer = {"type": "Sequence", "normalizers": steps} if steps else None
    return _whole(model, normalizer, cut, cut)


def word_piece(
    vocabulary: Mapping[str, int], is_lower: bool, unknown: str = "[UNK]", splits_chinese: bool = True
) -> Json:
    """BERT's WordPiece: the longest token first, word by word."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": splits_chinese,
        "strip_accents": None,
        "lowercase": is_lower,
    }
    model = {
        "type": "WordPiece",
        "unk_token": unknown,
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": dict(vocabulary),
    }
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    return _whole(model, normalizer, {"type": "BertPreTokenizer"}, decoder)


def with_added(data: Json, added: Iterable[Added]) -> Json:
    """The tokenizer with more tokens that are found before a text is cut, or with other flags of them."""
    listed = [asdict(one) for one in added]
    new = {one["content"] for one in listed}
    whole = [*(one for one in data.get("added_tokens") or () if one["content"] not in new), *listed]
    return {**data, "added_tokens": sorted(whole, key=lambda one: one["id"])}


def with_ends(data: Json, first: tuple[str, int] | None, last: tuple[str, int] | None) -> Json:
    """The tokenizer that puts tokens, each with its id, before and after a whole text."""
    ends = [end for end in (first, last) if end is not None]
    if not ends:
        return data

    def sequence(name: str, kind: int) -> list[Json]:
        text: list[Json] = [{"Sequence": {"id": name, "type_id": kind}}]
        head = [] if first is None or kind else [{"SpecialToken": {"id": first[0], "type_id": 0}}]
        tail = [] if last is None else [{"SpecialToken": {"id": last[0], "type_id": kind}}]
        return [*head, *text, *tail]

    special = {text: {"id": text, "ids": [one], "tokens": [text]} for text, one in ends}
    single, pair = sequence("A", 0), [*sequence("A", 0), *sequence("B", 1)]
    after = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
    return {**data, "post_processor": after}


def _pairs(
    vocabulary: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    unknown: str | None = None,
    has_bytes: bool = False,
    whole_words: bool = False,
) -> Json:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": unknown is not None,
        "byte_fallback": has_bytes,
        "ignore_merges": whole_words,
        "vocab": dict(vocabulary),
        "merges": [list(merge) for merge in merges],
    }


def _spaced(leads: bool) -> Json:
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if leads:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _whole(model: Json, normalizer: Json | None, cut: Json | None, decoder: Json) -> Json:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": cut,
        "post_processor": None,
        "decoder": decoder,
        "model": model,
    }
