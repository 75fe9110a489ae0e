"""The words of a task in a document: those of its vocabulary, or a vocabulary made for the task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.errors import FieldError, Message, must_be
from attnviz.i18n import N_, _
from attnviz.model.operands.matrices import token_ids
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.text import MODEL, split_text
from attnviz.training.tasks import LINES, Sampler, made_task

WORDS = N_("oak fig fir elm hop box bay nut pea fox may ivy yew ash rye hay")
"""The first words of a made vocabulary; further ones are numbers."""


MOST_BYTES = 10**7
"""Bytes of a text that is trained on, at most."""


def ids_of_words(experiment: Experiment, count: int | None = None) -> NDArray[np.int64]:
    """The ids of the first `count` words of the vocabulary, or of all: tokens that neither begin nor end a
    text.

    Raises `FieldError` for a vocabulary with fewer.
    """
    known = experiment.vocabulary
    if known is None:
        raise FieldError(
            "vocabulary", Message("nothing"), must_be("a vocabulary, made for a task or a model's")
        )
    marks = {known.begin, known.end}
    ids = [index for index, token in enumerate(known.tokens) if token not in marks]
    if count is not None and len(ids) < count:
        few = Message("{n} words", n=len(ids))
        raise FieldError("vocabulary", few, must_be("a vocabulary of at least {n} words", n=count))
    return np.array(ids[:count], np.int64)


def words_for(count: int) -> tuple[str, ...]:
    """`count` words for a task, in the language of the program."""
    named = _(WORDS).split()
    return (*named, *(str(index) for index in range(len(named), count)))[:count]


def with_words(experiment: Experiment, words: Sequence[str], seed: int = 0) -> Experiment:
    """The experiment with a vocabulary of `words`, drawn from `seed`, and a text of the first ones.

    The embedding is standard normal, and the unembedding normal with the deviation 1 ÷ √d_model.
    """
    rng, count = np.random.default_rng(seed), len(words)
    width, d_model = experiment.vectors.shape[1], experiment.d_model
    embedding = rng.standard_normal((count, width))
    unembedding = rng.standard_normal((d_model, count)) / np.sqrt(d_model)
    text = [index % count for index in range(len(experiment.tokens))]
    return replace(
        experiment,
        tokens=tuple(words[index] for index in text),
        vectors=ExplicitVectors(Matrix(embedding[text])),
        vocabulary=Vocabulary(tuple(words), Matrix(embedding), unembedding=Matrix(unembedding)),
        readout="vocabulary",
        references=(),
    )


def characters_of(text: str) -> tuple[str, ...]:
    """The characters of a text, each once, as the words of a vocabulary."""
    return tuple(sorted(set(text)))


def words_of_task(id_: str, text: str = "", **sizes: int) -> tuple[str, ...]:
    """The words that a document needs for a task: of the task of lines, the characters of its `text`."""
    return characters_of(text) if id_ == LINES else words_for(made_task(id_, **sizes).n_words)


def task_for(experiment: Experiment, id_: str, text: str = "", **sizes: int) -> Sampler:
    """A task for a document, `text` being that of the task of lines.

    Raises `FieldError` for another name or size, and for a text that is too short or has other tokens.
    """
    if id_ != LINES:
        return made_task(id_, **sizes)
    return made_task(id_, lines_of(experiment, text), len(ids_of_words(experiment)), text, **sizes)


def lines_of(experiment: Experiment, text: str) -> tuple[tuple[int, ...], ...]:
    """The lines of a text as numbers of words, in the order of `ids_of_words`, each with its line feed if the
    vocabulary has one.

    A vocabulary of characters splits into these, a model's as the model does. Raises `FieldError` for a
    token that the vocabulary lacks.
    """
    known = experiment.vocabulary
    numbers = {int(id_): number for number, id_ in enumerate(ids_of_words(experiment))}
    assert known is not None
    ids = token_ids(known)
    is_by_character = all(len(token) == 1 for token in known.tokens)
    found = list[tuple[int, ...]]()
    for line in text.splitlines():
        tokens = tuple(line) if is_by_character else split_text(experiment, line, MODEL.id)
        tokens = (*tokens, "\n") if "\n" in ids else tokens
        strange = next((token for token in tokens if token not in ids), None)
        if strange is not None:
            raise FieldError("text", strange, must_be("a token of the vocabulary"))
        found.append(tuple(numbers[ids[token]] for token in tokens if ids[token] in numbers))
    return tuple(line for line in found if line)
