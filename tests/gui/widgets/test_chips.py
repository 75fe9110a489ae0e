"""Tokens as chips: select, rename, move, remove, add."""

from __future__ import annotations

import itertools

from pace import assert_fast
from pointer import Log, drag, move, press, release, show_active
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.chips import TokenChips

TOKENS = ["a", "fluffy", "<s>", "creature"]
SIGNALS = ("clicked", "hovered", "renamed", "moved", "removed", "added")
CTRL = Qt.KeyboardModifier.ControlModifier


def make(qtbot: QtBot, tokens: list[str] = TOKENS) -> tuple[TokenChips, Log]:
    chips = TokenChips("Tokens")
    qtbot.addWidget(chips)
    chips.apply_theme(LIGHT)
    chips.resize(320, 60)
    chips.set_tokens(tokens)
    show_active(qtbot, chips)
    return chips, Log(chips, *SIGNALS)


def center(chips: TokenChips, index: int) -> QPoint:
    return chips.chip_rect(index).center()


def test_click_selects(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    QTest.mouseClick(chips.viewport(), Qt.MouseButton.LeftButton, pos=center(chips, 2))
    assert log.events == [("clicked", 2)]
    assert chips.selected() == 2


def test_the_selected_and_the_highlighted_chip_are_outlined(qtbot: QtBot) -> None:
    chips, _log = make(qtbot)
    chips.set_selected(0)
    chips.set_highlight({1}, LIGHT.key)
    image = chips.viewport().grab().toImage()

    def edge(index: int) -> str:
        rect = chips.chip_rect(index)
        return image.pixelColor(rect.center().x(), rect.top() + (1 if index == 1 else 0)).name()

    assert edge(1) == LIGHT.key
    assert edge(3) == LIGHT.line
    assert edge(0) not in (LIGHT.line, LIGHT.panel)
    chips.set_highlight(())
    image = chips.viewport().grab().toImage()
    assert edge(1) != LIGHT.key


def test_hover_tells_the_chip_and_its_end(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    move(chips.viewport(), center(chips, 1), held=False)
    move(chips.viewport(), center(chips, 4), held=False)
    assert log.values("hovered") == [1, -1]


def test_double_click_renames_in_place(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    QTest.mouseDClick(chips.viewport(), Qt.MouseButton.LeftButton, pos=center(chips, 1))
    editor = chips.findChild(QLineEdit, "chip_editor")
    assert editor.isVisible()
    assert editor.text() == "fluffy"
    editor.selectAll()
    QTest.keyClicks(editor, "soft")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert log.values("renamed") == [(1, "soft")]
    assert not editor.isVisible()
    assert chips.tokens() == tuple(TOKENS), "the owner of the tokens decides"


def test_escape_and_empty_text_do_not_rename(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    editor = chips.findChild(QLineEdit, "chip_editor")
    for text, key in (("x", Qt.Key.Key_Escape), ("", Qt.Key.Key_Return), ("a", Qt.Key.Key_Return)):
        chips.set_selected(0)
        chips.open_editor(0)
        editor.setText(text)
        QTest.keyClick(editor, key)
    assert log.values("renamed") == []


def test_dragging_moves(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    start = center(chips, 0)
    drag(chips.viewport(), start, center(chips, 2) + QPoint(10, 0) - start)
    assert log.values("moved") == [(0, 2)]
    start = center(chips, 3)
    drag(chips.viewport(), start, center(chips, 1) - QPoint(12, 0) - start)
    assert log.values("moved")[-1] == (3, 1)


def test_a_drag_that_ends_where_it_began_moves_nothing(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    start = center(chips, 1)
    press(chips.viewport(), start)
    move(chips.viewport(), start + QPoint(60, 0))
    move(chips.viewport(), start + QPoint(2, 0))
    release(chips.viewport(), start + QPoint(2, 0))
    assert log.values("moved") == []


def test_keys(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    chips.setFocus()
    QTest.keyClick(chips, Qt.Key.Key_Right)
    QTest.keyClick(chips, Qt.Key.Key_Right)
    assert log.values("clicked") == [0, 1]
    QTest.keyClick(chips, Qt.Key.Key_Right, CTRL)
    QTest.keyClick(chips, Qt.Key.Key_Left, CTRL)
    assert log.values("moved") == [(1, 2), (2, 1)]
    QTest.keyClick(chips, Qt.Key.Key_Delete)
    assert log.values("removed") == [1]
    QTest.keyClick(chips, Qt.Key.Key_Plus)
    assert log.events[-1] == "added"


def test_the_plus_chip_adds(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    QTest.mouseClick(chips.viewport(), Qt.MouseButton.LeftButton, pos=center(chips, len(TOKENS)))
    assert log.events == ["added"]


def test_chips_wrap_and_many_scroll(qtbot: QtBot) -> None:
    chips, _log = make(qtbot, [f"token{i}" for i in range(12)])
    tops = {chips.chip_rect(index).top() for index in range(12)}
    assert len(tops) >= 3
    assert all(chips.chip_rect(index).right() <= chips.viewport().width() for index in range(12))
    chips.set_tokens([f"token{i}" for i in range(500)])
    assert chips.height() < 200
    assert chips.verticalScrollBar().maximum() > 1000


def test_five_hundred_tokens_are_not_slow(qtbot: QtBot) -> None:
    chips, _log = make(qtbot, [])
    versions = itertools.count()

    def show_other_tokens() -> None:
        version = next(versions)
        chips.set_tokens([f"token{i}-{version}" for i in range(500)])
        chips.viewport().repaint()

    assert_fast(show_other_tokens, most=600)


def test_control_characters_show_as_their_pictures(qtbot: QtBot) -> None:
    chips, _log = make(qtbot, ["line\n", "line"])
    assert chips.chip_rect(0).width() > chips.chip_rect(1).width() + 4
    assert chips.tokens() == ("line\n", "line")


def test_setters_are_silent(qtbot: QtBot) -> None:
    chips, log = make(qtbot)
    chips.set_selected(2)
    chips.set_tokens(["x"])
    assert chips.selected() == 0
    assert log.events == []
