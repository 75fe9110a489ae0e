"""Bars are as long as their values, and say what has no length."""

from __future__ import annotations

import math

import pytest
from pointer import Log, move, show_active
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.pictures.bars import ROW_HEIGHT, Bars

LABELS = ["a", "fluffy", "<s>", "creature"]


def make(qtbot: QtBot) -> tuple[Bars, Log]:
    bars = Bars("Row of weights")
    qtbot.addWidget(bars)
    bars.apply_theme(LIGHT)
    bars.resize(400, 4 * ROW_HEIGHT)
    bars.set_rows(LABELS, [0.25, 0.5, 0.0, 0.125], LIGHT.value)
    show_active(qtbot, bars)
    return bars, Log(bars, "hovered", "clicked")


def painted_length(image: QImage, row: int, color: str) -> int:
    y = row * ROW_HEIGHT + ROW_HEIGHT // 2
    return sum(image.pixelColor(x, y).name() == color for x in range(image.width()))


def test_lengths_are_proportional(qtbot: QtBot) -> None:
    bars, _log = make(qtbot)
    image = bars.grab().toImage()
    full = painted_length(image, 1, LIGHT.value)
    assert full > 150
    assert painted_length(image, 0, LIGHT.value) == pytest.approx(full / 2, abs=1.5)
    assert painted_length(image, 3, LIGHT.value) == pytest.approx(full / 4, abs=1.5)
    bars.set_rows(LABELS, [0.25, 0.5, 0.0, 0.125], LIGHT.value, limit=1.0)
    assert painted_length(bars.grab().toImage(), 1, LIGHT.value) == pytest.approx(full / 2, abs=1.5)


def test_each_row_may_have_its_colour(qtbot: QtBot) -> None:
    bars, _log = make(qtbot)
    bars.set_rows(LABELS[:2], [1.0, 1.0], [LIGHT.query, LIGHT.key])
    image = bars.grab().toImage()
    assert painted_length(image, 0, LIGHT.query) > 100
    assert painted_length(image, 1, LIGHT.key) > 100


def test_negative_values_go_left_from_zero(qtbot: QtBot) -> None:
    bars, _log = make(qtbot)
    bars.set_rows(["a", "b"], [-1.0, 1.0])
    assert bars.bar_rect(0).right() == pytest.approx(bars.bar_rect(1).left())


def test_blocked_and_non_finite_rows_have_no_bar(qtbot: QtBot) -> None:
    bars, _log = make(qtbot)
    bars.set_rows(LABELS, [0.5, 0.5, math.nan, math.inf], LIGHT.value, blocked=[1])
    image = bars.grab().toImage()
    assert painted_length(image, 0, LIGHT.value) > 100
    assert [painted_length(image, row, LIGHT.value) for row in (1, 2, 3)] == [0, 0, 0]


def test_hover_and_click(qtbot: QtBot) -> None:
    bars, log = make(qtbot)
    move(bars, QPoint(50, 2 * ROW_HEIGHT + 5), held=False)
    move(bars, QPoint(80, 2 * ROW_HEIGHT + 9), held=False)
    QTest.mouseClick(bars, Qt.MouseButton.LeftButton, pos=QPoint(50, ROW_HEIGHT + 5))
    assert ("hovered", 2) in log.events
    assert log.values("clicked") == [1]


def test_keys_walk_the_rows(qtbot: QtBot) -> None:
    bars, log = make(qtbot)
    bars.setFocus()
    QTest.keyClick(bars, Qt.Key.Key_Down)
    QTest.keyClick(bars, Qt.Key.Key_Down)
    QTest.keyClick(bars, Qt.Key.Key_Return)
    assert log.events == [("hovered", 0), ("hovered", 1), ("clicked", 1)]


def test_height_follows_the_rows(qtbot: QtBot) -> None:
    bars, log = make(qtbot)
    bars.set_rows(["a"] * 9, [1.0] * 9)
    assert bars.sizeHint().height() == 9 * ROW_HEIGHT
    assert log.events == []


def test_a_long_label_gives_way_and_the_number_stays_whole(qtbot: QtBot) -> None:
    bars, _log = make(qtbot)
    bars.clearFocus()
    bars.resize(124, 2 * ROW_HEIGHT)
    bars.set_rows(["a very long token indeed", "b"], [0.5253, 0.1], LIGHT.value)
    image = bars.grab().toImage()
    # "0.5253" is drawn whole: its last digit ends before the edge, and nothing touches the edge.
    inked = [
        x
        for x in range(image.width())
        if any(image.pixelColor(x, y) != image.pixelColor(0, 0) for y in range(2, ROW_HEIGHT - 2))
    ]
    assert bars.bar_rect(0).right() + 6 + 6 * 6 < image.width()
    assert max(inked) < image.width() - 1
