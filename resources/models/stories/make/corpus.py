"""The corpus as token ids: rows to learn from, and documents to be tested on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from make.chinese.grammar import CHINESE
from make.english.grammar import ENGLISH
from make.grammar import Language, counted, documents
from make.tokenizer import SPECIAL, Tokenizer

LANGUAGES: tuple[Language, ...] = (ENGLISH, CHINESE)

TEST_SEED = 1
"""The seed of the held-out documents and questions that the model is measured on."""

RANDOM_KINDS = ("repetition", "counting")
"""Kinds of texts that also exist with random tokens."""

Ids = NDArray[np.int64]


def texts(seed: int, count: int) -> Iterator[str]:
    """The first `count` training texts of `seed`, which the tokenizer is learnt from."""
    return (document.text for document in islice(documents(LANGUAGES, "train", seed), count))


def framed(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of one text between begin and end."""
    return [tokenizer.begin, *tokenizer.encode(text), tokenizer.end]


def whole_tokens(tokenizer: Tokenizer) -> list[int]:
    """The tokens of at least one whole character."""
    return [i for i in range(len(SPECIAL), len(tokenizer)) if not tokenizer.text(i).startswith("⟨")]


def random_line(rng: Random, tokenizer: Tokenizer, whole: list[int], kind: str) -> list[int]:
    """Random tokens: a repeated sequence of different ones, or some in a row that are then counted.

    A line end precedes the repeated ones, as it begins no other text: so a strange prompt is no reason to
    repeat it. `kind` is one of `RANDOM_KINDS`.
    """
    line = tokenizer.encode("\n")
    if kind == "repetition":
        once = rng.sample(whole, rng.randint(3, rng.randint(4, 40)))
        between = line if rng.random() < 0.5 else []
        return [tokenizer.begin, *line, *once, *between, *once, tokenizer.end]
    row, counts = counted(rng, tuple(whole))
    said = [one for word, count in counts for one in (word, *tokenizer.encode(f" {count}"))]
    return [tokenizer.begin, *row, *line, *said]


def rows(
    tokenizer: Tokenizer, seed: int, length: int, random_share: float, only: tuple[str, ...] = ()
) -> Iterator[Ids]:
    """Training rows (`length`,) without end: whole texts one after the other, the last one cut off.

    Each row starts with the begin token, as every prompt will. Of the texts, `random_share` are lines of
    random tokens.
    """
    row: list[int] = []
    rng, whole = Random(f"random-{seed}"), whole_tokens(tokenizer)
    kinds = [kind for kind in RANDOM_KINDS if not only or kind in only]
    for document in documents(LANGUAGES, "train", seed, only):
        if rng.random() < random_share:
            row += random_line(rng, tokenizer, whole, rng.choice(kinds))
        else:
            row += framed(tokenizer, document.text)
        if len(row) >= length:
            yield np.array(row[:length], dtype=np.int64)
            row = []


def batches(
    tokenizer: Tokenizer,
    seed: int,
    size: int,
    length: int,
    random_share: float,
    only: tuple[str, ...] = (),
) -> Iterator[Ids]:
    """Training rows by the batch, (`size`, `length`), without end; with `only`, of those kinds of text."""
    stream = rows(tokenizer, seed, length, random_share, only)
    while True:
        yield np.stack(list(islice(stream, size)))


def test_documents(tokenizer: Tokenizer, language: Language, count: int, length: int) -> list[list[int]]:
    """The first `count` held-out texts of one language as ids, each alone, cut to `length` tokens."""
    drawn = islice(documents((language,), "held_out", TEST_SEED), count)
    return [framed(tokenizer, document.text)[:length] for document in drawn]


def padded(sequences: list[list[int]], filler: int) -> tuple[Ids, NDArray[np.bool_]]:
    """Sequences as one array (sequence, longest), short ones filled up, and where it holds their tokens."""
    lengths = np.array([len(sequence) for sequence in sequences])
    ids = np.full((len(sequences), int(lengths.max())), filler, dtype=np.int64)
    held = np.arange(ids.shape[1])[None, :] < lengths[:, None]
    ids[held] = np.concatenate([np.array(sequence, dtype=np.int64) for sequence in sequences])
    return ids, held
