"""A text as tokens of an experiment and back, and the description of each token: its id and its bytes.

Beside the general splittings (`core/tokens.py`), a vocabulary that stores its tokenisation has the model's
own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from attnviz.core.bpe import BytePairs, check_text
from attnviz.core.text import visible
from attnviz.core.tokens import SPLITTINGS, Splitting, guess_splitting, join, split, token_bytes
from attnviz.errors import FieldError, must_be
from attnviz.i18n import N_, _
from attnviz.model.memo import WeakMemo
from attnviz.model.operands.matrices import token_ids
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.pieces import byte_pairs, own_tokens, text_tokens
from attnviz.model.spec.tokenizer_file import TokenizerFile
from attnviz.model.spec.vocabulary import Vocabulary

MODEL = Splitting("model", N_("model"))

_SPACED_WORD = re.compile(r"\s*\S+|\s+$")
"""A word with the space before it, as models write it; spaces at the end."""

_MOST_BYTES = 12
"""Largest number of a token's bytes that are shown."""


@dataclass(frozen=True)
class Face:
    """Display of a token: its text, a line about it, and whether the vocabulary lacks it."""

    shown: str
    note: str
    is_outside: bool = False


def splittings(experiment: Experiment) -> tuple[Splitting, ...]:
    """The ways in which a text can become tokens of this experiment."""
    return SPLITTINGS if byte_pairs(experiment.vocabulary) is None else (MODEL, *SPLITTINGS)


def split_text(
    experiment: Experiment, text: str, splitting: str, *, keeps_ends: bool = False
) -> tuple[str, ...]:
    """The tokens of `text`.

    If the model stores its tokenisation, all of them are its tokens, after the one that begins a text: a word
    (with the space before it), a character or a byte that is no token is cut further, as the model would cut
    it. So each has an embedding. With `keeps_ends` a text in place of tokens without the one that begins a
    text, such as those of a chat, gets none either.

    Raises `ValueError` for a splitting that this experiment does not have, and for a text that has no bytes.
    """
    vocabulary = experiment.vocabulary
    pairs = byte_pairs(vocabulary)
    if splitting == MODEL.id:
        if vocabulary is None:
            raise FieldError(
                "vocabulary", None, must_be("a vocabulary with a rule that splits a text into tokens")
            )
        return text_tokens(vocabulary, text, has_ends=keeps_ends and not _begins(experiment))
    if vocabulary is None or pairs is None:
        return split(text, splitting)
    check_text(text)
    read = pairs.begun(text)
    parts = _SPACED_WORD.findall(read) if splitting == "word" else split(read, splitting)
    is_put = vocabulary.begin is not None and (_begins(experiment) or not keeps_ends)
    begin = (vocabulary.begin,) if is_put and vocabulary.begin is not None else ()
    return (
        *begin,
        *(token for part in parts if _is_written(pairs, part) for token in own_tokens(vocabulary, part)),
    )


def _begins(experiment: Experiment) -> bool:
    """True if the tokens begin with those that the tokenizer puts before a text, if any."""
    pairs = byte_pairs(experiment.vocabulary)
    return pairs is None or experiment.tokens[: len(pairs.first)] == pairs.first


def _is_written(pairs: BytePairs | TokenizerFile, part: str) -> bool:
    """True if a part of a text encodes to tokens: many tokenizers drop spaces."""
    return isinstance(pairs, BytePairs) or not part.isspace() or bool(pairs.encode_inside(part))


def join_text(experiment: Experiment, tokens: tuple[str, ...], splitting: str) -> str:
    """The text of `tokens`, as far as one exists that is split into them."""
    vocabulary = experiment.vocabulary
    pairs = byte_pairs(vocabulary)
    is_read = vocabulary is not None and (splitting == MODEL.id or _are_mostly_known(vocabulary, tokens))
    if vocabulary is None or pairs is None or not is_read:
        return join(tokens, "word" if splitting == MODEL.id else splitting)
    return pairs.join(tokens)


def likely_splitting(experiment: Experiment) -> str:
    """The splitting in which a text line most likely shows the tokens: the first that restores them."""
    tokens, vocabulary = experiment.tokens, experiment.vocabulary
    if vocabulary is None or byte_pairs(vocabulary) is None or not _are_mostly_known(vocabulary, tokens):
        return guess_splitting(tokens)
    return next((way.id for way in splittings(experiment) if gives(experiment, way.id)), MODEL.id)


def own_splitting(experiment: Experiment) -> str:
    """The model's own rule of cutting texts where it has one, else the likely splitting."""
    ways = [row.id for row in splittings(experiment)]
    return MODEL.id if MODEL.id in ways else likely_splitting(experiment)


def load_tokenizer(experiment: Experiment) -> None:
    """Read the text of the tokens once: a large tokenizer takes seconds to load, and then none per text."""
    gives(experiment, MODEL.id)


def gives(experiment: Experiment, splitting: str) -> bool:
    """True if the text of the experiment's tokens is split into them again."""
    text = join_text(experiment, experiment.tokens, splitting)
    try:
        return split_text(experiment, text, splitting, keeps_ends=True) == experiment.tokens
    except ValueError:  # half of a surrogate pair
        return False


def _are_mostly_known(vocabulary: Vocabulary, tokens: tuple[str, ...]) -> bool:
    ids = token_ids(vocabulary)
    return 2 * sum(token in ids for token in tokens) >= len(tokens)


def shown_token(vocabulary: Vocabulary | None, token: str) -> str:
    """A token as it is shown: its text with signs for its spaces, a piece of a character as its bytes."""
    return visible(token if vocabulary is None else _written(vocabulary)[token])


def written_tokens(vocabulary: Vocabulary | None, tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens as they are written in a text: " the" for "Ġthe"; without a vocabulary, as they are."""
    if vocabulary is None or byte_pairs(vocabulary) is None:
        return tokens
    return tuple(map(_written(vocabulary).__getitem__, tokens))


class _Written(dict[str, str]):
    """The text of each token of a vocabulary, computed at its first use."""

    def __init__(self, pairs: BytePairs | TokenizerFile | None, ids: Mapping[str, int]) -> None:
        super().__init__()
        self._pairs, self._ids = pairs, ids

    def __missing__(self, token: str) -> str:
        one = self._ids.get(token)
        shown = self[token] = token if self._pairs is None or one is None else self._pairs.shown(one)
        return shown


@WeakMemo
def _written(vocabulary: Vocabulary) -> _Written:
    return _Written(byte_pairs(vocabulary), token_ids(vocabulary))


def faces(experiment: Experiment) -> tuple[Face, ...]:
    """Display of each token of the experiment."""
    vocabulary = experiment.vocabulary
    if vocabulary is None:
        return tuple(Face(visible(token), _bytes_line(token_bytes(token))) for token in experiment.tokens)
    known = {token: _face(vocabulary, token) for token in dict.fromkeys(experiment.tokens)}
    return tuple(known[token] for token in experiment.tokens)


def _face(vocabulary: Vocabulary, token: str) -> Face:
    one = token_ids(vocabulary).get(token)
    if one is None:
        note = _("not in the vocabulary: its vector is not a row of the embedding")
        return Face(visible(token), note, is_outside=True)
    pairs = byte_pairs(vocabulary)
    data = token_bytes(token) if pairs is None else pairs.token_bytes(one)
    rest = _bytes_line(data) if data else _role(vocabulary, token)
    return Face(shown_token(vocabulary, token), _id_line(one, rest))


def _role(vocabulary: Vocabulary, token: str) -> str:
    """Purpose of a token without bytes."""
    if token == vocabulary.begin:
        return _("begins a text")
    return _("ends a text") if token == vocabulary.end else _("stands for no text")


def _id_line(one: int, rest: str) -> str:
    return _("id {id} · {rest}").format(id=one, rest=rest)


def _bytes_line(data: bytes) -> str:
    """The bytes in hexadecimal digits; of many, the first."""
    rest = " …" if len(data) > _MOST_BYTES else ""
    return data[:_MOST_BYTES].hex(" ").upper() + rest
