"""Lists in small places: a row is whole or not there, wherever the list is scrolled."""

from __future__ import annotations

from desk import MakeDesk, pixels
from PySide6.QtCore import QPoint, QPointF, QRect
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QScrollArea, QWidget

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.panels.decoding.next.rows import ROW_PX, NextRows
from attnviz.gui.panels.inspector.start import TRIES
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.gui.widgets.pictures.value_sum import SumPlane


def area_of(widget: QWidget) -> QScrollArea:
    around = widget.parentWidget()
    while not isinstance(around, QScrollArea):
        around = around.parentWidget()
    return around


def has_ink(area: QAbstractScrollArea, part: QRect) -> bool:
    """True if anything is painted in a part of the viewport."""
    shown = part & area.viewport().rect()
    image = pixels(area.viewport().grab(shown).toImage())
    return bool((image != image[0, 0]).any())


def test_a_suggestion_is_whole_or_not_there(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.window.resize(1024, 640)
    desk.go("explore")
    desk.settle()
    lines = [desk.find(LinkLine, f"try_{row.id}") for row in TRIES]
    area = area_of(lines[0])
    bar = area.verticalScrollBar()
    desk.qtbot.waitUntil(lambda: bar.maximum() > 0)
    cut = 0
    for value in range(0, bar.maximum() + 1, 7):
        bar.setValue(value)
        QApplication.processEvents()
        for line in lines:
            place = QRect(line.mapTo(area.viewport(), QPoint()), line.size())
            is_whole = area.viewport().rect().contains(place)
            if place.intersects(area.viewport().rect()):
                cut += not is_whole
                assert has_ink(area, place) == is_whole, (value, line.objectName())
                assert line.hitButton(line.rect().center()) == is_whole
    assert cut > 0, "no place cut a line"


def test_a_suggestion_is_there_below_the_sum_which_grows_with_its_panel(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.window.resize(1000, 600)
    desk.go("explore")
    desk.settle()
    line = desk.find(LinkLine, f"try_{TRIES[0].id}")
    sum_ = area_of(line).findChild(SumPlane)
    desk.qtbot.waitUntil(lambda: line.isVisible() and sum_.isVisible())
    viewport = area_of(line).viewport()
    place = QRect(line.mapTo(viewport, QPoint()), line.size())
    desk.qtbot.waitUntil(lambda: viewport.rect().contains(QRect(line.mapTo(viewport, QPoint()), line.size())))
    low = sum_.height()
    assert place.top() > low
    desk.window.resize(1280, 800)
    desk.qtbot.waitUntil(lambda: sum_.height() > low)
    usual = sum_.height()
    desk.window.workspaces.enlarge("inspector")
    desk.qtbot.waitUntil(lambda: sum_.height() > 1.8 * usual)


def test_a_next_token_is_whole_or_not_there(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.window.resize(1024, 640)
    desk.go("generate")
    desk.settle()
    desk.window.commands["step_forward"].trigger()
    rows = desk.find(NextRows, "decode_next")
    area = area_of(rows)
    desk.qtbot.waitUntil(lambda: rows.isVisible() and area.verticalScrollBar().maximum() > 0)
    for value in (0, 10, ROW_PX, area.verticalScrollBar().maximum() - 5):
        area.verticalScrollBar().setValue(value)
        QApplication.processEvents()
        seen = area.viewport().rect()
        for row in range(len(rows.rows)):
            place = rows.row_rect(row).toRect().translated(0, -value)
            if place.intersects(seen):
                is_whole = seen.top() <= place.top() and place.bottom() <= seen.bottom()
                assert has_ink(area, place) == is_whole, (value, row)
                assert (rows.part_at(QPointF(20, row * ROW_PX + 5)) == row) == is_whole
    assert area.viewport().height() % ROW_PX, "no row is cut at the lower end"


def test_a_token_is_whole_or_not_there(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.window.resize(1000, 600)
    desk.go("explore")
    desk.settle()
    chips = desk.find(TokenChips, "token_chips")
    seen = chips.viewport().rect()
    desk.qtbot.waitUntil(lambda: chips.isVisible() and chips.verticalScrollBar().maximum() > 0)
    for value in (0, 9, 26):
        chips.verticalScrollBar().setValue(value)
        QApplication.processEvents()
        places = [chips.chip_rect(index) for index in range(len(chips.tokens()))]
        places = [place for place in places if place.intersects(seen)]
        is_any_whole = any(seen.contains(place) for place in places)  # else all are shown as far as they are
        for place in places:
            assert has_ink(chips, place) == (seen.contains(place) or not is_any_whole), value
