"""The logit lens on the screen: the tokens that the library's lens gives, and a click that goes there."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from attnviz import analysis
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import Stopped
from attnviz.core.text import visible
from attnviz.gui.live.answer import TURN_MS
from attnviz.gui.panels.lens import TILES, LensCanvas, LensPanel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import shown_token


def shown(desk: Desk) -> LensPanel:
    found = desk.window.panels["lens"]
    assert isinstance(found, LensPanel)
    return found


@pytest.fixture
def desk(make_desk: MakeDesk, qtbot: QtBot) -> Desk:
    desk = make_desk(load_preset("stories-induction"))
    desk.go("model")
    desk.bring("lens")
    qtbot.waitUntil(lambda: shown(desk).answer.result is not None)
    return desk


def test_it_shows_what_the_library_computes(desk: Desk) -> None:
    panel, experiment = shown(desk), desk.store.experiment
    wanted = analysis.logit_lens(experiment)
    assert panel.answer.result is not None
    np.testing.assert_array_equal(panel.answer.result.tokens, wanted.tokens)
    canvas = desk.find(LensCanvas, "lens_canvas")
    last = len(wanted.sites) - 1
    assert canvas.text_at((last, 19)) == visible(wanted.vocabulary[wanted.tokens[last, 19, 0]]) == "␣box"
    # " red" → " box" stands in the text at 6 and 7.
    assert canvas.is_right((last, 6)) == (wanted.vocabulary[wanted.tokens[last, 6, 0]] == " box")


def test_each_attention_of_a_decoder_layer_has_a_row_of_its_name(make_desk: MakeDesk, qtbot: QtBot) -> None:
    desk = make_desk(load_preset("encoder-decoder"))
    desk.go("model")
    desk.bring("lens")
    qtbot.waitUntil(lambda: shown(desk).answer.result is not None)
    canvas = desk.find(LensCanvas, "lens_canvas")
    for row, kind in enumerate(("self", "cross")):
        point = canvas.cell((row, 1)).center().toPoint()
        qtbot.mouseMove(canvas, QPoint(point.x() - 3, point.y()))
        qtbot.mouseMove(canvas, point)
        assert canvas.accessibleDescription().startswith(f"decoder 1 of 1 · {kind}, ")


def test_a_hovered_cell_says_its_first_tokens_and_a_click_goes_there(desk: Desk, qtbot: QtBot) -> None:
    canvas = desk.find(LensCanvas, "lens_canvas")
    at = (1, 3)
    point = canvas.cell(at).center().toPoint()
    qtbot.mouseMove(canvas, QPoint(point.x() - 3, point.y()))
    qtbot.mouseMove(canvas, point)
    lens = shown(desk).answer.result
    assert lens is not None and canvas.current == at
    said = canvas.accessibleDescription()
    assert visible(lens.vocabulary[lens.tokens[1, 3, 0]]) in said and said.startswith("layer 2 of ")
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=point)
    assert desk.store.document.site == lens.sites[1] and desk.store.document.view.query == 3


def test_a_cell_of_a_lens_that_waits_for_the_next_has_the_words_of_its_own_text(desk: Desk) -> None:
    experiment, canvas = desk.store.experiment, desk.find(LensCanvas, "lens_canvas")
    desk.store.edit(set_tokens, experiment.tokens[:4])
    canvas.hovered.emit((1, 15))
    assert shown_token(experiment.vocabulary, experiment.tokens[15]) in canvas.accessibleDescription()


def test_arrows_walk_and_enter_goes(desk: Desk, qtbot: QtBot) -> None:
    canvas = desk.find(LensCanvas, "lens_canvas")
    desk.store.look(site="layers.0.self", query=0)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(canvas, key)
    assert desk.store.document.site == "layers.1.self" and desk.store.document.view.query == 1


def test_an_edit_changes_the_lens(desk: Desk, qtbot: QtBot) -> None:
    before = shown(desk).answer.result
    desk.store.edit_here(lambda site: replace(site, temperature=3.0))
    qtbot.waitUntil(lambda: shown(desk).answer.result is not before)
    assert before is not None
    assert not np.array_equal(shown(desk).answer.result.probabilities, before.probabilities)  # type: ignore[union-attr]


def test_a_document_without_logits_says_what_is_needed(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.go("model")
    desk.bring("lens")
    empty = shown(desk).findChild(EmptyState)
    assert empty is not None and empty.isVisible()


def test_the_tiles_of_the_grid_come_first(desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both share one worker, and the lens of a large model takes it for seconds."""
    panel = shown(desk)
    before = panel.answer.result
    with monkeypatch.context() as patched:
        patched.setattr(desk.window.services.schedulers.answers, "is_busy", lambda key: key == TILES)
        desk.store.edit_here(lambda site: replace(site, temperature=3.0))
        qtbot.waitUntil(lambda: panel.answer.is_due)
        qtbot.wait(2 * TURN_MS)
        assert panel.answer.is_due and panel.answer.result is before
    qtbot.waitUntil(lambda: not panel.answer.is_due)
    assert panel.answer.result is not before


def test_a_cancelled_lens_shows_no_older_numbers_and_is_computed_by_a_button(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(desk)
    empty = panel.findChild(EmptyState)
    assert isinstance(empty, EmptyState) and empty.isHidden()
    with monkeypatch.context() as patched:
        patched.setattr("attnviz.study.lens.logit_lens", Mock(side_effect=Stopped))
        desk.store.edit_here(lambda site: replace(site, temperature=3.0))
        qtbot.waitUntil(lambda: panel.answer.result is None)
    assert empty.isVisible() and empty.accessibleName() == "Cancelled."
    desk.click(*panel.findChildren(QAbstractButton, "empty_state_action"))
    qtbot.waitUntil(lambda: panel.answer.result is not None)
    wanted = analysis.logit_lens(desk.store.experiment)
    np.testing.assert_array_equal(panel.answer.result.probabilities, wanted.probabilities)  # type: ignore[union-attr]
    assert empty.isHidden()


def test_another_model_never_shows_the_lens_of_the_one_before(desk: Desk, qtbot: QtBot) -> None:
    panel, asked = shown(desk), list[Experiment]()

    def on_changed() -> None:
        if panel.answer.is_due and panel.answer.asked is not None:
            asked.append(panel.answer.asked.experiment)

    panel.answer.changed.connect(on_changed)
    desk.store.look(site="layers.3.self")
    document = load_preset("stories-en")
    desk.store.open(document)
    assert panel.answer.result is None
    assert panel.findChild(EmptyState).accessibleName() == "Computing the logit lens…"  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: panel.answer.result is not None)
    assert asked == [document.experiment]
