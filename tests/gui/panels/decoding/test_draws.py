"""Several samples in the window: a line for each seed; a click makes it the text."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from PySide6.QtWidgets import QAbstractButton, QToolButton
from pytestqt.qtbot import QtBot

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import Stopped
from attnviz.gui.panels.decoding.draws import DrawsPanel
from attnviz.gui.panels.decoding.story.text import StoryText
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.model.edit.generation import writing_of


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(load_preset("stories-en"))
    made.go("generate")
    wait_for_text(made)
    made.bring("draws")
    made.qtbot.waitUntil(lambda: len(panel_of(made).draws) == 4)
    return made


def panel_of(desk: Desk) -> DrawsPanel:
    panel = desk.window.panels["draws"]
    assert isinstance(panel, DrawsPanel)
    return panel


def wait_for_text(desk: Desk) -> None:
    """Until the text on the screen is the document's."""

    def is_there() -> bool:
        decoded = desk.store.player.decoded
        return decoded is not None and decoded.given == desk.store.experiment

    desk.qtbot.waitUntil(is_there, timeout=WAIT_MS)


def seed(desk: Desk) -> int:
    return writing_of(desk.store.experiment).sampling.seed


def test_cancelled_samples_are_said_and_computed_by_a_button(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel, before = panel_of(desk), panel_of(desk).draws
    empty = panel.findChild(EmptyState)
    assert isinstance(empty, EmptyState) and empty.isHidden()
    with monkeypatch.context() as patched:
        patched.setattr("attnviz.compute.draws.draws", Mock(side_effect=Stopped))
        desk.click(desk.find(QAbstractButton, "draws_others"))
        qtbot.waitUntil(lambda: panel.draws == ())
    assert empty.isVisible() and empty.accessibleName() == "Cancelled."
    desk.click(*panel.findChildren(QAbstractButton, "empty_state_action"))
    qtbot.waitUntil(lambda: len(panel.draws) == 4)
    assert panel.draws[0].seed == before[-1].seed + 1 and empty.isHidden()


def test_the_first_line_is_the_document_and_a_click_takes_another(desk: Desk) -> None:
    before, draws = seed(desk), panel_of(desk).draws
    assert [draw.seed for draw in draws] == [before, before + 1, before + 2, before + 3]
    assert desk.find(QToolButton, "draw_0").isChecked()
    text = desk.find(StoryText, "draw_text_2")
    desk.click(text, text.token_rect(0).center())
    wait_for_text(desk)
    assert seed(desk) == before + 2
    desk.qtbot.waitUntil(lambda: desk.find(QToolButton, "draw_2").isChecked())
    assert panel_of(desk).draws == draws  # the lines stay where they are
    decoded = desk.store.player.decoded
    assert decoded is not None
    written = tuple(step.token for step in decoded.decoding.steps[len(desk.store.experiment.tokens) :])
    assert draws[2].tokens[: len(written)] == written
    desk.window.commands["undo"].trigger()
    assert seed(desk) == before


def test_the_number_of_draws_and_the_next_seeds(desk: Desk) -> None:
    before = seed(desk)
    desk.find(DragNumber, "draws_count").set_value(2)
    panel_of(desk)._on_count(2)
    desk.qtbot.waitUntil(lambda: len(panel_of(desk).draws) == 2)
    panel_of(desk)._on_others()
    desk.qtbot.waitUntil(lambda: panel_of(desk).draws[0].seed == before + 2)
    assert not desk.find(QToolButton, "draw_0").isChecked() and seed(desk) == before
