"""The chooser of panels: groups, marks, words, and what a click and Enter do."""

from __future__ import annotations

import pytest
from desk import WAIT_MS, Desk
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QScrollArea, QToolButton

from attnviz.gui.palette.chooser import Chooser, PanelLine
from attnviz.gui.panels.table import GROUPS, PANELS, PANELS_OF_GROUP
from attnviz.i18n import _


def opened(desk: Desk) -> Chooser:
    desk.click(desk.find(QToolButton, "panels_button"))
    chooser = desk.find(Chooser, "panel_chooser")
    assert chooser.isVisible() and chooser.line.hasFocus()
    return chooser


def line(desk: Desk, panel: str) -> PanelLine:
    return desk.find(PanelLine, f"choose_{panel}")


def test_every_tab_has_its_line_under_its_group_with_its_sentence(desk: Desk) -> None:
    chooser = opened(desk)
    wanted = [row for id_, _title in GROUPS for row in PANELS_OF_GROUP[id_]]
    assert chooser.shown() == tuple(row.id for row in wanted)
    titles = {label.text(): label for label in chooser.findChildren(QLabel) if label.isVisible()}
    for id_, title in GROUPS:
        first, last = PANELS_OF_GROUP[id_][0], PANELS_OF_GROUP[id_][-1]
        top = titles[_(title)].geometry()
        places = [line(desk, row.id).geometry() for row in (first, last)]
        assert top.bottom() < places[0].top() <= places[1].top() and top.left() == places[0].left()
    for row in wanted:
        assert _(row.help) in line(desk, row.id).accessibleName()
        assert chooser.rect().contains(line(desk, row.id).mapTo(chooser, line(desk, row.id).rect().center()))
    assert desk.window.rect().contains(chooser.geometry().center())


def test_a_mark_stands_at_the_panels_of_the_workspace_and_a_click_shows_or_closes(desk: Desk) -> None:
    chooser, docks = opened(desk), desk.window.docks

    def marked() -> set[str]:
        return {id_ for id_ in chooser.shown() if line(desk, id_).isChecked()}

    assert marked() == {id_ for id_, dock in docks.items() if not dock.isHidden()}
    desk.click(line(desk, "lens"))
    QApplication.processEvents()
    assert docks["lens"].is_in_sight or not docks["lens"].isHidden()
    assert "lens" in marked() and desk.window.workspaces.present.id == "explore" and chooser.isVisible()
    desk.click(line(desk, "lens"))
    assert "lens" not in marked() and docks["lens"].isHidden()
    desk.click(line(desk, "heads"))
    assert docks["heads"].isHidden() and "heads" not in marked()
    desk.click(line(desk, "heads"))
    assert not docks["heads"].isHidden() and "heads" in marked()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("bytes", "cost"),
        ("backpropagation", "gradients"),
        ("reshape", "axes"),
        ("true false", "claims"),
        ("NaN", "failures"),
        ("long context", "positions"),
        ("判断", "claims"),
        ("显存", "cost"),
    ],
)
def test_a_panel_is_found_by_words_and_enter_goes_there(desk: Desk, words: str, wanted: str) -> None:
    chooser = opened(desk)
    desk.type_text(chooser.line, words)
    assert chooser.shown()[0] == wanted and line(desk, wanted).is_current
    QTest.keyClick(chooser.line, Qt.Key.Key_Return)
    QApplication.processEvents()
    dock = desk.window.docks[wanted]
    assert not chooser.isVisible() and dock.is_in_sight and dock.front == wanted
    assert desk.window.panels[wanted].is_seen and desk.window.current.id == wanted
    assert desk.window.workspaces.present.id == "explore"


@pytest.mark.parametrize("size", [(1280, 800), (1024, 640)], ids=str)
def test_a_panel_that_a_click_shows_stays_behind_the_chooser(desk: Desk, size: tuple[int, int]) -> None:
    desk.window.workspaces.set_opening(True)
    desk.go("generate")
    desk.window.resize(*size)
    chooser = opened(desk)
    desk.click(line(desk, "tokens"))
    desk.qtbot.waitUntil(lambda: desk.window.docks["tokens"].is_in_sight, timeout=WAIT_MS)
    desk.qtbot.wait(50)
    card = chooser.geometry().adjusted(20, 20, -20, -20)
    for at in (card.topLeft(), card.topRight(), card.bottomRight(), card.center()):
        under = desk.window.childAt(at)
        assert under is chooser or chooser.isAncestorOf(under)


def test_arrows_mark_another_line_and_escape_closes(desk: Desk) -> None:
    chooser = opened(desk)
    QTest.keyClick(chooser.line, Qt.Key.Key_Down)
    assert [id_ for id_ in chooser.shown() if line(desk, id_).is_current] == [chooser.shown()[1]]
    desk.type_text(chooser.line, "no such words")
    assert chooser.shown() == () and desk.find(QLabel, "chooser_empty").isVisible()
    QTest.keyClick(chooser.line, Qt.Key.Key_Return)
    assert chooser.isVisible()
    QTest.keyClick(chooser.line, Qt.Key.Key_Escape)
    assert not chooser.isVisible()
    opened(desk)
    desk.go("model")
    assert not chooser.isVisible()


def test_more_opens_it_too_and_a_small_window_has_room(desk: Desk) -> None:
    desk.window.resize(1000, 600)
    desk.qtbot.waitUntil(desk.find(QToolButton, "more_button").isVisible)
    desk.click(desk.find(QToolButton, "more_button"))
    chooser = desk.find(Chooser, "panel_chooser")
    assert chooser.isVisible() and desk.window.rect().contains(chooser.rect().center() + chooser.pos())
    card = chooser.geometry().adjusted(16, 16, -16, -16)
    assert desk.window.rect().contains(card)
    assert {row.id for row in PANELS if not row.within} == set(chooser.shown())
    scroll = chooser.findChild(QScrollArea)
    assert scroll is not None and scroll.widget().width() <= scroll.viewport().width()  # no sentence is cut
