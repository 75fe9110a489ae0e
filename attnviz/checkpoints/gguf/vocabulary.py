"""The tokenizer in a GGUF file's metadata, as a tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnviz.checkpoints.tokenizers.converter import (
    DIGITS,
    LLAMA_3_SPLIT,
    NFC,
    QWEN_2_SPLIT,
    Added,
    Json,
    byte_level,
    spaced_pairs,
    split,
    with_added,
    with_ends,
    word_piece,
)
from attnviz.core.piece_kinds import SPACE
from attnviz.errors import FieldError, must_be, whole_number

_STEM = "tokenizer.ggml."
_UNKNOWN, _CONTROL, _USERS, _UNUSED = 2, 3, 4, 5
"""Kinds of tokens: that of unknown characters, special ones, those of a user, padding."""
_ROLES = ("bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "cls", "mask")
"""Tokens with a meaning, which `tokenizer.ggml.…_token_id` names, in the spelling of the format."""


@dataclass(frozen=True)
class Cut:
    """The rule by which byte-level tokenizers of one name cut a text; `begins` if a token comes before it."""

    before: Json | None = None
    normalizer: Json | None = None
    whole_words: bool = False
    begins: bool = False


CUTS: dict[str, Cut] = {
    "gpt-2": Cut(),
    "default": Cut(),
    "olmo": Cut(),
    "smollm": Cut(DIGITS),
    "starcoder": Cut(DIGITS),
    "refact": Cut(DIGITS),
    "command-r": Cut(DIGITS),
    "llama-bpe": Cut(split(LLAMA_3_SPLIT), whole_words=True, begins=True),
    "qwen2": Cut(split(QWEN_2_SPLIT), NFC),
}
"""By `tokenizer.ggml.pre`."""


def read_tokenizer(metadata: Mapping[str, Any]) -> Json | None:
    """The tokenizer as a tokenizer.json; None if the file has none or one of another kind.

    Raises `FieldError` for metadata that contradict each other.
    """
    make, tokens = MODELS.get(metadata.get(_STEM + "model", "")), metadata.get(_STEM + "tokens")
    if make is None or tokens is None:
        return None
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise FieldError(_STEM + "tokens", tokens, must_be("a list of texts"))
    tokenizer = make(metadata, tokens)
    if tokenizer is None:
        return None
    kinds = _numbers(metadata, "token_type", len(tokens))
    named = {role_token[0] for role in _ROLES if (role_token := _token(metadata, f"{role}_token_id", tokens))}
    added = [
        Added(one, text, kind != _USERS)
        for one, (text, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (_UNKNOWN, _CONTROL, _USERS) or text in named
    ]
    return with_added(tokenizer, added)


def read_chat(metadata: Mapping[str, Any]) -> Json:
    """The chat template, and the tokens that it may put around messages, as in tokenizer_config.json."""
    tokens = metadata.get(_STEM + "tokens")
    settings: Json = {"chat_template": metadata.get("tokenizer.chat_template")}
    for name in ("bos", "eos", "unknown", "padding"):
        named = _token(metadata, f"{name}_token_id", tokens) if isinstance(tokens, list) else None
        settings[f"{_SHORT.get(name, name)}_token"] = named and named[0]
    return settings


_SHORT = {"unknown": "unk", "padding": "pad"}


def _byte_level(metadata: Mapping[str, Any], tokens: list[str]) -> Json | None:
    cut = CUTS.get(metadata.get(_STEM + "pre", "default"))
    merges = metadata.get(_STEM + "merges")
    if cut is None or not isinstance(merges, list):
        return None
    pairs = [merge.split(" ", 1) for merge in merges if isinstance(merge, str)]
    tokenizer = byte_level(_ids(tokens), pairs, cut.before, cut.normalizer, cut.whole_words)
    return with_ends(tokenizer, *_ends(metadata, tokens, begins=cut.begins))


def _sentence_piece(metadata: Mapping[str, Any], tokens: list[str]) -> Json:
    scores = _numbers(metadata, "scores", len(tokens))
    plain = [(text, float(score)) for text, score in zip(tokens, scores, strict=True)]
    unknown = _token(metadata, "unknown_token_id", tokens)
    leads = _flag(metadata, "add_space_prefix", True)
    tokenizer = spaced_pairs(plain, unknown and unknown[0], "<0x0A>" in tokens, leads)
    return with_ends(tokenizer, *_ends(metadata, tokens, begins=True))


def _word_piece(metadata: Mapping[str, Any], tokens: list[str]) -> Json:
    """llama.cpp marks the beginnings of words and not, as BERT does, their insides."""
    special = {token[0] for role in _ROLES if (token := _token(metadata, f"{role}_token_id", tokens))}
    kinds = _numbers(metadata, "token_type", len(tokens))
    texts = [
        text if text in special or kind in (_CONTROL, _UNUSED) else _inside(text)
        for text, kind in zip(tokens, kinds, strict=True)
    ]
    tokens[:] = texts
    tokenizer = word_piece(
        _ids(texts), is_lower=not any(text != text.lower() for text in texts if text not in special)
    )
    first = _token(metadata, "cls_token_id", texts) or _token(metadata, "bos_token_id", texts)
    last = _token(metadata, "seperator_token_id", texts) or _token(metadata, "eos_token_id", texts)
    return with_ends(tokenizer, first, last)


def _inside(text: str) -> str:
    return text.removeprefix(SPACE) if text.startswith(SPACE) else f"##{text}"


MODELS: dict[str, Callable[[Mapping[str, Any], list[str]], Json | None]] = {
    "gpt2": _byte_level,
    "llama": _sentence_piece,
    "bert": _word_piece,
}
"""By `tokenizer.ggml.model`."""


def _ids(tokens: Sequence[str]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for one, text in enumerate(tokens):
        ids.setdefault(text, one)
    return ids


def _ends(
    metadata: Mapping[str, Any], tokens: Sequence[str], *, begins: bool
) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    """The tokens that are put before and after a text, with their ids."""
    first = _token(metadata, "bos_token_id", tokens)
    last = _token(metadata, "eos_token_id", tokens)
    is_begun = _flag(metadata, "add_bos_token", begins)
    return first if is_begun else None, last if _flag(metadata, "add_eos_token", False) else None


def _flag(metadata: Mapping[str, Any], name: str, default: bool) -> bool:
    flag = metadata.get(_STEM + name, default)
    if not isinstance(flag, bool):
        raise FieldError(_STEM + name, flag, must_be("true or false"))
    return flag


def _token(metadata: Mapping[str, Any], name: str, tokens: Sequence[str]) -> tuple[str, int] | None:
    """A token by its id, with the id; None without one, and for one past the tokens, as files have it."""
    one = metadata.get(_STEM + name)
    if one is not None and type(one) is not int:
        raise FieldError(_STEM + name, one, whole_number(0, len(tokens) - 1))
    return (tokens[one], one) if one is not None and 0 <= one < len(tokens) else None


def _numbers(metadata: Mapping[str, Any], name: str, count: int) -> list[Any]:
    """A list with one number for each token; ordinary tokens if it is missing."""
    numbers = metadata.get(_STEM + name, [1] * count)
    if not isinstance(numbers, list) or len(numbers) != count:
        raise FieldError(_STEM + name, numbers, must_be("a list with a number for each token"))
    return numbers
