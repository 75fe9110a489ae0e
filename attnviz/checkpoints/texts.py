"""The tokens of a model from its tokenizer: their texts, the tokenisation of a text, and its ids.

A token's text is the exact string in the tokenizer's vocabulary ("Ġthe", "▁the", "<0x0A>"): two tokens may
look alike once decoded, and each needs a text of its own. Ids without a text, such as padding rows of an
embedding, are named by their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.checkpoints.pieces import FORM_FAULTS, read_begin, read_pieces
from attnviz.checkpoints.reader import CONFIG, Checkpoint, CheckpointError
from attnviz.checkpoints.tokenizers.files import find_tokenizer
from attnviz.errors import A_TOKEN, FieldError, Message, about, message_of, must_be, quoted, whole_number
from attnviz.model.spec.pieces import Pieces, encoder
from attnviz.model.spec.tokenizer_file import NO_FORM, can_encode, kept_text, whole_text


@dataclass(frozen=True)
class Tokens:
    """A distinct text for each id; the tokenisation, if it is known; the tokens that begin and end a text.

    `file` is that of the tokenizer, `data` its tokenizer.json, if any; `tokenizer` is the text of it that a
    document stores if it has no `pieces`.
    """

    file: Path
    texts: tuple[str, ...]
    pieces: Pieces | None = None
    tokenizer: str | None = None
    begin: str | None = None
    end: str | None = None
    data: Mapping[str, Any] | None = None

    @property
    def reads_text(self) -> bool:
        """True if the model can read a text in place of ids."""
        return self.pieces is not None or (can_encode() and self.data is not None)


def read_tokens(checkpoint: Checkpoint, size: int) -> Tokens:
    """The tokens of `size` ids. Raises `CheckpointError` for a broken tokenizer.

    A text ends with the first `eos_token_id` of the configuration. It begins with the token that the
    tokenizer prepends, or `bos_token_id` for a tokenizer that cuts texts into words, as the bundled model's
    does.
    """
    config = checkpoint.config
    if checkpoint.tokenizer is not None:
        file, data = checkpoint.folder / checkpoint.config_name, checkpoint.tokenizer
    elif checkpoint.config_name != CONFIG:
        file, data = checkpoint.folder / checkpoint.config_name, None
    else:
        file, data = find_tokenizer(checkpoint.folder, config)
    known = _vocabulary(file, data) if data else {}
    texts = [known.get(one, f"‹{one}›") for one in range(size)]
    seen: set[str] = set()
    for one, text in enumerate(texts):
        texts[one] = text if text not in seen else f"{text}‹{one}›"
        seen.add(texts[one])
    names = tuple(texts)
    try:
        pieces = read_pieces(data, names) if data else None
        begin = read_begin(data or {})
    except FORM_FAULTS:
        raise _no_form(file) from None
    if begin is None and pieces is not None and pieces.kind == "words":
        begin = _named(names, config.get("bos_token_id"))
    end = _named(names, config.get("eos_token_id"))
    own = kept_text(data) if data and pieces is None else None
    return Tokens(file, names, pieces, own, begin if begin in seen else None, end, data)


def id_list(ids: Any, name: str) -> tuple[Any, ...] | None:
    """Token ids as Python integers, from a list, or one row of an array or a tensor; None stays None.

    `name` stands for the ids in messages. Raises `CheckpointError` for anything but a list.
    """
    plain = ids.tolist() if hasattr(ids, "tolist") else ids
    if plain is None:
        return None
    if not isinstance(plain, Sequence) or isinstance(plain, str | bytes):
        raise _ids_error(name, plain, must_be("a list of token ids"))
    return tuple(one.item() if isinstance(one, np.generic) else one for one in plain)


def token_ids(
    tokens: Tokens, text: str | None, ids: Sequence[int] | None, name: str, is_whole: bool = False
) -> tuple[int, ...]:
    """The passed ids, or those of a text. Raises `CheckpointError` for none, and for an id too high.

    `name` stands for the ids in messages; nothing is put around a text that `is_whole`.
    """
    if text is None and ids is None:
        raise _ids_error(name, None, must_be("a list of token ids, or a text must be given"))
    if text is not None and ids is not None:
        raise _ids_error(name, ids, must_be("null with a text"))
    encoded = _encoded(tokens, text, is_whole) if text is not None else tuple(ids or ())
    if not encoded:
        raise _ids_error(name, [], A_TOKEN)
    for index, one in enumerate(encoded):
        if type(one) is not int or not 0 <= one < len(tokens.texts):
            raise _ids_error(f"{name}[{index}]", one, whole_number(0, len(tokens.texts) - 1))
    return encoded


def _ids_error(name: str, value: object, requirement: Message) -> CheckpointError:
    return CheckpointError(FieldError(name, value, requirement).message)


def _encoded(tokens: Tokens, text: str, is_whole: bool) -> tuple[int, ...]:
    """The ids of a text, with the tokens that the tokenizer puts around it unless the text `is_whole`."""
    file = tokens.file
    if tokens.data is None:
        needed = Message(
            "The tokenizer in {folder} must be of a known kind, or ids must be given instead of a text.",
            folder=file.parent.name,
        )
        raise CheckpointError(about(file.name, needed))
    tokenizer = tokens.tokenizer or whole_text(tokens.data)
    try:
        pairs = encoder(tokens.texts, tokens.pieces, tokenizer, tokens.begin, tokens.end)
        assert pairs is not None  # one of the two is known
        return tuple(pairs.encode(text, has_ends=is_whole))
    except ValueError as error:
        raise CheckpointError(about(file.name, message_of(error))) from None


def _vocabulary(file: Path, data: Any) -> dict[int, str]:
    """The text of each id in a tokenizer.json."""
    try:
        vocabulary = data["model"]["vocab"]
        if isinstance(vocabulary, dict):  # BPE, WordPiece, WordLevel
            known = {one: text for text, one in vocabulary.items()}
        else:  # Unigram: pairs of a text and its log probability, in the order of ids
            known = {one: pair[0] for one, pair in enumerate(vocabulary)}
        for added in data.get("added_tokens") or ():
            known[added["id"]] = added["content"]
    except FORM_FAULTS:
        raise _no_form(file) from None
    for one, text in known.items():
        if type(one) is not int or not isinstance(text, str):
            fault = FieldError(f"token {quoted(text)}", one, Message("must have a whole number as its id"))
            raise CheckpointError(about(file.name, fault.message))
    return known


def _named(texts: tuple[str, ...], ids: Any) -> str | None:
    """The text of an id in a configuration, or of the first of several."""
    one = ids[0] if isinstance(ids, list) and ids else ids
    return texts[one] if type(one) is int and 0 <= one < len(texts) else None


def _no_form(file: Path) -> CheckpointError:
    return CheckpointError(about(file.name, NO_FORM))
