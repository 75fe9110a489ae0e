"""Patching on the screen: the shares that the library computes, for a written and for a pinned clean text."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from desk import Desk, MakeDesk
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from attnviz import analysis
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import Stopped
from attnviz.gui.look.colors import LEVELS, cell_colors
from attnviz.gui.look.words import speak
from attnviz.gui.panels.patching import PatchCanvas, PatchingPanel
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import MODEL, split_text

OTHER = 'Tom said: "The cat box is by the lake." Lily said: "The red'


def shown(desk: Desk) -> PatchingPanel:
    found = desk.window.panels["patching"]
    assert isinstance(found, PatchingPanel)
    return found


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    desk = make_desk(load_preset("stories-induction"))
    desk.go("model")
    desk.bring("patching")
    desk.settle()
    return desk


def clean_of(experiment: Experiment) -> Experiment:
    return set_tokens(experiment, split_text(experiment, OTHER, MODEL.id))


def write(desk: Desk, name: str, text: str) -> None:
    line = desk.find(DocumentLine, name)
    line.setText(text)
    line.editingFinished.emit()


def written(desk: Desk, qtbot: QtBot) -> PatchingPanel:
    write(desk, "patch_clean", OTHER)
    panel = shown(desk)
    qtbot.waitUntil(lambda: panel.answer.result is not None)
    return panel


def test_the_shares_are_those_of_the_library_and_a_click_goes_there(desk: Desk, qtbot: QtBot) -> None:
    panel, corrupted = written(desk, qtbot), desk.store.experiment
    found = panel.answer.result
    assert found is not None
    wanted = analysis.patch(clean_of(corrupted), corrupted)
    assert (found.target, found.clean, found.corrupted) == (wanted.target, wanted.clean, wanted.corrupted)
    for site, shares in wanted.values.items():
        np.testing.assert_array_equal(found.values[site], shares)
    # The texts differ in the seventh token alone: its vector brings all of the clean answer.
    assert found.values["layers.0.self"][6] == pytest.approx(1.0)
    assert not np.any(found.values["layers.0.self"][:6])
    canvas = desk.find(PatchCanvas, "patch_canvas")
    colors = cell_colors("diverging", desk.theme)
    assert canvas.color_at((0, 6)).getRgb()[:3] == tuple(map(int, colors[LEVELS - 1]))
    assert canvas.color_at((0, 5)).getRgb()[:3] == tuple(map(int, colors[(LEVELS - 1) // 2]))
    desk.click(canvas, canvas.cell((2, 6)).center())
    assert (desk.store.document.site, desk.store.document.view.query) == ("layers.2.self", 6)


def test_it_begins_with_the_document_and_the_word_to_change(desk: Desk, qtbot: QtBot) -> None:
    line, experiment = desk.find(DocumentLine, "patch_clean"), desk.store.experiment
    assert line.text() == 'Tom said: "The red box is by the lake." Lily said: "The red'
    # The last red attends most to box: that word is selected, and nothing is computed for the same text.
    assert line.selectedText() == "box" and line.selectionStart() == line.text().index("box")
    assert shown(desk).answer.asked is None
    line.insert("ball")
    line.editingFinished.emit()
    panel = shown(desk)
    qtbot.waitUntil(lambda: panel.answer.result is not None)
    text = 'Tom said: "The red ball is by the lake." Lily said: "The red'
    wanted = analysis.patch(set_tokens(experiment, split_text(experiment, text, MODEL.id)), experiment)
    assert panel.answer.result is not None and panel.answer.result.clean == wanted.clean
    desk.store.look(site="layers.3.self")
    assert line.text() == text, "a text of the user stays"


def test_another_document_brings_its_own_text(desk: Desk) -> None:
    write(desk, "patch_clean", OTHER)
    desk.store.open(load_preset("stories-name"))
    desk.settle()
    line = desk.find(DocumentLine, "patch_clean")
    desk.qtbot.waitUntil(lambda: line.text() != OTHER and bool(line.text()))
    assert line.selectedText() in line.text() and line.selectedText()


def test_heads_have_rows_of_their_own(desk: Desk, qtbot: QtBot) -> None:
    panel = written(desk, qtbot)
    stage = desk.find(Combo, "patch_stage")
    stage.set_value("mixed")
    stage.changed.emit("mixed")
    qtbot.waitUntil(lambda: panel.answer.result is not None)
    canvas = desk.find(PatchCanvas, "patch_canvas")
    canvas.hovered.emit((5, 7))
    desk.click(canvas, canvas.cell((5, 7)).center())
    document = desk.store.document
    assert (document.site, document.view.head, document.view.query) == ("layers.1.self", 1, 7)
    assert "head 2" in canvas.accessibleDescription()


def test_a_pinned_state_is_the_clean_text(desk: Desk, qtbot: QtBot) -> None:
    corrupted = desk.store.experiment
    desk.store.edit(clean_of)
    desk.settle()
    desk.window.panels["compare"].pinning.pin()
    desk.store.undo()
    desk.settle()
    panel = shown(desk)
    qtbot.waitUntil(lambda: panel.answer.result is not None)
    assert panel.answer.result is not None
    assert panel.answer.result.clean == analysis.patch(clean_of(corrupted), corrupted).clean
    desk.window.panels["compare"].pinning.unpin()
    assert panel.answer.result is None


@pytest.mark.parametrize(
    ("text", "says", "failed"),
    [
        ("", "Change a word of the text above", False),
        ("Tom said", "The clean text must have as many tokens as the document, 20; got 3.", True),
        ("The red box is red", "must", True),
    ],
)
def test_what_cannot_be_patched_says_why(
    desk: Desk, qtbot: QtBot, text: str, says: str, failed: bool
) -> None:
    write(desk, "patch_clean", text)
    empty = shown(desk).findChildren(EmptyState)[0]
    qtbot.waitUntil(lambda: says in empty.accessibleName())
    assert empty.findChildren(QAbstractButton, "empty_state_action")[0].isVisible() == failed


@pytest.mark.parametrize(
    ("error", "says"), [(Stopped(), "Cancelled."), (OSError("No room."), "No room.")], ids=["cancel", "fail"]
)
def test_a_map_that_failed_is_computed_by_a_button(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    panel = shown(desk)
    empty = panel.findChildren(EmptyState)[0]
    with monkeypatch.context() as patched:
        patched.setattr("attnviz.study.patching.patch", Mock(side_effect=error))
        write(desk, "patch_clean", OTHER)
        qtbot.waitUntil(lambda: empty.accessibleName() == says)
    (again,) = panel.findChildren(QAbstractButton, "empty_state_action")
    speak()
    assert again.isVisible(), "another language takes no button away"
    desk.click(again)
    qtbot.waitUntil(lambda: panel.answer.result is not None)


def test_a_document_without_logits_says_what_is_needed(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.go("model")
    desk.bring("patching")
    write(desk, "patch_clean", "a b c d")
    assert "logits" in shown(desk).findChildren(EmptyState)[0].accessibleName()
