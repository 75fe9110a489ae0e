"""The texts of a model's tokens, and the ids of a text, from `tokenizer.json`.

A token's text is the string that the tokenizer's vocabulary has for it, as it is ("Ġthe", "▁the", "<0x0A>"):
two tokens may look alike once they are decoded, and each needs a text of its own. Ids without a text, such as
the rows that an embedding is padded with, are called by their number.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnviz.checkpoints.reader import CheckpointError
from attnviz.model.faults import short

TOKENIZER = "tokenizer.json"

MAX_BYTES = 64 * 2**20
"""Longest tokenizer.json that is read: those of vocabularies of 256,000 tokens have about 34 MB."""


def token_texts(folder: Path, size: int) -> tuple[str, ...]:
    """A text for each of `size` ids, no two alike. Raises `CheckpointError` for a broken tokenizer.json."""
    known = _vocabulary(folder / TOKENIZER) if (folder / TOKENIZER).is_file() else {}
    texts = [known.get(one, f"‹{one}›") for one in range(size)]
    seen: set[str] = set()
    for one, text in enumerate(texts):
        texts[one] = text if text not in seen else f"{text}‹{one}›"
        seen.add(texts[one])
    return tuple(texts)


def token_ids(
    folder: Path, size: int, text: str | None, ids: Sequence[int] | None, name: str
) -> tuple[int, ...]:
    """The ids that were given, or those of a text. Raises `CheckpointError` for none, and for one too high.

    `name` is what the ids are called in messages.
    """
    if text is None and ids is None:
        raise CheckpointError(f"{name} is null; legal is a list of token ids, or a text in its place")
    if text is not None and ids is not None:
        raise CheckpointError(f"{name} and a text are both there; legal is one of the two")
    found = _encoded(folder / TOKENIZER, text) if text is not None else tuple(ids or ())
    if not found:
        raise CheckpointError(f"{name} is []; legal is one token at least")
    for one in found:
        if type(one) is not int or not 0 <= one < size:
            raise CheckpointError(f"{name} has {short(one)}; legal are whole numbers from 0 to {size - 1}")
    return found


def can_encode() -> bool:
    """Whether the optional package that turns texts into ids is installed."""
    return importlib.util.find_spec("tokenizers") is not None


def _encoded(file: Path, text: str) -> tuple[int, ...]:
    """The ids of a text, with what the tokenizer puts before and after it."""
    if not file.is_file():
        raise CheckpointError(f"{file.name}: there is no such file in {file.parent.name}: give ids instead")
    if not can_encode():
        raise CheckpointError(
            f"{file.name}: a text needs the package tokenizers (pip install attnviz[models]); "
            "ids can be given instead"
        )
    from tokenizers import Tokenizer

    try:
        return tuple(Tokenizer.from_file(str(file)).encode(text).ids)
    except Exception as error:  # the package raises plain Exception for every broken file
        raise CheckpointError(f"{file.name}: {error}") from None


def _vocabulary(file: Path) -> dict[int, str]:
    """The text of each id that a tokenizer.json knows."""
    if file.stat().st_size > MAX_BYTES:
        raise CheckpointError(f"{file.name}: it has more than {MAX_BYTES:,} bytes")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        vocabulary = data["model"]["vocab"]
        if isinstance(vocabulary, dict):  # BPE, WordPiece, WordLevel
            known = {one: text for text, one in vocabulary.items()}
        else:  # Unigram: pairs of a text and its log probability, in the order of ids
            known = {one: pair[0] for one, pair in enumerate(vocabulary)}
        for added in data.get("added_tokens") or ():
            known[added["id"]] = added["content"]
    except (KeyError, TypeError, IndexError, ValueError, RecursionError):
        raise CheckpointError(f"{file.name}: it is no tokenizer of the form that tokenizers writes") from None
    return _checked(file, known)


def _checked(file: Path, known: dict[Any, Any]) -> dict[int, str]:
    for one, text in known.items():
        if type(one) is not int or not isinstance(text, str):
            raise CheckpointError(f"{file.name}: token {short(text)} has id {short(one)}; legal is a number")
    return known
