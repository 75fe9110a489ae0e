"""A RoPE dial turns and shows where the arms stand."""

from __future__ import annotations

import math

import pytest
from pointer import Log, move, show_active, wheel
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.pictures.dial import Dial, frequency_text


def make(qtbot: QtBot) -> tuple[Dial, Log]:
    dial = Dial(1)
    qtbot.addWidget(dial)
    dial.apply_theme(LIGHT)
    dial.set_state(0.01, 1.0, 0.5, 2.5)
    show_active(qtbot, dial)
    return dial, Log(dial, "changed", "gesture_started", "gesture_finished")


def test_arms_are_painted_at_their_angles(qtbot: QtBot) -> None:
    dial, _log = make(qtbot)
    dial.clearFocus()
    for query, key in ((0.0, math.pi / 2), (2.0, -1.0), (math.pi, 0.3)):
        dial.set_state(0.01, 1.0, query, key)
        image = dial.grab().toImage()
        for angle, name in ((query, LIGHT.query), (key, LIGHT.key)):
            middle = (dial.center() + dial.arm_tip(angle)) / 2
            seen, wanted = image.pixelColor(middle.toPoint()), QColor(name)
            assert abs(seen.hue() - wanted.hue()) < 12
            assert middle.y() < dial.center().y() or math.sin(angle) <= 1e-9


def turn(dial: Dial, start: float, end: float) -> None:
    """Drag round the centre in steps of a fifteenth, from one direction to another."""
    places = [dial.arm_tip(start + (end - start) * step / 15).toPoint() for step in range(16)]
    QTest.mousePress(dial, Qt.MouseButton.LeftButton, pos=places[0])
    for place in places[1:]:
        move(dial, place, held=True)
    QTest.mouseRelease(dial, Qt.MouseButton.LeftButton, pos=places[-1])


@pytest.mark.parametrize(("angle", "by"), [(5.0, 1.2), (-4.0, 0.8), (20.0, -2.5), (12.0, 4.5)])
def test_a_drag_round_the_centre_takes_the_arm_along_in_one_gesture(
    qtbot: QtBot, angle: float, by: float
) -> None:
    """The query's arm ends where the hand does: θ' = θ (angle + by) / angle."""
    dial, log = make(qtbot)
    dial.set_state(0.5, 1.0, angle, angle + math.pi)
    turn(dial, angle, angle + by)
    assert log.events[0] == "gesture_started" and log.events[-1] == "gesture_finished"
    assert dial.multiplier() == log.values("changed")[-1]
    assert dial.multiplier() == pytest.approx((angle + by) / angle, abs=0.05 / abs(angle) + 0.004)


def test_a_slow_pair_turns_slower_than_the_hand(qtbot: QtBot) -> None:
    dial, _log = make(qtbot)
    dial.set_state(1e-4, 1.0, 0.0012, 0.0)
    turn(dial, 0.0, math.pi)
    assert 1.5 < dial.multiplier() < 4.0
    turn(dial, math.pi, 0.0)
    assert dial.multiplier() == pytest.approx(1.0, abs=0.1)


def test_wheel_and_keys_turn(qtbot: QtBot) -> None:
    dial, log = make(qtbot)
    dial.setFocus()
    assert wheel(dial, QPoint(30, 30), 1)
    QTest.keyClick(dial, Qt.Key.Key_Down)
    assert log.values("changed") == [1.02, 1.0]
    QTest.keyClick(dial, Qt.Key.Key_PageUp)
    QTest.keyClick(dial, Qt.Key.Key_Home)
    assert dial.multiplier() == 1.0


def test_the_wheel_scrolls_on_when_the_dial_has_no_focus(qtbot: QtBot) -> None:
    dial, log = make(qtbot)
    dial.clearFocus()
    assert not wheel(dial, QPoint(30, 30), 1)
    assert log.events == []


def test_double_click_goes_back_to_one(qtbot: QtBot) -> None:
    dial, log = make(qtbot)
    dial.set_state(0.02, 2.0, 0.0, 0.0)
    QTest.mouseDClick(dial, Qt.MouseButton.LeftButton)
    assert log.values("changed") == [1.0]
    assert dial.caption() == "θ₁ 0.01"


def test_the_tooltip_tells_the_numbers(qtbot: QtBot) -> None:
    dial, log = make(qtbot)
    dial.set_state(0.02, 2.0, 1.25, -0.5)
    for part in ("Pair 1", "0.02 rad", "× 2", "1.250", "-0.500"):
        assert part in dial.toolTip()
    assert log.events == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (0.01, "0.01"), (3.162e-4, "3.2e−4"), (0.31623, "0.316"), (16.0, "16.0")],
)
def test_frequency_text(value: float, text: str) -> None:
    assert frequency_text(value) == text
