"""Rollout and flow on the screen: the rows of the library for the selected token, and a click to a layer."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from desk import Desk, MakeDesk
from numpy.typing import NDArray
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

import attnviz
from attnviz import analysis
from attnviz.checkpoints.presets import load_preset
from attnviz.gui.panels.rollout import LayerMap, RolloutPanel
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.model.edit import edits


def shown(desk: Desk) -> RolloutPanel:
    found = desk.window.panels["rollout"]
    assert isinstance(found, RolloutPanel)
    return found


def rows(desk: Desk) -> NDArray[np.float64]:
    """The shares (layer, input token) that are shown."""
    found = shown(desk).answer.result
    return np.empty((0, 0)) if found is None else found.rows


@pytest.fixture
def desk(make_desk: MakeDesk, qtbot: QtBot) -> Desk:
    desk = make_desk(load_preset("stories-induction"))
    desk.go("model")
    desk.store.look(query=7)
    desk.bring("rollout")
    qtbot.waitUntil(lambda: rows(desk).size > 0)
    return desk


def test_it_shows_both_maps_of_the_selected_token(desk: Desk, qtbot: QtBot) -> None:
    panel, trace = shown(desk), attnviz.run(desk.store.document)
    wanted = np.array([rows[7] for rows in analysis.rollout(trace).values()])
    np.testing.assert_allclose(rows(desk), wanted, atol=1e-6)
    np.testing.assert_array_equal(panel.map.content.values, rows(desk)[::-1])  # the last layer on top
    np.testing.assert_allclose(rows(desk).sum(axis=1), 1.0)
    desk.find(Combo, "rollout_token").changed.emit("9")
    qtbot.waitUntil(lambda: abs(rows(desk)[0, 9] - wanted[0, 9]) > 1e-3)
    assert desk.store.document.view.query == 9
    panel._kind.set_value("flow")
    panel._kind.changed.emit("flow")
    flows = np.array(list(analysis.attention_flow(trace, 9).values()))
    qtbot.waitUntil(lambda: bool(np.allclose(rows(desk), flows, atol=1e-6)))
    # The first layer has single edges: there flow and rollout are the same.
    np.testing.assert_allclose(flows[0], next(iter(analysis.rollout(trace).values()))[9], atol=1e-6)


def test_a_click_shows_the_mean_of_the_layer(desk: Desk) -> None:
    panel = shown(desk)
    panel.map.cell_clicked.emit(0, 2)
    view = desk.store.document.view
    assert desk.store.document.site == desk.store.trace.sites[-1]  # type: ignore[union-attr]
    assert (view.stage, view.picture) == ("weights", "mean")


def test_a_map_that_failed_is_computed_by_a_button(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(desk)
    empty, (again,) = (
        panel.findChild(EmptyState),
        panel.findChildren(QAbstractButton, "empty_state_action"),
    )
    assert isinstance(empty, EmptyState) and empty.isHidden()
    with monkeypatch.context() as patched:
        patched.setattr("attnviz.study.heads.rollout.layer_map", Mock(side_effect=OSError("No room.")))
        desk.store.look(query=3)
        qtbot.waitUntil(lambda: empty.accessibleName() == "No room.")
    assert again.isVisible() and again.text() == "Compute"
    desk.click(again)
    qtbot.waitUntil(lambda: panel.map.isVisible())
    assert empty.isHidden() and rows(desk)[0].argmax() <= 3


def test_layers_without_self_attention_offer_no_button(desk: Desk) -> None:
    panel = shown(desk)
    assert panel.answer.asked is not None
    no_layers = LayerMap(desk.store.experiment, (), (), np.empty((0, 0)))
    panel.answer.take(panel.answer.asked, no_layers)
    (again,) = panel.findChildren(QAbstractButton, "empty_state_action")
    empty = panel.findChild(EmptyState)
    assert isinstance(empty, EmptyState) and empty.isVisible() and not again.isVisible()
    assert empty.accessibleName() == "Rollout needs layers with self-attention."


def test_words_alone_need_no_vocabulary(make_desk: MakeDesk, qtbot: QtBot) -> None:
    desk = make_desk("toy-attention")
    desk.go("model")
    desk.bring("rollout")
    qtbot.waitUntil(lambda: rows(desk).shape[0] == 1)


def test_any_token_of_the_encoder_can_be_the_target(make_desk: MakeDesk, qtbot: QtBot) -> None:
    desk = make_desk("encoder-decoder")  # six tokens are encoded, four decoded
    desk.go("model")
    desk.bring("rollout")
    wanted = analysis.rollout(attnviz.run(desk.store.document))
    for site, token in (("encoder.0.self", 5), ("decoder.0.self", 3)):
        desk.store.look(site=site, query=token)
        qtbot.waitUntil(lambda site=site: rows(desk).shape == (1, len(wanted[site])))
        np.testing.assert_allclose(rows(desk)[0], wanted[site][token], atol=1e-6)


def test_a_shorter_stack_takes_its_last_token(make_desk: MakeDesk, qtbot: QtBot) -> None:
    desk = make_desk("encoder-decoder")
    desk.store.edit(edits.set_tokens, tuple("abcdefgh"))
    desk.store.look(site="encoder.0.self", query=7)
    desk.go("model")
    desk.bring("rollout")
    wanted = analysis.rollout(attnviz.run(desk.store.document))["encoder.0.self"]
    qtbot.waitUntil(lambda: rows(desk).shape == (1, len(wanted)) == (1, 6))
    np.testing.assert_allclose(rows(desk)[0], wanted[-1], atol=1e-6)
