"""Offers of the empty inspector: it names numbers of the trace, and a click does what it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from desk import Desk, MakeDesk
from draw import Drawn
from PySide6.QtCore import Qt

import attnviz
from attnviz.gui.panels.inspector.start import TRIES, largest_weight
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.model.edit import edits
from attnviz.model.edit.masks import take_mask
from attnviz.model.io.presets import load_preset, preset_ids
from attnviz.model.spec.parts import Causal, NoScale


def line(desk: Desk, id_: str) -> LinkLine:
    return desk.find(LinkLine, f"try_{id_}")


def test_the_largest_weight_is_that_of_the_trace_and_a_click_opens_it(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode")
    desk.store.look(locked=None, head=0)
    desk.settle()
    weights = attnviz.run(desk.store.experiment)["weights"][0, -1]
    key = int(weights.argmax())
    desk.qtbot.waitUntil(lambda: f"{weights[key]:.3f}" in line(desk, "largest").accessibleName())
    desk.click(line(desk, "largest"))
    locked = desk.store.document.view.locked
    assert locked is not None and (locked.stage, locked.column) == ("weights", key)
    assert locked.row == desk.store.experiment.n_queries - 1


def test_an_edit_of_a_vector_and_one_of_a_mask_are_both_said(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode")
    desk.store.look(locked=None, head=0)
    desk.settle()
    for number in (0.5, -2.0, 3.0):
        desk.store.edit(edits.set_vector_cell, 1, 0, number)
        desk.settle()
        weights = attnviz.run(desk.store.experiment)["weights"][0, -1]
        desk.qtbot.waitUntil(lambda: f"{weights.max():.3f}" in line(desk, "largest").accessibleName())  # noqa: B023
    desk.store.edit_attention(take_mask, Causal)
    desk.settle()
    desk.qtbot.waitUntil(lambda: "Add a causal mask" in line(desk, "mask").accessibleName())


def test_enter_chooses_a_line_and_undo_takes_it_back(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode")
    desk.store.look(locked=None, head=0)
    desk.settle()
    desk.qtbot.waitUntil(line(desk, "mask").isVisible)
    before = desk.store.experiment
    line(desk, "mask").setFocus()
    desk.press_key(Qt.Key.Key_Return)
    assert not any(isinstance(mask, Causal) for mask in desk.store.attention.masks)
    line(desk, "scale").setFocus()
    desk.press_key(Qt.Key.Key_Space)
    assert isinstance(desk.store.attention.scale, NoScale)
    desk.store.undo()
    desk.store.undo()
    assert desk.store.experiment == before


def test_every_preset_offers_something_and_no_line_fails(make_desk: MakeDesk, drawn: Drawn) -> None:
    desk = make_desk()
    refused: list[object] = []
    desk.store.rejected.connect(refused.append)
    tries = drawn([(preset, row) for preset in preset_ids() for row in TRIES])
    for preset, of_preset in itertools.groupby(tries, key=lambda one: one[0]):
        document = load_preset(preset)
        for _preset, row in of_preset:
            desk.store.open(document)
            desk.settle()
            if row.sentence(desk.store):
                row.act(desk.store)
                desk.settle()
        desk.store.open(document)
        desk.settle()
        cell, value = largest_weight(desk.store)
        row_of = np.asarray(desk.store.shown_site.window("weights", cell.head))[cell.row]
        assert value == pytest.approx(np.nanmax(row_of)), preset
        assert not refused, (preset, refused)
