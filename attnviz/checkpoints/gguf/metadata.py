"""`KEYS`: the keys of a GGUF file beside those of its architecture that change the result, with their types.

Names as in llama.cpp (gguf-py, constants.py). Other keys of `general` are notes; other keys of `tokenizer`
change no id here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnviz.checkpoints.families.family import Key, flag
from attnviz.errors import Message, must_be

TOKENIZER = "tokenizer.ggml."


def _text(name: str) -> Key:
    return Key(name, None, lambda value: isinstance(value, str), must_be("a text"))


def _list(name: str, is_member: Callable[[Any], bool], requirement: Message) -> Key:
    def is_legal(value: Any) -> bool:
        return isinstance(value, list) and all(map(is_member, value))

    return Key(name, None, is_legal, requirement)


def _texts(name: str) -> Key:
    return _list(name, lambda value: isinstance(value, str), must_be("a list of texts"))


def _numbers(name: str) -> Key:
    return _list(name, lambda value: type(value) in (int, float), must_be("a list of numbers"))


KEYS: tuple[Key, ...] = (
    Key(
        "general.type",
        "model",
        lambda value: value == "model",
        must_be("'model': a file with all the weights of a language model"),
    ),
    Key(
        "split.count",
        1,
        lambda value: value in (0, 1),
        must_be("1: llama-gguf-split --merge of llama.cpp joins the files of a model"),
    ),
    _text(TOKENIZER + "model"),
    _text(TOKENIZER + "pre"),
    _texts(TOKENIZER + "tokens"),
    _texts(TOKENIZER + "merges"),
    _numbers(TOKENIZER + "scores"),
    _numbers(TOKENIZER + "token_type"),
    flag(TOKENIZER + "add_bos_token", None),
    flag(TOKENIZER + "add_eos_token", None),
    flag(TOKENIZER + "add_space_prefix", None),
    _text("tokenizer.chat_template"),
)


def check(metadata: Mapping[str, Any]) -> None:
    """Raise `FieldError` for a key of the table whose value is of another type."""
    for key in KEYS:
        key.read(metadata)
