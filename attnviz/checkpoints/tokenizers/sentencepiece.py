"""SentencePiece's own file, `tokenizer.model`, as a tokenizer.json.

The file is a protocol buffer (sentencepiece_model.proto of google/sentencepiece): fields with a number and
one of four wire types. The few that change how a text is cut are read here, without the package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.checkpoints.tokenizers.converter import Added, Json, spaced_pairs, unigram, with_added, with_ends
from attnviz.errors import FieldError, InputError, Message, among

_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_MODEL_TYPE, _HAS_BYTES, _UNKNOWN = 3, 35, 40
_CHARACTERS, _LEADS, _JOINS_SPACES = 2, 3, 4
_UNIGRAM, _PAIRS = 1, 2
_ORDINARY, _UNKNOWN_KIND, _CONTROL, _USERS = 1, 2, 3, 4

WHOLE_FILES = ("llama", "mistral", "gemma", "gemma2", "gemma3_text", "t5", "mt5", "umt5")
"""Types of models whose token ids are those of the file, and which cut a text as it says."""

MOST_EXTRA = 1000


@dataclass(frozen=True)
class Model:
    """Contents of a file: pieces with their scores and kinds, and how a text is prepared."""

    pieces: tuple[tuple[str, float, int], ...]
    kind: int
    has_bytes: bool
    unknown: int
    characters: bytes
    leads: bool
    joins_spaces: bool


def read_model(data: bytes) -> Model:
    """The contents of a `tokenizer.model`. Raises `InputError` for other bytes."""
    try:
        whole = list(_fields(data))
        pieces = tuple(_piece(value) for number, value in whole if number == _PIECES)
        trainer = dict(_fields(next((v for n, v in whole if n == _TRAINER), b"")))
        normal = dict(_fields(next((v for n, v in whole if n == _NORMALIZER), b"")))
        characters = normal.get(_CHARACTERS, b"")
        kind, unknown = trainer.get(_MODEL_TYPE, _UNIGRAM), trainer.get(_UNKNOWN, 0)
        if not pieces or type(kind) is not int or type(unknown) is not int or type(characters) is not bytes:
            raise ValueError
    except (ValueError, struct.error, TypeError):
        raise InputError(Message("The file must be a model of SentencePiece; got other bytes.")) from None
    leads, joins = bool(normal.get(_LEADS, 1)), bool(normal.get(_JOINS_SPACES, 1))
    return Model(pieces, kind, bool(trainer.get(_HAS_BYTES, 0)), unknown, characters, leads, joins)


def sentence_piece(data: bytes, config: Mapping[str, Any], settings: Mapping[str, Any]) -> Json:
    """The tokenizer.json of a `tokenizer.model`; `settings` are those of tokenizer_config.json.

    Raises `InputError` for other bytes, and for a kind or a type of model that cuts texts in another way.
    """
    model, of_model = read_model(data), config.get("model_type")
    if of_model not in WHOLE_FILES:
        raise FieldError("model_type", of_model, among(WHOLE_FILES, on="tokenizer.model"))
    if model.kind not in (_UNIGRAM, _PAIRS):
        raise InputError(Message("The model of SentencePiece must be Unigram or BPE; got another kind."))
    plain = [(text, score) for text, score, _kind in model.pieces]
    is_t5 = str(of_model).endswith("t5")
    if model.kind == _PAIRS:
        unknown = plain[model.unknown][0] if 0 <= model.unknown < len(plain) else None
        leads_each = settings.get("legacy") is not False
        tokenizer = spaced_pairs(plain, unknown, model.has_bytes, model.leads, leads_each)
    else:
        extra = int(settings.get("extra_ids", 100)) if is_t5 else 0
        last = range(min(max(extra, 0), MOST_EXTRA))[::-1]
        plain += [(f"<extra_id_{number}>", 0.0) for number in last]
        tokenizer = unigram(
            plain, model.unknown, model.has_bytes, model.leads, model.characters, model.joins_spaces
        )
    special = [
        Added(one, text, kind != _USERS)
        for one, (text, _score, kind) in enumerate(model.pieces)
        if kind in (_UNKNOWN_KIND, _CONTROL, _USERS)
    ]
    special += [Added(one, plain[one][0]) for one in range(len(model.pieces), len(plain))]
    tokenizer = with_added(tokenizer, special)
    ids = {text: one for one, (text, _score) in enumerate(plain)}

    def end(name: str, is_default: bool, text: str) -> tuple[str, int] | None:
        is_put = settings.get(f"add_{name}_token", is_default)
        return (text, ids[text]) if is_put and text in ids else None

    first = "<bos>" if "<bos>" in ids else "<s>"
    last_text = "<eos>" if "<eos>" in ids else "</s>"
    return with_ends(tokenizer, end("bos", not is_t5, first), end("eos", is_t5, last_text))


def _piece(data: Any) -> tuple[str, float, int]:
    fields = dict(_fields(data))
    (score,) = struct.unpack("<f", fields.get(2, b"\0\0\0\0"))
    return fields[1].decode("utf-8"), score, fields.get(3, _ORDINARY)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each field's number and value: a whole number, or bytes. Raises `ValueError` for broken ones."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(data, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError
        if at + length > len(data):
            raise ValueError
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
