"""Label, slider and number as one value."""

from __future__ import annotations

from typing import Any

import pytest
from pointer import Log, drag, show_active
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot
from written import Written

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.slider_field import SliderField


def make(qtbot: QtBot, *arguments: Any, **options: Any) -> tuple[SliderField, Log]:
    field = SliderField("Temperature", *arguments, **options)
    qtbot.addWidget(field)
    field.apply_theme(LIGHT)
    field.resize(300, 24)
    show_active(qtbot, field)
    return field, Log(field, "changed", "gesture_started", "gesture_finished", "rejected")


def handle(field: SliderField) -> QPoint:
    return QPoint(round(field.track.handle_x()), field.track.height() // 2)


def test_dragging_the_handle_is_one_gesture(qtbot: QtBot) -> None:
    field, log = make(qtbot, 0.5, 0.0, 1.0)
    drag(field.track, handle(field), QPoint(400, 0))
    assert log.events[0] == "gesture_started"
    assert log.events[-1] == "gesture_finished"
    values = log.values("changed")
    assert values == sorted(values) and len(values) >= 2
    assert values[-1] == field.value() == 1.0


def test_a_press_on_the_track_goes_there(qtbot: QtBot) -> None:
    field, log = make(qtbot, 0.0, 0.0, 1.0)
    QTest.mouseClick(field.track, Qt.MouseButton.LeftButton, pos=QPoint(field.track.width() // 2, 10))
    assert log.values("changed")[-1] == pytest.approx(0.5, abs=0.01)


def test_a_logarithmic_slider_has_its_geometric_mean_in_the_middle(qtbot: QtBot) -> None:
    field, log = make(qtbot, 1.0, 1.0, 1e6, logarithmic=True)
    QTest.mouseClick(field.track, Qt.MouseButton.LeftButton, pos=QPoint(field.track.width() // 2, 10))
    assert log.values("changed")[-1] == pytest.approx(1000, rel=0.1)
    QTest.keyClick(field.track, Qt.Key.Key_End)
    assert field.value() == 1e6
    QTest.keyClick(field.track, Qt.Key.Key_Home)
    assert field.value() == 1.0


def test_whole_numbers_have_a_tick_each(qtbot: QtBot) -> None:
    field, log = make(qtbot, 3, 1, 8, integer=True)
    QTest.keyClick(field.track, Qt.Key.Key_Right)
    QTest.keyClick(field.track, Qt.Key.Key_Right)
    assert log.values("changed") == [4, 5]
    assert log.events.count("gesture_started") == 1
    assert all(isinstance(value, int) for value in log.values("changed"))


def test_set_value_is_exact_and_silent(qtbot: QtBot) -> None:
    field, log = make(qtbot, 0.0, 0.0, 1.0)
    field.set_value(1 / 3)
    assert field.value() == 1 / 3
    assert log.events == []
    assert field.track.value() == 333


def test_typing_may_pass_the_slider_but_not_the_limits(qtbot: QtBot) -> None:
    field, log = make(qtbot, 1.0, 0.1, 10.0, logarithmic=True, lowest=1e-6, highest=1000.0)
    field.number.open_editor("500")
    QTest.keyClick(field.focusWidget(), Qt.Key.Key_Return)
    assert field.value() == 500.0
    assert field.track.value() == field.track.maximum()
    field.number.open_editor("2000")
    QTest.keyClick(field.focusWidget(), Qt.Key.Key_Return)
    assert "must be at most 1000" in str(log.values("rejected")[0])
    assert field.value() == 500.0


def test_double_click_on_the_label_goes_back_to_the_default(qtbot: QtBot) -> None:
    field, log = make(qtbot, 5.0, 0.0, 10.0, default=1.0)
    QTest.mouseDClick(field.findChild(QLabel, "slider_label"), Qt.MouseButton.LeftButton)
    assert log.events == ["gesture_started", ("changed", 1.0), "gesture_finished"]
    assert field.value() == 1.0


def test_the_handle_is_painted_where_the_value_is(qtbot: QtBot) -> None:
    field, _log = make(qtbot, 0.0, 0.0, 1.0)
    field.track.clearFocus()
    for value in (0.0, 0.5, 1.0):
        field.set_value(value)
        image = field.track.grab().toImage()
        row = image.height() // 2
        blue = [
            x
            for x in range(image.width())
            if image.pixelColor(x, row).blue() > image.pixelColor(x, row).red() + 80
        ]
        assert abs(sum(blue) / len(blue) - field.track.handle_x()) < 2


def test_unavailable_says_why_on_every_part(qtbot: QtBot) -> None:
    field, log = make(qtbot, 0.5, 0.0, 1.0, default=0.1)
    field.set_unavailable("Only in training")
    assert "Only in training" in field.toolTip()
    assert "Only in training" in field.number.toolTip()
    assert field.track.toolTip() == field.findChild(QLabel, "slider_label").toolTip() == "", (
        "the field's shows"
    )
    drag(field.track, handle(field), QPoint(40, 0))
    assert log.events == []


def test_names_for_screen_readers(qtbot: QtBot) -> None:
    field, _log = make(qtbot, 0.0, 0.0, 1.0)
    assert field.track.accessibleName() == field.number.accessibleName() == "Temperature"


def test_what_is_told_again_writes_nothing(qtbot: QtBot) -> None:
    """A form tells its controls everything after every edit; most of it is what they show."""
    field, _log = make(qtbot, 0.5, 0.0, 1.0, default=0.25)
    field.set_unavailable("no dropout here")
    QApplication.processEvents()
    written = Written(field)
    field.set_value(0.5)
    field.set_unavailable("no dropout here")
    QApplication.processEvents()
    assert written.log == []
    field.set_value(0.75)
    field.set_unavailable(None)
    written.stop()
    assert (field.value(), field.track.value(), field.isEnabled()) == (0.75, 750, True)


def test_a_double_click_on_the_slider_resets(qtbot: QtBot) -> None:
    field, _log = make(qtbot, 2.0, 0.05, 20.0, default=1.0, logarithmic=True)
    place = QPoint(round(field.track.width() * 0.497), field.track.height() // 2)
    QTest.mouseClick(field.track, Qt.MouseButton.LeftButton, pos=place)
    assert field.value() != 1.0
    QTest.mouseDClick(field.track, Qt.MouseButton.LeftButton, pos=place)
    assert field.value() == 1.0 and not field.track.isSliderDown()
