"""Text of several lines: it wraps, Enter ends it, and the caret stays where the user put it."""

from __future__ import annotations

from pointer import Log
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from attnviz.gui.widgets.document_text import LINES, DocumentText


def make(qtbot: QtBot) -> tuple[DocumentText, Log]:
    text = DocumentText()
    qtbot.addWidget(text)
    text.resize(200, text.sizeHint().height())
    text.show()
    text.setFocus()
    return text, Log(text, "textEdited", "editingFinished")


def test_three_lines_of_a_long_sentence_are_in_sight(qtbot: QtBot) -> None:
    text, log = make(qtbot)
    text.setText("By the lake Lily met Tom. Tom was hungry, so he ate some bread. Names: she")
    text.setCursorPosition(0)
    document = text.document().firstBlock()
    assert document.layout().lineCount() >= 3
    lines = [document.layout().lineAt(i) for i in range(LINES)]
    below = text.contentOffset().y() + document.layout().position().y() + lines[-1].rect().bottom()
    assert below <= text.viewport().height() and log.events == []


def test_enter_ends_typing_and_shift_enter_starts_a_line(qtbot: QtBot) -> None:
    text, log = make(qtbot)
    QTest.keyClicks(text, "ab")
    QTest.keyClick(text, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(text, "c")
    assert text.text() == "ab\nc" and log.values("textEdited") == ["a", "ab", "ab\n", "ab\nc"]
    QTest.keyClick(text, Qt.Key.Key_Return)
    assert text.text() == "ab\nc" and log.events[-1] == "editingFinished"


def test_the_caret_keeps_its_remainder(qtbot: QtBot) -> None:
    text, log = make(qtbot)
    text.setText("the cat sat")
    text.setCursorPosition(7)
    text.show_text("the black cat sat")
    assert text.cursorPosition() == 13 and log.events == []
    text.show_text("the black dog sat")
    assert text.cursorPosition() == 13
    text.setCursorPosition(99)
    assert text.cursorPosition() == len("the black dog sat")
