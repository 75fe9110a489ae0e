"""Undo and redo in lines of text whose content is the document: one history, the document's."""

from __future__ import annotations

import numpy as np
from desk import Desk, MakeDesk
from first_layer import change
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.model.edit.generation import set_stop
from attnviz.model.io.presets import load_preset
from attnviz.model.operands.matrices import vectors_array

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def undo(desk: Desk) -> None:
    desk.press_key(Qt.Key.Key_Z, CTRL)


def redo(desk: Desk) -> None:
    desk.press_key(Qt.Key.Key_Z, CTRL | SHIFT)


def test_undo_in_the_line_of_tokens_is_the_documents(desk: Desk) -> None:
    line = desk.find(DocumentText, "token_line")
    before, text = desk.store.experiment, line.text()
    desk.click(line)
    line.setCursorPosition(len("a fluffy"))
    QTest.keyClicks(line, " He")
    typed = desk.store.experiment
    assert line.text() == "a fluffy He blue creature" and typed.tokens[2] == "He"
    undo(desk)
    assert desk.store.experiment == before and line.text() == text and line.hasFocus()
    assert line.cursorPosition() == len("a fluffy")
    assert desk.store.can_redo and not desk.store.can_undo
    undo(desk)
    assert desk.store.experiment == before and line.text() == text, "there is nothing more to undo"
    redo(desk)
    assert desk.store.experiment == typed and line.text() == "a fluffy He blue creature"
    assert line.cursorPosition() == len("a fluffy He")
    QTest.keyClicks(line, "y")
    assert desk.store.experiment.tokens[2] == "Hey"
    undo(desk)
    assert desk.store.experiment == typed
    assert desk.find(TokenChips, "token_chips").tokens() == typed.tokens
    np.testing.assert_array_equal(
        vectors_array(desk.store.experiment.vectors)[[0, 1, 3, 4]], vectors_array(before.vectors)
    )


def test_undo_in_the_line_of_a_second_sequence_is_the_documents(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("cross-attention"))
    change(desk.store, temperature=2.0)
    line = desk.find(QLineEdit, "memory_text_field")
    before, text = desk.store.experiment, line.text()
    line.setFocus()
    line.setCursorPosition(len(text))
    QTest.keyClicks(line, " x")
    memory = desk.store.experiment.memory
    assert memory is not None and memory.tokens[-1] == "x"
    undo(desk)
    assert desk.store.experiment == before and line.text() == text
    redo(desk)
    assert line.text() == text + " x" and line.cursorPosition() == len(text) + 2
    undo(desk)
    undo(desk)
    assert desk.store.experiment.layers[0].temperature == 1.0
    QTest.keyClicks(line, "y")
    assert desk.store.experiment.layers[0].temperature == 1.0, "typing begins from what is there"


def test_stop_strings_undo_what_is_typed_and_then_what_was_taken(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("causal-decode"))
    desk.bring("sampling")
    desk.store.edit(set_stop, strings=("dog",))
    line = desk.find(DocumentLine, "decode_stop_strings")
    assert line.text() == "dog"
    line.setFocus()
    line.setCursorPosition(3)
    QTest.keyClicks(line, "s")
    undo(desk)
    assert line.text() == "dog" and desk.store.experiment.writing is not None
    QTest.keyClicks(line, "|cat")
    QTest.keyClick(line, Qt.Key.Key_Return)
    strings = desk.store.experiment.writing.sampling.stop.strings
    assert strings == ("dog", "cat")
    undo(desk)
    writing = desk.store.experiment.writing
    assert writing is not None and writing.sampling.stop.strings == ("dog",) and line.text() == "dog"
    redo(desk)
    assert line.text() == "dog|cat"


def test_the_menu_of_the_line_offers_no_other_history(desk: Desk) -> None:
    line = desk.find(DocumentText, "token_line")
    place = line.rect().center()
    reason = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(line.viewport(), QContextMenuEvent(reason, place, line.mapToGlobal(place)))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    names = [one.objectName() for one in menu.actions()]
    menu.close()
    assert "edit-copy" in names and not {"edit-undo", "edit-redo"} & set(names)
    assert not menu.actions()[0].isSeparator()
