"""Panels that fold to their titles: the neighbour takes the room, and another workspace has them whole."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk
from PySide6.QtWidgets import QToolTip

from attnviz.gui.widgets.fold_button import FoldButton


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk()
    made.window.resize(1500, 820)
    made.qtbot.wait(100)
    return made


def button(desk: Desk, panel: str) -> FoldButton:
    found = desk.window.docks[panel].findChild(FoldButton, "fold_button")
    assert isinstance(found, FoldButton)
    return found


def heights(desk: Desk) -> tuple[int, int]:
    desk.qtbot.wait(50)
    return desk.window.docks["tokens"].height(), desk.window.docks["mechanism"].height()


def test_a_folded_panel_is_its_title_and_comes_back_as_it_was(desk: Desk) -> None:
    tokens, below = heights(desk)
    desk.click(button(desk, "tokens"))
    folded, grown = heights(desk)
    assert folded < 50 and grown > below + tokens - 60
    assert not desk.window.panels["tokens"].isVisible()
    desk.click(button(desk, "tokens"))
    assert heights(desk) == pytest.approx((tokens, below), abs=12)
    assert desk.window.panels["tokens"].isVisible()


def test_another_workspace_has_the_panel_whole(desk: Desk) -> None:
    desk.click(button(desk, "tokens"))
    assert heights(desk)[0] < 50
    desk.go("generate")
    desk.go("explore")
    assert not button(desk, "tokens").isChecked() and heights(desk)[0] > 100


def test_among_tabs_nothing_is_folded_and_the_button_says_why(desk: Desk) -> None:
    """In a narrow window tokens and vectors are tabs of one place."""
    desk.window.resize(1280, 820)
    desk.qtbot.wait(100)
    before = heights(desk)
    desk.click(button(desk, "tokens"))
    assert heights(desk) == before and not button(desk, "tokens").isChecked()
    assert desk.window.panels["tokens"].isVisible()
    assert "out of the tabs" in QToolTip.text()
