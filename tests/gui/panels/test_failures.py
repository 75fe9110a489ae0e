"""The failure lab on the screen: one click breaks, the finding names the stage, one click mends."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from attnviz.gui.panels.failures import FailuresPanel
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.study.failures.table import FAILURES


def press(desk: Desk, id_: str) -> None:
    button = desk.find(QPushButton, f"failure_{id_}_button")
    desk.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    desk.settle()


def panel(desk: Desk) -> FailuresPanel:
    found = desk.window.panels["failures"]
    assert isinstance(found, FailuresPanel)
    return found


@pytest.fixture
def lab(make_desk: MakeDesk) -> Desk:
    desk = make_desk("grouped-query")
    desk.bring("failures")
    return desk


@pytest.mark.parametrize("id_", [row.id for row in FAILURES])
def test_every_failure_is_brought_about_named_and_mended(lab: Desk, id_: str, qtbot: QtBot) -> None:
    before = lab.store.experiment
    press(lab, id_)
    assert lab.store.experiment != before and panel(lab).broken == id_
    said = lab.find(LinkLine, f"failure_{id_}_finding")
    qtbot.waitUntil(lambda: bool(said.text()))
    assert said.text().startswith("Fails first: ") and said.isVisible()
    press(lab, id_)
    assert lab.store.experiment == before and not panel(lab).broken
    assert not said.isVisible()


def test_the_finding_leads_to_the_stage(lab: Desk, qtbot: QtBot) -> None:
    lab.store.look(stage="q")
    press(lab, "late-mask")
    said = lab.find(LinkLine, "failure_late-mask_finding")
    qtbot.waitUntil(lambda: bool(said.text()))
    assert "weights" in said.text() and "not to 1" in said.text()
    qtbot.mouseClick(said, Qt.MouseButton.LeftButton)
    assert lab.store.document.view.stage == "weights"


def test_another_failure_mends_the_first_one(lab: Desk) -> None:
    before = lab.store.experiment
    press(lab, "late-mask")
    press(lab, "empty-row")
    assert panel(lab).broken == "empty-row"
    press(lab, "empty-row")
    assert lab.store.experiment == before


def test_undo_mends_too(lab: Desk) -> None:
    press(lab, "overflow")
    lab.store.undo()
    lab.settle()
    assert not panel(lab).broken


def test_a_failure_that_cannot_happen_says_what_it_needs(make_desk: MakeDesk) -> None:
    desk = make_desk("cross-attention")
    desk.bring("failures")
    button = desk.find(QPushButton, "failure_post-norm_button")
    assert not button.isEnabled() and "self-attention" in button.toolTip()
    assert all(label.wordWrap() for label in button.parentWidget().findChildren(QLabel))
