"""A number is dragged, wheeled, keyed and typed with real events."""

from __future__ import annotations

from typing import Any

import pytest
from pointer import Log, drag, show_active, wheel
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.numbers.drag import DragNumber

SIGNALS = ("changed", "gesture_started", "gesture_finished", "rejected")
SHIFT = Qt.KeyboardModifier.ShiftModifier
CTRL = Qt.KeyboardModifier.ControlModifier


def make(qtbot: QtBot, value: float, **options: Any) -> tuple[DragNumber, Log]:
    number = DragNumber(value, **options)
    qtbot.addWidget(number)
    number.apply_theme(LIGHT)
    show_active(qtbot, number)
    return number, Log(number, *SIGNALS)


def type_into(number: DragNumber, text: str, key: Qt.Key) -> None:
    number.open_editor()
    editor = number.findChild(QLineEdit, "number_editor")
    editor.clear()
    editor.insert(text)  # QTest aborts on keys beyond Latin-1, such as the minus sign
    QTest.keyClick(editor, key)


def test_a_drag_up_is_one_gesture_of_live_values(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    drag(number, QPoint(10, 10), QPoint(0, -20))
    assert log.events[0] == "gesture_started"
    assert log.events[-1] == "gesture_finished"
    assert log.values("changed") == [1.05, 1.1, 1.15, 1.2]
    assert number.value() == 1.2


@pytest.mark.parametrize(("modifier", "value"), [(SHIFT, 1.02), (CTRL, 3.0)])
def test_shift_is_fine_and_ctrl_is_coarse(qtbot: QtBot, modifier: Qt.KeyboardModifier, value: float) -> None:
    number, log = make(qtbot, 1.0)
    drag(number, QPoint(10, 10), QPoint(0, -20), modifier)
    assert number.value() == pytest.approx(value, abs=1e-12)
    assert log.values("changed")[-1] == number.value()


def test_a_drag_stops_at_the_limits(qtbot: QtBot) -> None:
    number, _log = make(qtbot, 0.5, minimum=0.0, maximum=1.0)
    drag(number, QPoint(10, 10), QPoint(0, -400))
    assert number.value() == 1.0
    drag(number, QPoint(10, 10), QPoint(0, 400))
    assert number.value() == 0.0


def test_whole_numbers_take_six_pixels_each(qtbot: QtBot) -> None:
    number, log = make(qtbot, 4, minimum=1, maximum=64, integer=True)
    drag(number, QPoint(10, 10), QPoint(0, -12), steps=12)
    assert log.values("changed") == [5, 6]
    assert all(isinstance(value, int) for value in log.values("changed"))


def test_a_logarithmic_number_grows_by_a_factor(qtbot: QtBot) -> None:
    number, _log = make(qtbot, 100.0, minimum=1.0, maximum=1e6, logarithmic=True)
    drag(number, QPoint(10, 10), QPoint(0, -10))
    assert number.value() == pytest.approx(100 * 1.02**10, rel=1e-5)


def test_a_small_logarithmic_integer_still_moves(qtbot: QtBot) -> None:
    number, log = make(qtbot, 3, minimum=1, maximum=1000, integer=True, logarithmic=True)
    QTest.keyClick(number, Qt.Key.Key_Up)
    QTest.keyClick(number, Qt.Key.Key_Down)
    assert log.values("changed") == [4, 3]


def test_wheel_needs_focus_or_ctrl(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    number.clearFocus()
    assert not wheel(number, QPoint(10, 10), 1)
    assert number.value() == 1.0
    assert wheel(number, QPoint(10, 10), 1, CTRL)
    assert number.value() == 1.1
    number.setFocus()
    assert wheel(number, QPoint(10, 10), -1)
    assert number.value() == 1.09
    assert log.events.count("gesture_started") == 1


def test_a_burst_of_keys_is_one_gesture(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    for _ in range(3):
        QTest.keyClick(number, Qt.Key.Key_Up)
    QTest.keyClick(number, Qt.Key.Key_PageDown)
    qtbot.waitUntil(lambda: "gesture_finished" in log.events, timeout=2000)
    assert log.events.count("gesture_started") == log.events.count("gesture_finished") == 1
    assert log.values("changed") == [1.01, 1.02, 1.03, 0.93]


def test_a_click_opens_the_editor_with_every_digit(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1 / 3)
    assert number.text() == "0.33"
    QTest.mouseClick(number, Qt.MouseButton.LeftButton)
    editor = number.findChild(QLineEdit, "number_editor")
    assert float(editor.text()) == 1 / 3
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert log.events == ["gesture_started", "gesture_finished"]
    assert number.value() == 1 / 3


@pytest.mark.parametrize(("text", "value"), [("0,25", 0.25), ("1e-3", 0.001), ("1/3", 1 / 3), ("−0.5", -0.5)])
def test_typing_commits_as_one_gesture(qtbot: QtBot, text: str, value: float) -> None:
    number, log = make(qtbot, 1.0)
    type_into(number, text, Qt.Key.Key_Return)
    assert log.events == ["gesture_started", ("changed", value), "gesture_finished"]


def test_escape_keeps_the_value(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    type_into(number, "7", Qt.Key.Key_Escape)
    assert number.value() == 1.0
    assert log.events == []


def test_typing_a_digit_on_a_focused_number_opens_the_editor(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    QTest.keyClick(number, Qt.Key.Key_7)
    editor = number.findChild(QLineEdit, "number_editor")
    assert editor.isVisible()
    assert editor.text() == "7"
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert log.values("changed") == [7.0]


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        ("abc", {}, "must be a number such as 0.5, 1e-3 or 1/3; got “abc”"),
        ("2", {"maximum": 1.0}, "must be at most 1; got 2"),
        ("-1", {"minimum": 0.0}, "must be at least 0; got -1"),
        ("2.5", {"integer": True}, "must be a whole number; got 2.5"),
    ],
)
def test_bad_text_keeps_the_value_and_says_why(qtbot: QtBot, text: str, options: Any, part: str) -> None:
    number, log = make(qtbot, 1, **options)
    type_into(number, text, Qt.Key.Key_Return)
    assert number.value() == 1
    assert log.values("changed") == []
    (sentence,) = log.values("rejected")
    assert part in str(sentence)
    editor = number.findChild(QLineEdit, "number_editor")
    assert editor.isVisible()
    assert editor.property("invalid")
    assert part.split("“")[-1][:3] in editor.toolTip()


def test_leaving_with_bad_text_draws_a_red_outline(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    number.open_editor("abc")
    number.findChild(QLineEdit, "number_editor").clearFocus()
    assert len(log.values("rejected")) == 1
    assert not number.findChild(QLineEdit, "number_editor").isVisible()
    image = number.grab().toImage()
    red = image.pixelColor(1, image.height() // 2)
    assert red.red() > 150 > 120 > red.green()
    number.set_value(2.0)
    calm = number.grab().toImage().pixelColor(1, image.height() // 2)
    assert abs(calm.red() - calm.green()) < 30


def test_set_value_never_emits(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    number.set_value(5.0)
    assert number.value() == 5.0
    assert log.events == []


def test_a_value_from_outside_does_not_disturb_typing(qtbot: QtBot) -> None:
    number, _log = make(qtbot, 1.0)
    number.open_editor("3.")
    number.set_value(2.0)
    assert number.findChild(QLineEdit, "number_editor").text() == "3."


def test_unavailable_says_why_and_comes_back(qtbot: QtBot) -> None:
    number, log = make(qtbot, 1.0)
    usual = number.toolTip()
    number.set_unavailable("Needs <RoPE>")
    drag(number, QPoint(10, 10), QPoint(0, -20))
    assert log.values("changed") == []
    assert "Needs &lt;RoPE&gt;" in number.toolTip()
    number.set_unavailable(None)
    assert number.toolTip() == usual
    assert number.isEnabled()
