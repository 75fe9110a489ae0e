"""`TOKENIZER_FILES`: the files that may hold a tokenizer, and how each becomes a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnviz.checkpoints.pieces import FORM_FAULTS
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
    found = _json(folder / TOKENIZER)
    if not isinstance(found, dict):
        raise InputError(NO_FORM)
    return found


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


def _pairs(folder: Path, config: Mapping[str, Any], settings: Json) -> Json:
    kind = config.get("model_type")
    if kind not in BYTE_LEVEL:
        raise FieldError("model_type", kind, among(BYTE_LEVEL, on="vocab.json"))
    rule, vocabulary = BYTE_LEVEL[kind], _json(folder / "vocab.json")
    lines = read_text(folder / "merges.txt").splitlines()
    merges = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    if not isinstance(vocabulary, dict) or any(len(merge) != 2 for merge in merges):
        raise InputError(NO_FORM)
    made = byte_level(vocabulary, merges, rule.before, rule.normalizer)
    made = with_added(made, _added(folder, settings, vocabulary))

    def end(text: str | None) -> tuple[str, int] | None:
        return (text, vocabulary[text]) if text is not None and text in vocabulary else None

    return with_ends(made, end(rule.first), end(rule.last))


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
    made = word_piece(vocabulary, is_lower, splits_chinese=splits)
    special = ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")
    made = with_added(made, [Added(vocabulary[text], text) for text in special if text in vocabulary])
    ends = [(text, vocabulary[text]) if text in vocabulary else None for text in ("[CLS]", "[SEP]")]
    return with_ends(made, *ends)


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
        found = _json(file) if file.is_file() else {}
    except (OSError, *FORM_FAULTS) as error:
        raise CheckpointError(about(file.name, message_of(error))) from None
    return found if isinstance(found, dict) else {}


def _read(folder: Path, row: TokenizerFile, config: Mapping[str, Any]) -> Json:
    name = row.names[0]
    try:
        for one in row.names:
            if (said := said_of_file(folder / one)) is not None:
                raise CheckpointError(about(one, said))
        return row.read(folder, config, read_settings(folder) if name != TOKENIZER else {})
    except CheckpointError:
        raise
    except InputError as error:
        raise CheckpointError(about(name, error.message)) from None
    except OSError as error:
        raise CheckpointError(about(name, message_of(error))) from None
    except FORM_FAULTS:
        raise CheckpointError(about(name, NO_FORM)) from None


def _added(folder: Path, settings: Json, vocabulary: Mapping[str, int]) -> list[Added]:
    """The special tokens that the other files name."""
    listed = settings.get("added_tokens_decoder")
    found: dict[int, Added] = {}
    if isinstance(listed, dict):
        for one, added in listed.items():
            found[int(one)] = Added(int(one), str(added["content"]), bool(added.get("special", True)))
    for name in ("bos_token", "eos_token", "unk_token", "pad_token", "mask_token", "cls_token", "sep_token"):
        value = settings.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and text in vocabulary:
            found.setdefault(vocabulary[text], Added(vocabulary[text], text))
    for text in ("<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"):
        if text in vocabulary:
            found.setdefault(vocabulary[text], Added(vocabulary[text], text))
    return list(found.values())


def _bytes(file: Path) -> bytes:
    if (n_bytes := file.stat().st_size) > MAX_BYTES:
        raise InputError(
            Message("The file must have at most {most:,} bytes; got {n:,}.", most=MAX_BYTES, n=n_bytes)
        )
    return file.read_bytes()


def read_text(file: Path) -> str:
    """The text of a file of at most `MAX_BYTES`."""
    return _bytes(file).decode("utf-8")


def _json(file: Path) -> Any:
    return json.loads(read_text(file))
