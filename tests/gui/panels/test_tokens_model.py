"""The tokens' panel with a vocabulary: typed text becomes the model's tokens with the model's vectors."""

from __future__ import annotations

import html

import numpy as np
import pytest
from desk import count_color, picture
from first_layer import change
from msgspec.structs import replace
from panels import PanelBench
from pointer import move
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from attnviz.core.piece_kinds import byte_token
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.tokens import TokensPanel
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.segmented import Segmented
from attnviz.model.edit.edits import rename_token, set_tokens
from attnviz.model.io.presets import load_preset
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.pieces import AddedToken, Pieces
from attnviz.model.spec.vocabulary import Vocabulary

NAMES = ("<s>", "the", " cat", " sat", *map(byte_token, range(256)))
ROWS = np.random.default_rng(0).standard_normal((len(NAMES), 4))


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[TokensPanel]:
    pieces = Pieces("words", whole_words=True)
    known = Vocabulary(NAMES, Matrix(ROWS), embedding_scale=2.0, begin="<s>", pieces=pieces)
    vectors = ExplicitVectors(Matrix(2.0 * ROWS[:3]))
    experiment = Experiment(NAMES[:3], vectors, vocabulary=known, readout="vocabulary")
    return PanelBench(qtbot, TokensPanel, Document(experiment), 320, 220)


def line(bench: PanelBench[TokensPanel]) -> DocumentText:
    return bench.find(DocumentText, "token_line")


def splitting(bench: PanelBench[TokensPanel]) -> Segmented:
    return bench.find(Segmented, "splitting_segmented")


def retype(bench: PanelBench[TokensPanel], text: str) -> None:
    line(bench).setFocus()
    line(bench).selectAll()
    QTest.keyClicks(line(bench), text)


def tool_tip(bench: PanelBench[TokensPanel], index: int) -> str:
    viewport, at = bench.panel.chips.viewport(), bench.panel.chips.chip_rect(index).center()
    move(viewport, at, held=False)
    QApplication.sendEvent(viewport, QHelpEvent(QEvent.Type.ToolTip, at, viewport.mapToGlobal(at)))
    text = QToolTip.text()
    QToolTip.hideText()
    return html.unescape(text.removeprefix("<qt>").removesuffix("</qt>"))


def test_the_text_is_the_models_without_the_token_that_begins_it(bench: PanelBench[TokensPanel]) -> None:
    assert splitting(bench).value() == "model" and line(bench).text() == "the cat"
    assert bench.panel.chips.tokens() == ("<s>", "the", " cat")


def test_typing_makes_the_models_tokens_with_the_rows_of_its_embedding(
    bench: PanelBench[TokensPanel],
) -> None:
    retype(bench, "the cat sat")
    experiment = bench.store.experiment
    assert experiment.tokens == ("<s>", "the", " cat", " sat")
    np.testing.assert_array_equal(vectors_array(experiment.vectors), 2.0 * ROWS[:4])
    line(bench).setText("é")
    line(bench).textEdited.emit("é")  # an input method hands it over at once
    ids = [0, 4 + 0xC3, 4 + 0xA9]
    experiment = bench.store.experiment
    assert experiment.tokens == tuple(NAMES[one] for one in ids)
    np.testing.assert_array_equal(vectors_array(experiment.vectors), 2.0 * ROWS[ids])


def test_an_emptied_line_leaves_the_token_that_begins_a_text(bench: PanelBench[TokensPanel]) -> None:
    line(bench).setText("")
    line(bench).textEdited.emit("")
    assert bench.store.experiment.tokens == ("<s>",)


def test_half_a_surrogate_pair_is_refused_in_a_sentence(bench: PanelBench[TokensPanel]) -> None:
    before = bench.store.experiment
    bench.panel._on_text("the \ud83e")
    assert bench.store.experiment == before
    assert bench.refused[-1] == "text must consist of whole characters; got U+D83E, half of a character."


def test_a_chip_says_its_id_and_its_bytes_and_shows_its_space(bench: PanelBench[TokensPanel]) -> None:
    assert tool_tip(bench, 0) == "Position 0: <s> · id 0 · begins a text"
    assert tool_tip(bench, 2) == "Position 2: ␣cat · id 2 · 20 63 61 74"


def test_a_token_outside_the_vocabulary_is_dashed_and_says_why(bench: PanelBench[TokensPanel]) -> None:
    chips = bench.panel.chips
    bench.store.look(query=0)
    whole = count_color(picture(chips.viewport()), LIGHT.line, chips.chip_rect(2))
    bench.store.open(Document(replace(bench.store.experiment, tokens=("<s>", "the", " cow"))))
    assert chips.tokens()[2] == " cow"
    dashed = count_color(picture(chips.viewport()), LIGHT.line, chips.chip_rect(2))
    assert 0 < dashed < 0.9 * whole
    assert "not in the vocabulary" in tool_tip(bench, 2)
    assert splitting(bench).value() == "model" and line(bench).text() == "the cow"


def is_real(experiment: Experiment) -> bool:
    """True if each token's vector is its row of the embedding."""
    ids = [NAMES.index(token) for token in experiment.tokens]
    return np.array_equal(vectors_array(experiment.vectors), 2.0 * ROWS[ids])


def test_a_chip_renamed_to_what_is_no_token_becomes_the_models_tokens(bench: PanelBench[TokensPanel]) -> None:
    bench.store.edit(rename_token, 1, "cow")
    assert bench.store.experiment.tokens == ("<s>", *(byte_token(ord(c)) for c in "cow"), " cat")
    assert is_real(bench.store.experiment) and line(bench).text() == "cow cat"
    assert bench.panel.chips.tokens() == bench.store.experiment.tokens


def rename(bench: PanelBench[TokensPanel], index: int, text: str) -> str:
    """Double-click a chip, type over what is selected, Enter; what stood in the editor before."""
    viewport = bench.panel.chips.viewport()
    at = bench.panel.chips.chip_rect(index).center()
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    editor = bench.find(QLineEdit, "chip_editor")
    before = editor.text()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    return before


def test_the_space_before_a_token_is_seen_in_its_editor_and_stays(bench: PanelBench[TokensPanel]) -> None:
    assert rename(bench, 2, "sat") == "␣cat"
    assert bench.store.experiment.tokens == ("<s>", "the", " sat") and line(bench).text() == "the sat"
    assert is_real(bench.store.experiment)
    before = bench.store.experiment
    assert rename(bench, 2, "") == "␣sat"
    assert bench.store.experiment == before, "nothing was typed"


def test_a_byte_is_edited_as_it_is_shown(bench: PanelBench[TokensPanel]) -> None:
    retype(bench, "the")
    bench.store.edit(set_tokens, ("<s>", "the", byte_token(0xC3), byte_token(0xA9)))
    assert rename(bench, 2, "") == "⟨C3⟩"
    assert bench.store.experiment.tokens[2] == byte_token(0xC3)
    bench.store.edit(rename_token, 3, "⟨A8⟩")
    assert bench.store.experiment.tokens == ("<s>", "the", byte_token(0xC3), byte_token(0xA8))
    assert line(bench).text() == "theè"


@pytest.mark.parametrize("before", [(), ("character",), ("byte", "word"), ("word", "character")])
@pytest.mark.parametrize("way", ["word", "character", "byte"])
def test_each_way_to_split_gives_the_same_rows_wherever_one_comes_from(
    bench: PanelBench[TokensPanel], before: tuple[str, ...], way: str
) -> None:
    retype(bench, "the dog sat")
    for one in (*before, way):
        segment = splitting(bench).findChild(QWidget, f"segment_{one}")
        assert isinstance(segment, QWidget)
        QTest.mouseClick(segment, Qt.MouseButton.LeftButton)
    experiment = bench.store.experiment
    wanted = {
        "word": ("<s>", "the", *(byte_token(ord(c)) for c in " dog"), " sat"),
        "character": ("<s>", *(byte_token(ord(c)) for c in "the dog sat")),
        "byte": ("<s>", *(byte_token(ord(c)) for c in "the dog sat")),
    }
    assert experiment.tokens == wanted[way] and is_real(experiment)
    assert splitting(bench).value() == way, "what was clicked stays"
    assert line(bench).text() == "the dog sat"


def test_what_was_clicked_stays_until_other_tokens_come(bench: PanelBench[TokensPanel]) -> None:
    segment = splitting(bench).findChild(QWidget, "segment_character")
    assert isinstance(segment, QWidget)
    QTest.mouseClick(segment, Qt.MouseButton.LeftButton)
    bench.panel.chips.setFocus()  # a click ends typing in the window
    change(bench.store, temperature=2.0)
    assert splitting(bench).value() == "character"
    bench.store.undo()
    bench.store.undo()
    assert splitting(bench).value() == "model" and line(bench).text() == "the cat"
    bench.store.redo()
    assert splitting(bench).value() == "character" and line(bench).text() == "the cat"


def test_without_pieces_there_is_no_such_way(bench: PanelBench[TokensPanel]) -> None:
    bench.store.open(load_preset("dog-bites-man"))
    assert splitting(bench).findChild(QWidget, "segment_model") is None
    assert splitting(bench).value() == "word" and line(bench).text() == "dog bites man"
    assert tool_tip(bench, 0) == "Position 0: dog · 64 6F 67"


def test_special_tokens_in_the_text_are_tokens_and_are_shown_again(qtbot: QtBot) -> None:
    names = ("<s>", "<|user|>", "<think>", *NAMES[1:])
    rows = np.random.default_rng(0).standard_normal((len(names), 4))
    pieces = Pieces("words", whole_words=True, special=("<s>", "<|user|>"), added=(AddedToken("<think>"),))
    known = Vocabulary(names, Matrix(rows), begin="<s>", pieces=pieces)
    first = Experiment(("<s>", "<|user|>", "the"), ExplicitVectors(Matrix(rows[[0, 1, 3]])), vocabulary=known)
    bench = PanelBench(qtbot, TokensPanel, Document(first), 320, 220)
    assert splitting(bench).value() == "model" and line(bench).text() == "<|user|>the"
    retype(bench, "<|user|>the cat<think> sat<s>")
    tokens = ("<s>", "<|user|>", "the", " cat", "<think>", " sat", "<s>")
    assert bench.store.experiment.tokens == bench.panel.chips.tokens() == tokens
    bench.store.edit(rename_token, 2, " cat")
    assert line(bench).text() == "<|user|> cat cat<think> sat<s>"


def test_a_text_without_the_token_that_begins_one_gets_none(qtbot: QtBot) -> None:
    """A chat's template may leave it out; an edit of the text must not shift every position by one."""
    pieces = Pieces("words", whole_words=True, special=("<s>",))
    known = Vocabulary(NAMES, Matrix(ROWS), begin="<s>", pieces=pieces)
    vectors = ExplicitVectors(Matrix(ROWS[[1, 2]]))
    bench = PanelBench(
        qtbot, TokensPanel, Document(Experiment(("the", " cat"), vectors, vocabulary=known)), 320, 220
    )
    assert splitting(bench).value() == "model" and line(bench).text() == "the cat"
    retype(bench, "the cat sat")
    assert bench.store.experiment.tokens == ("the", " cat", " sat")
    retype(bench, "<s>the cat")
    retype(bench, "the cat sat")
    assert bench.store.experiment.tokens == ("<s>", "the", " cat", " sat")


def test_a_text_longer_than_those_of_the_training_is_said(bench: PanelBench[TokensPanel]) -> None:
    note = bench.find(QLabel, "tokens_beyond")
    bench.store.open(replace(bench.store.document, trained_length=3))
    assert not note.isVisible()
    bench.store.edit(set_tokens, NAMES[:4])
    assert note.isVisible()
    assert note.text() == "The model was trained on texts of up to 3 tokens; this one has 4."
    bench.store.undo()
    assert not note.isVisible()
