"""Prepared comparisons: the panel asks while it is seen, draws the answer, links hover, opens a side."""

from __future__ import annotations

import numpy as np
from desk import WAIT_MS, Desk, MakeDesk
from first_layer import change
from PySide6.QtWidgets import QLabel, QPushButton

from attnviz.errors import Message
from attnviz.gui.look.words import speak
from attnviz.gui.panels.compare.compare import ComparePanel
from attnviz.gui.panels.compare.maps import SIDES
from attnviz.gui.widgets.heat.compare_map import end_text
from attnviz.i18n import set_language
from attnviz.model.edit import edits
from attnviz.model.spec.parts import Causal
from attnviz.model.why_not import WHY_NOTS


def panel_of(desk: Desk, row: str) -> ComparePanel:
    """The panel in front, on one row of the table, answered."""
    panel = desk.window.panels["compare"]
    assert isinstance(panel, ComparePanel)
    desk.go("compare")
    desk.qtbot.waitUntil(panel.isVisible)
    panel.choose(row)
    desk.qtbot.waitUntil(lambda: desk.find(QLabel, "compare_sentence").text() != "")
    return panel


def values(panel: ComparePanel, side: str) -> np.ndarray:
    return panel.maps[side].map.content.values


def test_it_shows_both_sides_and_their_difference(make_desk: MakeDesk) -> None:
    desk = make_desk("mask-after-softmax")
    panel = panel_of(desk, "late-mask")
    sums = values(panel, "right").sum(axis=1)
    np.testing.assert_allclose(sums, [0.439654, 0.984110, 0.863776, 1], atol=5e-7)
    difference = values(panel, "right") - values(panel, "left")
    np.testing.assert_array_equal(values(panel, "difference"), difference)
    left, right = (panel.maps[side].map.content for side in SIDES[:2])
    assert left.levels == right.levels == (0.0, 1.0)
    assert left.blocked is not None and left.blocked[0, 1]
    assert panel.maps["difference"].caption == "difference, at most 0.560"


def test_the_title_names_the_compared_stage_and_not_that_of_the_view(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.store.look(stage="q")
    panel = panel_of(desk, "late-mask")
    for row, stage in (("late-mask", "weights"), ("product", "mixed"), ("order-lost", "attention output")):
        panel.choose(row)
        assert desk.find(QLabel, "compare_title").text().endswith(f" · {stage}"), row
        desk.store.look(stage="k")
        assert desk.find(QLabel, "compare_title").text().endswith(f" · {stage}"), row


def test_it_follows_an_edit_while_it_is_seen_and_rests_while_it_is_not(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk, "both-near-one")
    asked: list[object] = []
    panel.prepared.answered.connect(lambda: asked.append(panel.prepared.of))
    before = values(panel, "left").copy()
    change(desk.store, temperature=3.0)
    desk.settle()
    assert len(asked) == 1 and not np.array_equal(values(panel, "left"), before)
    desk.go("explore")
    desk.qtbot.waitUntil(lambda: not panel.is_seen)
    change(desk.store, temperature=5.0)
    desk.settle()
    assert len(asked) == 1
    desk.go("compare")
    desk.qtbot.waitUntil(lambda: len(asked) == 2)


def test_a_side_becomes_the_document_and_undo_takes_it_back(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel_of(desk, "late-mask")
    before = desk.store.experiment
    desk.click(desk.find(QPushButton, "compare_open_right"))
    assert desk.store.experiment.layers[0].mask_placement == "after_softmax"
    assert desk.store.experiment.layers[0].masks == (Causal(),)
    desk.settle()
    assert not desk.find(QPushButton, "compare_open_right").isEnabled()
    assert "This side is the document." in desk.find(QPushButton, "compare_open_right").toolTip()
    desk.store.undo()
    assert desk.store.experiment == before


def test_what_is_no_experiment_cannot_be_opened_and_says_why(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel_of(desk, "product")
    button = desk.find(QPushButton, "compare_open_right")
    assert not button.isEnabled() and "no weights" in button.toolTip()


def test_shuffle_chooses_another_order(make_desk: MakeDesk) -> None:
    desk = make_desk("xiaoshenyang")
    panel = panel_of(desk, "order-lost")
    button = desk.find(QPushButton, "compare_shuffle")
    first = panel.maps["left"].map.content.row_labels
    desk.click(button)
    desk.qtbot.waitUntil(lambda: panel.maps["left"].map.content.row_labels != first)
    assert "Y(PX) = P·Y(X)" in desk.find(QLabel, "compare_sentence").text()
    panel_of(desk, "late-mask")
    assert not button.isVisible()


def test_a_cell_is_lit_in_all_three_and_its_numbers_are_read_out(make_desk: MakeDesk) -> None:
    desk = make_desk("mask-after-softmax")
    panel = panel_of(desk, "late-mask")
    one = panel.maps["left"].map
    desk.hover(one, one.cell_center(0, 0))
    assert all(panel.maps[side].map.highlight.cell == (0, 0) for side in SIDES)
    readout = desk.find(QLabel, "compare_readout")
    assert readout.text().endswith("one: 1.000 | 0.440 | −0.560")
    desk.hover(one, one.cell_center(0, 2))
    assert "masked | masked" in readout.text()


def test_a_refusal_is_said_in_place_of_the_maps(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk, "late-mask")
    panel.prepared.result, panel.prepared.problem = None, Message("there is no room")
    panel._draw()
    assert desk.find(QLabel, "compare_sentence").text() == "there is no room"
    assert not any(one.isVisible() for one in panel.maps.values())
    panel.choose("late-mask")
    assert all(one.isVisible() for one in panel.maps.values())


def test_an_answer_that_comes_too_late_is_not_drawn(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention", inline=False)
    panel, drawn = panel_of(desk, "late-mask"), []
    panel.prepared.answered.connect(lambda: drawn.append(panel.prepared.result.row.id))
    panel.choose("both-near-one")
    panel.choose("scale")
    assert panel.prepared.is_due
    desk.qtbot.waitUntil(lambda: not panel.prepared.is_due, timeout=WAIT_MS)
    assert drawn == ["scale"]
    assert "512" in desk.find(QLabel, "compare_sentence").text()


def test_each_map_has_its_range_below_it(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk, "late-mask")
    texts = [panel.maps[side].range_bar.texts for side in SIDES]
    assert texts[0] == texts[1] == ("0", "1") and texts[2] == ("−0.560", "+0.560")
    assert [end_text(end) for end in (0.0, 0.98, -3.0)] == ["0", "0.980", "−3"]


def test_every_row_can_be_chosen_in_both_languages(make_desk: MakeDesk) -> None:
    desk = make_desk("fluffy-blue-creature")
    panel = panel_of(desk, "product")
    for row in WHY_NOTS:
        panel.choose(row.id)
        assert values(panel, "left").shape == values(panel, "right").shape
    try:
        set_language("zh_CN")
        speak()
        assert values(panel, "left").size
    finally:
        set_language("en")
        speak()


def test_a_chosen_cell_of_a_longer_text_is_free_in_a_shorter_one(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk, "late-mask")
    last = len(values(panel, "left")) - 1
    panel.maps["left"].map.cell_clicked.emit(last, last)
    tokens = desk.store.experiment.tokens
    assert desk.find(QLabel, "compare_readout").text().startswith(f"{tokens[-1]} → {tokens[-1]}")
    desk.store.edit(edits.set_tokens, tokens[:2])
    desk.settle()
    desk.qtbot.waitUntil(lambda: len(values(panel, "left")) == 2)
    assert panel.maps["left"].map.highlight.cell is None
    assert f"{tokens[-1]} →" not in desk.find(QLabel, "compare_readout").text()
