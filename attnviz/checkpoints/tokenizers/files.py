"""`TOKENIZER_FILES`: the files that may hold a tokenizer, and how each becomes a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnviz.checkpoints.pieces import FLAGS, FORM_FAULTS
from attnviz.checkpoints.reader import CheckpointError
from attnviz.checkpoints.tokenizers.converter import (
    DIGITS,
    NFC,
    QWEN_2_SPLIT,
    Added,
    Json,
    byte_level,
    split,
    with_added,
    with_ends,
    word_piece,
)
from attnviz.checkpoints.tokenizers.sentencepiece import sentence_piece
from attnviz.errors import FieldError, InputError, Message, about, among, message_of
from attnviz.model.io.regular_file import read_bytes
from attnviz.model.io.stand_in import said_of_file
from attnviz.model.spec.tokenizer_file import NO_FORM

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"

MAX_BYTES = 64 * 2**20
"""Largest file that is read: the tokenizer.json of 256,000 tokens has about 34 MB."""


Read = Callable[[Path, Mapping[str, Any], Json], Json]
"""From a folder, the model's configuration, and the tokenizer's settings to a tokenizer.json."""


@dataclass(frozen=True)
class TokenizerFile:
    """One way to store a tokenizer: the files that must all be there, and what they become."""

    names: tuple[str, ...]
    read: Read


def _as_it_is(folder: Path, config: Mapping[str, Any], settings: Json) -> Json:
    tokenizer = _json(folder / TOKENIZER)
    if not isinstance(tokenizer, dict):
        raise InputError(NO_FORM)
    return tokenizer


def _sentence_piece(name: str) -> Read:
    def read(folder: Path, config: Mapping[str, Any], settings: Json) -> Json:
        return sentence_piece(_bytes(folder / name), config, settings)

    return read


@dataclass(frozen=True)
class _ByteLevel:
    """The rule by which models of one type cut a text, and the tokens that they put around it."""

    before: Json | None = None
    normalizer: Json | None = None
    first: str | None = None
    last: str | None = None


_QWEN = _ByteLevel(split(QWEN_2_SPLIT), NFC)
_ROBERTA = _ByteLevel(first="<s>", last="</s>")

BYTE_LEVEL: dict[str, _ByteLevel] = {
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "gpt_bigcode", "phi"), _ByteLevel()),
    "starcoder2": _ByteLevel(DIGITS),
    **dict.fromkeys(("qwen2", "qwen3", "qwen2_moe", "qwen3_moe"), _QWEN),
    **dict.fromkeys(("roberta", "bart"), _ROBERTA),
    "opt": _ByteLevel(first="</s>"),
}
"""By the type of the model, for vocab.json and merges.txt alone."""


USUAL = ("<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>")
"""Special tokens of vocabularies without settings."""


def _pairs(folder: Path, config: Mapping[str, Any], settings: Json) -> Json:
    kind = config.get("model_type")
    if kind not in BYTE_LEVEL:
        raise FieldError("model_type", kind, among(BYTE_LEVEL, on="vocab.json"))
    rule, vocabulary = BYTE_LEVEL[kind], _json(folder / "vocab.json")
    lines = read_text(folder / "merges.txt").splitlines()
    merges = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    if not isinstance(vocabulary, dict) or any(len(merge) != 2 for merge in merges):
        raise InputError(NO_FORM)
    tokenizer = byte_level(vocabulary, merges, rule.before, rule.normalizer)
    tokenizer = with_added(tokenizer, [Added(vocabulary[text], text) for text in USUAL if text in vocabulary])

    def end(text: str | None) -> tuple[str, int] | None:
        return (text, vocabulary[text]) if text is not None and text in vocabulary else None

    return with_ends(tokenizer, end(rule.first), end(rule.last))


WORD_PIECE = ("bert", "distilbert", "electra")
"""Types of models that vocab.txt alone is enough for."""


def _words(folder: Path, config: Mapping[str, Any], settings: Json) -> Json:
    kind = config.get("model_type")
    if kind not in WORD_PIECE:
        raise FieldError("model_type", kind, among(WORD_PIECE, on="vocab.txt"))
    lines = read_text(folder / "vocab.txt").split("\n")
    tokens = [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    vocabulary = {text: one for one, text in enumerate(tokens)}
    is_lower = settings.get("do_lower_case", True) is not False
    splits = settings.get("tokenize_chinese_chars", True) is not False
    tokenizer = word_piece(vocabulary, is_lower, splits_chinese=splits)
    special = ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")
    tokenizer = with_added(
        tokenizer, [Added(vocabulary[text], text) for text in special if text in vocabulary]
    )
    ends = [(text, vocabulary[text]) if text in vocabulary else None for text in ("[CLS]", "[SEP]")]
    return with_ends(tokenizer, *ends)


TOKENIZER_FILES = (
    TokenizerFile((TOKENIZER,), _as_it_is),
    *(
        TokenizerFile((name,), _sentence_piece(name))
        for name in ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
    ),
    TokenizerFile(("vocab.json", "merges.txt"), _pairs),
    TokenizerFile(("vocab.txt",), _words),
)
"""In the order in which they are looked for."""


def find_tokenizer(folder: Path, config: Mapping[str, Any]) -> tuple[Path, Json | None]:
    """The tokenizer of a folder as a parsed tokenizer.json, and its file; None where it has none.

    Raises `CheckpointError`: one sentence that begins with the file's name.
    """
    for row in TOKENIZER_FILES:
        if all((folder / name).is_file() for name in row.names):
            return folder / row.names[0], _read(folder, row, config)
    return folder / TOKENIZER, None


def read_settings(folder: Path) -> Json:
    """The contents of tokenizer_config.json; empty without one. Raises `CheckpointError`."""
    file = folder / SETTINGS
    try:
        settings = _json(file) if file.is_file() else {}
    except (OSError, *FORM_FAULTS) as error:
        raise CheckpointError(about(file.name, message_of(error))) from None
    return settings if isinstance(settings, dict) else {}


def _read(folder: Path, row: TokenizerFile, config: Mapping[str, Any]) -> Json:
    name = row.names[0]
    try:
        for one in row.names:
            if (said := said_of_file(folder / one)) is not None:
                raise CheckpointError(about(one, said))
        settings = read_settings(folder)
        tokenizer = row.read(folder, config, settings)
        vocabulary, listed = tokenizer["model"]["vocab"], tokenizer.get("added_tokens") or ()
        known = dict(vocabulary if isinstance(vocabulary, dict) else _numbered(vocabulary))
        added = {one["content"]: one["id"] for one in listed}
        return with_added(tokenizer, _named(settings, known, added))
    except CheckpointError:
        raise
    except InputError as error:
        raise CheckpointError(about(name, error.message)) from None
    except OSError as error:
        raise CheckpointError(about(name, message_of(error))) from None
    except FORM_FAULTS:
        raise CheckpointError(about(name, NO_FORM)) from None


NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""Settings that name a special token; a chat template reads them as texts."""
LISTED = ("additional_special_tokens", "extra_special_tokens")
"""Settings with several, in a list or by name."""


NO_SETTINGS = Message("The file must name tokens as transformers does; got something else.")


def _named(settings: Json, known: Mapping[str, int], added: Mapping[str, int]) -> list[Added]:
    """The tokens that the settings add to the `added` ones, or with other flags, as `transformers` does.

    `known` are the ids of the vocabulary; a token without one has the next. Raises `CheckpointError`.
    """
    known = {**known, **added}
    tokens: dict[str, Added] = {}
    after = max(known.values(), default=-1) + 1
    try:
        for value, is_role in _values(settings):
            flags = value if isinstance(value, dict) else {"content": value}
            text = flags["content"]
            if not isinstance(text, str) or not text or text in tokens or (is_role and text in added):
                continue
            chosen = (bool(flags.get(name)) for name in FLAGS)
            is_special = is_role or bool(flags.get("special"))
            tokens[text] = Added(known.get(text, after), text, is_special, *chosen)
            after += text not in known
    except FORM_FAULTS:
        raise CheckpointError(about(SETTINGS, NO_SETTINGS)) from None
    return list(tokens.values())


def _values(settings: Json) -> Iterator[tuple[Any, bool]]:
    """Each token of the settings, and whether it has a role there, which makes it a special one."""
    decoder = settings.get("added_tokens_decoder") or {}
    yield from ((decoder[key], False) for key in sorted(decoder, key=int))
    yield from ((settings.get(name), True) for name in NAMED)
    for name in LISTED:
        several = settings.get(name) or ()
        yield from ((one, True) for one in (several.values() if isinstance(several, dict) else several))


def _numbered(pairs: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Each token of a vocabulary of pairs of a text and its log probability, with its id."""
    return ((pair[0], one) for one, pair in enumerate(pairs))


def _bytes(file: Path) -> bytes:
    return read_bytes(file, MAX_BYTES)


def read_text(file: Path) -> str:
    """The text of a file of at most `MAX_BYTES`."""
    return _bytes(file).decode("utf-8")


def _json(file: Path) -> Any:
    return json.loads(read_text(file))
