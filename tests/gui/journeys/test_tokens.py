"""Tokens typed, cut, renamed, moved and removed; a token keeps its vector, and its text is only text."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk, count_color, picture
from pointer import drag
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

import attnviz
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.model.operands.matrices import vectors_array


def chips(desk: Desk) -> TokenChips:
    return desk.find(TokenChips, "token_chips")


def line(desk: Desk) -> DocumentText:
    return desk.find(DocumentText, "token_line")


def retype(desk: Desk, text: str) -> None:
    desk.click(line(desk))
    line(desk).selectAll()
    desk.type_text(line(desk), text)


def by_token(desk: Desk) -> dict[str, list[float]]:
    experiment = desk.store.experiment
    return dict(zip(experiment.tokens, vectors_array(experiment.vectors).tolist(), strict=True))


def test_a_sentence_in_another_order_takes_its_vectors_along(desk: Desk) -> None:
    before = by_token(desk)
    retype(desk, "creature blue fluffy a")
    assert desk.store.experiment.tokens == ("creature", "blue", "fluffy", "a")
    desk.settle()
    assert desk.map.content.row_labels == desk.store.experiment.tokens
    assert chips(desk).tokens() == desk.store.experiment.tokens
    # Key by key, through "c" and "cr" and "creature b": the words that come back find their vectors.
    assert by_token(desk) == before
    desk.store.undo()
    assert desk.store.experiment.tokens == ("a", "fluffy", "blue", "creature")
    assert by_token(desk) == before and not desk.store.can_undo


def test_words_typed_after_another_edit_start_from_it(desk: Desk) -> None:
    desk.click(line(desk))
    QTest.keyClick(line(desk), Qt.Key.Key_End)
    QTest.keyClicks(line(desk), " x")
    drag(desk.vectors.viewport(), desk.vector_center(0, 0), QPoint(0, -50))
    changed = by_token(desk)
    desk.click(line(desk))
    QTest.keyClick(line(desk), Qt.Key.Key_End)
    QTest.keyClick(line(desk), Qt.Key.Key_Backspace)
    QTest.keyClick(line(desk), Qt.Key.Key_Backspace)
    assert by_token(desk) == {token: row for token, row in changed.items() if token != "x"}


def test_a_permutation_pasted_in_one_go_permutes_the_vectors_exactly(desk: Desk) -> None:
    before = by_token(desk)
    desk.click(line(desk))
    line(desk).selectAll()
    line(desk).insert("blue a creature fluffy")
    line(desk).textEdited.emit(line(desk).text())
    assert by_token(desk) == before
    assert desk.store.experiment.tokens == ("blue", "a", "creature", "fluffy")
    desk.settle()
    np.testing.assert_array_equal(desk.map.content.values, attnviz.run(desk.store.experiment)["weights"][0])


def test_one_typed_word_is_one_entry_of_the_history(desk: Desk) -> None:
    first = desk.store.document
    desk.click(line(desk))
    QTest.keyClick(line(desk), Qt.Key.Key_End)
    QTest.keyClicks(line(desk), " again")
    assert desk.store.experiment.tokens == ("a", "fluffy", "blue", "creature", "again")
    np.testing.assert_array_equal(
        vectors_array(desk.store.experiment.vectors)[:4], vectors_array(first.experiment.vectors)
    )
    desk.settle()
    assert desk.map.content.values.shape == (5, 5)
    desk.store.undo()
    assert desk.store.experiment == first.experiment
    assert line(desk).text() == "a fluffy blue creature"


def test_an_undo_between_two_keys_is_kept_apart_from_the_second(desk: Desk) -> None:
    first = desk.store.document
    desk.click(line(desk))
    QTest.keyClick(line(desk), Qt.Key.Key_End)
    QTest.keyClicks(line(desk), " x")
    desk.window.commands["undo"].trigger()
    assert desk.store.document.experiment == first.experiment
    QTest.keyClick(line(desk), Qt.Key.Key_End)
    QTest.keyClicks(line(desk), " y")
    assert desk.store.experiment.tokens[-1] == "y"
    desk.store.undo()
    assert desk.store.experiment == first.experiment  # the first document is still there
    assert not desk.store.can_undo


def test_an_empty_line_keeps_the_last_tokens(desk: Desk) -> None:
    before = desk.store.document
    desk.click(line(desk))
    line(desk).selectAll()
    QTest.keyClick(line(desk), Qt.Key.Key_Backspace)
    assert line(desk).text() == "" and desk.store.document == before
    chips(desk).setFocus()
    assert line(desk).text() == "a fluffy blue creature"


@pytest.mark.parametrize(
    ("option", "tokens"),
    [("character", ("小", "阳", "!")), ("byte", ("⟨E5⟩", "⟨B0⟩", "⟨8F⟩", "⟨E9⟩", "⟨98⟩", "⟨B3⟩", "!"))],
)
def test_the_same_text_is_cut_in_other_ways_and_back(
    desk: Desk, option: str, tokens: tuple[str, ...]
) -> None:
    retype(desk, "小阳!")
    desk.choose("splitting_segmented", "word")
    assert desk.store.experiment.tokens == ("小阳!",)
    desk.choose("splitting_segmented", option)
    assert desk.store.experiment.tokens == tokens
    assert line(desk).text() == "小阳!"
    desk.settle()
    assert desk.map.content.values.shape == (len(tokens), len(tokens))
    desk.choose("splitting_segmented", "word")
    assert desk.store.experiment.tokens == ("小阳!",)


def test_a_chip_is_renamed_in_place(desk: Desk) -> None:
    before = vectors_array(desk.store.experiment.vectors)
    viewport = chips(desk).viewport()
    at = chips(desk).chip_rect(1).center()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    editor = chips(desk).findChild(QLineEdit, "chip_editor")
    assert isinstance(editor, QLineEdit) and editor.isVisible()
    editor.selectAll()
    QTest.keyClicks(editor, "<b>soft</b>")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert desk.store.experiment.tokens == ("a", "<b>soft</b>", "blue", "creature")
    np.testing.assert_array_equal(vectors_array(desk.store.experiment.vectors), before)
    desk.settle()
    assert desk.map.content.row_labels[1] == "<b>soft</b>"


def test_a_chip_is_dragged_to_another_place_with_its_vector(desk: Desk) -> None:
    before = by_token(desk)
    rects = [chips(desk).chip_rect(i) for i in range(4)]
    by = QPoint(rects[2].right() - rects[0].center().x(), 0)
    drag(chips(desk).viewport(), rects[0].center(), by, steps=8)
    assert desk.store.experiment.tokens == ("fluffy", "blue", "a", "creature")
    assert by_token(desk) == before
    desk.settle()
    assert desk.map.content.column_labels == ("fluffy", "blue", "a", "creature")
    desk.store.undo()
    assert not desk.store.can_undo


def test_chips_are_added_and_removed_down_to_one(desk: Desk) -> None:
    desk.click(chips(desk).viewport(), chips(desk).chip_rect(4).center())
    assert desk.store.experiment.tokens == ("a", "fluffy", "blue", "creature", "new")
    chips(desk).setFocus()
    for _count in range(4):
        desk.click(chips(desk).viewport(), chips(desk).chip_rect(0).center())
        QTest.keyClick(chips(desk), Qt.Key.Key_Delete)
    assert desk.store.experiment.tokens == ("new",)
    QTest.keyClick(chips(desk), Qt.Key.Key_Delete)
    assert desk.store.experiment.tokens == ("new",)
    assert desk.said() == "tokens must have at least one token; got []."
    desk.settle()
    assert desk.map.content.values.tolist() == [[1.0]]


def test_the_count_repeats_the_tokens_and_cuts_them(desk: Desk) -> None:
    old = vectors_array(desk.store.experiment.vectors)
    desk.type_number("n_tokens_field", "6")
    assert desk.store.experiment.tokens == ("a", "fluffy", "blue", "creature", "a", "fluffy")
    np.testing.assert_array_equal(vectors_array(desk.store.experiment.vectors)[:4], old)
    desk.type_number("n_tokens_field", "2")
    assert desk.store.experiment.tokens == ("a", "fluffy")
    desk.settle()
    assert desk.map.content.values.shape == (2, 2)


def test_too_many_bytes_are_refused_before_anything_is_made(desk: Desk) -> None:
    before = desk.store.document
    line(desk).setText("x" * 5000)
    desk.choose("splitting_segmented", "byte")
    assert desk.said() == "tokens must have at most 4096 tokens; got 5,000 tokens."
    assert desk.store.document == before


def test_a_hovered_chip_lights_its_rows_elsewhere(desk: Desk) -> None:
    desk.store.look(locked=None)
    ground = count_color(picture(desk.map), desk.theme.query)
    desk.hover(chips(desk).viewport(), chips(desk).chip_rect(2).center())
    assert desk.store.pointer.cell is not None and desk.store.pointer.cell.row == 2
    assert 2 in desk.map.highlight.rows
    assert count_color(picture(desk.map), desk.theme.query) > ground + 100
    desk.hover(chips(desk).viewport(), QPoint(2, chips(desk).viewport().height() - 2))
    assert desk.store.pointer.cell is None
