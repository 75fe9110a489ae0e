"""Texts as tokens of an experiment and back, and what is told of each token."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.piece_kinds import byte_token
from attnviz.core.text import visible
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.pieces import Pieces
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.text import Face, faces, join_text, likely_splitting, shown_token, split_text, splittings

NAMES = ("<s>", "</s>", "<pad>", "the", " the", " cat", "\n", *map(byte_token, range(256)))
PIECES = Pieces("words", whole_words=True, special=("<pad>",))


def experiment(*tokens: str, pieces: Pieces | None = PIECES) -> Experiment:
    rows = np.arange(len(NAMES) * 2.0).reshape(-1, 2)
    known = Vocabulary(NAMES, Matrix(rows), begin="<s>", end="</s>", pieces=pieces)
    return Experiment(tokens, SeededVectors(len(tokens), 2, 0), vocabulary=known)


PLAIN = Experiment(("a", "é"), SeededVectors(2, 2, 0))


def test_the_models_way_is_there_where_the_vocabulary_says_how() -> None:
    assert [row.id for row in splittings(experiment("the"))] == ["model", "word", "character", "byte"]
    for without in (PLAIN, experiment("the", pieces=None)):
        assert [row.id for row in splittings(without)] == ["word", "character", "byte"]


def test_a_text_and_its_tokens() -> None:
    tokens = split_text(experiment("the"), "the cat é", "model")
    assert tokens == ("<s>", "the", " cat", "<0x20>", "<0xC3>", "<0xA9>")
    assert join_text(experiment("the"), tokens, "model") == "the cat é"
    assert split_text(experiment("the"), "", "model") == ("<s>",)


@pytest.mark.parametrize(
    ("splitting", "parts"),
    [
        ("word", ("the", "<0x20>", "d", "o", "g", "<0x20>", "<0x20>", "<0xE5>", "<0xB0>", "<0x8F>")),
        (
            "character",
            ("t", "h", "e", "<0x20>", "d", "o", "g", "<0x20>", "<0x20>", "<0xE5>", "<0xB0>", "<0x8F>"),
        ),
        ("byte", ("t", "h", "e", "<0x20>", "d", "o", "g", "<0x20>", "<0x20>", "<0xE5>", "<0xB0>", "<0x8F>")),
    ],
)
def test_of_a_model_every_way_gives_its_own_tokens(splitting: str, parts: tuple[str, ...]) -> None:
    """As the model would cut each part; the text stays, to the space."""
    known = experiment("the").vocabulary
    assert known is not None
    own = tuple(part if part in NAMES else byte_token(ord(part)) for part in parts)
    made = split_text(experiment("the"), "the dog  小", splitting)
    assert made == ("<s>", *own) and set(made) <= set(known.tokens)
    assert join_text(experiment("the"), made, splitting) == "the dog  小"


def test_without_pieces_a_text_is_cut_as_it_is() -> None:
    for plain in (PLAIN, experiment("the", pieces=None)):
        assert split_text(plain, "the dog", "word") == ("the", "dog")
        assert join_text(plain, ("the", "dog"), "word") == "the dog"


def test_the_space_before_a_text_is_put_once() -> None:
    names = ("\u2581a", "\u2581", "a", "b", *map(byte_token, range(256)))
    pieces = Pieces("metaspace", merges=(("\u2581", "a"),), leading_space="always")
    known = Vocabulary(names, Matrix(np.zeros((len(names), 2))), pieces=pieces)
    made = Experiment(("a",), SeededVectors(1, 2, 0), vocabulary=known)
    assert split_text(made, "a ba", "word") == ("\u2581a", "\u2581", "b", "a")
    assert split_text(made, "a b", "character") == ("\u2581", "a", "\u2581", "b")
    for way in ("model", "word", "character", "byte"):
        assert join_text(made, split_text(made, "a ba", way), way) == "a ba"


def test_a_token_outside_the_vocabulary_is_its_text() -> None:
    assert join_text(experiment("the"), ("<s>", "the", " dog", " cat", "⟨C3⟩", "<0xA9>"), "model") == (
        "the dog caté"
    )


def test_half_a_pair_and_a_missing_way_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"text must consist of whole characters; got U\+DC00, half of a character\."
    ):
        split_text(experiment("the"), "\udc00", "model")
    with pytest.raises(
        ValueError,
        match=r"vocabulary must be a vocabulary with a rule that splits a text into tokens; got null\.",
    ):
        split_text(PLAIN, "a", "model")
    with pytest.raises(
        ValueError, match=r"splitting must be one of 'word', 'character', 'byte'; got 'line'\."
    ):
        split_text(PLAIN, "a", "line")


def test_the_likely_way_is_the_models_while_half_of_the_tokens_are_its_own() -> None:
    assert likely_splitting(experiment("<s>", "the", " dog", "new")) == "model"
    assert likely_splitting(experiment("a", "dog", "the")) == "word"
    assert likely_splitting(experiment("<s>", "the", pieces=None)) == "word"
    assert likely_splitting(PLAIN) == "character"


def test_letters_that_are_tokens_are_no_text_as_the_model_reads_it() -> None:
    letters = split_text(experiment("the"), "the", "character")
    assert likely_splitting(experiment(*letters)) == "character"
    assert likely_splitting(experiment("<s>", "the", " cat")) == "model"


def test_every_token_shows_its_id_and_its_bytes() -> None:
    made = experiment("<s>", " the", "<0xE4>", "\n", "<pad>", "</s>", " the")
    assert faces(made) == (
        Face("<s>", "id 0 · begins a text"),
        Face("␣the", "id 4 · 20 74 68 65"),
        Face("⟨E4⟩", f"id {7 + 0xE4} · E4"),
        Face("␊", "id 6 · 0A"),
        Face("<pad>", "id 2 · stands for no text"),
        Face("</s>", "id 1 · ends a text"),
        Face("␣the", "id 4 · 20 74 68 65"),
    )


def test_tokens_without_a_vocabulary_show_their_bytes() -> None:
    made = Experiment(("é", "⟨C3⟩", "𠀀abcdefghijklmnop"), SeededVectors(3, 2, 0))
    assert [face.note for face in faces(made)] == ["C3 A9", "C3", "F0 A0 80 80 61 62 63 64 65 66 67 68 …"]
    assert not any(face.is_outside for face in faces(made))
    without = faces(experiment("the", pieces=None))
    assert without == (Face("the", "id 3 · 74 68 65"),)


def test_a_token_outside_is_marked_with_the_reason() -> None:
    (face,) = faces(experiment(" dog"))
    assert (
        face.is_outside and face.shown == "␣dog" and face.note.startswith("not in the vocabulary: its vector")
    )


def test_a_byte_is_shown_in_one_way_with_the_vocabulary_and_without() -> None:
    vocabulary = experiment("the").vocabulary
    for byte in range(256):
        token = byte_token(byte)
        assert shown_token(vocabulary, token) == visible(token)
