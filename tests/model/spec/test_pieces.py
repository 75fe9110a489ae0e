"""A vocabulary's rules for splitting texts into tokens: checked, saved, and opened again."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.core.bpe import LONGEST_ADDED
from attnviz.core.piece_kinds import byte_token
from attnviz.model.operands.matrices import token_ids
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.pieces import MOST_MERGES, AddedToken, Pieces, byte_pairs, text_tokens
from attnviz.model.spec.vocabulary import Vocabulary

WORDS = ("<s>", "</s>", "a", "b", "ab", " ab", *map(byte_token, range(256)))
PIECES = Pieces("words", (("a", "b"),), whole_words=True)


def vocabulary(**changes: object) -> Vocabulary:
    rows = np.arange(len(WORDS) * 2.0).reshape(-1, 2)
    made = Vocabulary(WORDS, Matrix(rows), begin="<s>", end="</s>", pieces=PIECES)
    return replace(made, **changes)


def test_a_text_becomes_tokens_behind_the_one_that_begins() -> None:
    assert text_tokens(vocabulary(), "ab abé") == ("<s>", "ab", " ab", "<0xC3>", "<0xA9>")
    assert text_tokens(vocabulary(begin=None), "ba") == ("b", "a")
    assert text_tokens(vocabulary(), "") == ("<s>",)


def test_tokens_that_begin_and_end_are_in_no_text() -> None:
    pairs = byte_pairs(vocabulary())
    assert pairs is not None and pairs.token_bytes(0) == pairs.token_bytes(1) == b""
    assert pairs.decode([0, 4, 5, 1]) == "ab ab"


def test_special_and_added_tokens_are_found_in_a_text() -> None:
    """Documents of earlier versions have the special ones alone: those are found as they are written."""
    special = replace(PIECES, special=("<s>", "</s>"))
    assert text_tokens(vocabulary(pieces=special), "ab</s> ab<s>") == ("<s>", "ab", "</s>", " ab", "<s>")
    rules = (AddedToken("</s>", lstrip=True), AddedToken("b", single_word=True), AddedToken("<x>"))
    pairs = byte_pairs(vocabulary(pieces=replace(special, added=rules)))
    assert pairs is not None
    assert [WORDS[one] for one in pairs.encode("ab </s> b")] == ["<s>", "ab", "</s>", "<0x20>", "b"]
    with pytest.raises(
        ValueError, match=r"^text must consist of tokens of the vocabulary; got '<x>'\.$"
    ):  # it has no vector
        pairs.encode("ab<x>")


def test_a_vocabulary_without_pieces_reads_no_text() -> None:
    assert byte_pairs(vocabulary(pieces=None)) is None and byte_pairs(None) is None
    with pytest.raises(
        ValueError, match=r"vocabulary\.pieces must be a rule that splits a text into tokens; got null\."
    ):
        text_tokens(vocabulary(pieces=None), "ab")


@pytest.mark.parametrize("name", ["mine.json", "mine.safetensors"])
@pytest.mark.parametrize("pieces", [PIECES, replace(PIECES, added=(AddedToken("<x>", rstrip=True),))])
def test_saved_and_opened_the_pieces_are_the_same(tmp_path: Path, pieces: Pieces, name: str) -> None:
    experiment = Experiment(("a", "b"), SeededVectors(2, 2, 0), vocabulary=vocabulary(pieces=pieces))
    opened = attnviz.load(attnviz.save(experiment, tmp_path / name))
    assert opened.experiment == experiment
    assert opened.experiment.vocabulary is not None and opened.experiment.vocabulary.pieces == pieces


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"begin": "<b>"}, r"vocabulary\.begin must be one of vocabulary\.tokens, or null; got '<b>'\."),
        ({"end": "<e>"}, r"vocabulary\.end must be one of vocabulary\.tokens, or null; got '<e>'\."),
        (
            {"pieces": Pieces("words", (("b", "a"),))},
            r"vocabulary\.pieces\.merges\[0\] must join tokens of the vocabulary into one of them; "
            r"got 'ba'\.",
        ),
        (
            {"pieces": Pieces("byte_level")},
            r"vocabulary\.pieces\.tokens must have a token for every byte of a text; got none for "
            r"the byte 00\.",
        ),
        (
            {"pieces": Pieces("words", special=("<x>",))},
            r"vocabulary\.pieces\.special must be one of vocabulary\.tokens; got '<x>'\.",
        ),
    ],
)
def test_pieces_that_do_not_fit_the_tokens_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vocabulary(**changes)


def test_pieces_are_checked() -> None:
    for text in ("", "a" * (LONGEST_ADDED + 1)):
        length = f"length {len(text)}"
        with pytest.raises(
            ValueError,
            match=rf"vocabulary\.pieces\.added\.token must have length 1 to 256; got {length}\.",
        ):
            AddedToken(text)
    with pytest.raises(
        ValueError,
        match=r"vocabulary\.pieces\.kind must be one of 'words', 'metaspace', 'byte_level'; got 'regex'\.",
    ):
        Pieces("regex")  # type: ignore[arg-type]
    many = (("a", "b"),) * (MOST_MERGES + 1)
    with pytest.raises(
        ValueError, match=r"vocabulary\.pieces\.merges must have length 200,000 or less; got length 200,001\."
    ):
        Pieces("words", many)


def test_a_closed_vocabulary_is_freed_with_its_encoder() -> None:
    one = vocabulary()
    pairs, ids = byte_pairs(one), token_ids(one)
    assert pairs is not None and pairs is byte_pairs(one)
    assert ids is token_ids(one) and ids["ab"] == WORDS.index("ab")
    alive = ref(one), ref(pairs)
    del one, pairs, ids
    gc.collect()
    assert [found() for found in alive] == [None, None]
