"""Looking: stages, heads, orientation, hover, lock. Nothing here computes, and nothing can be undone."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk, MakeDesk, count_color, picture
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel

import attnviz
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.spec.view import Cell

WIDE = QSize(2560, 1440)
"""A window in which no stage is folded behind a tile."""


def thumbnails(desk: Desk, prefix: str) -> list[Thumbnail]:
    found = [t for t in desk.window.findChildren(Thumbnail) if t.objectName().startswith(prefix)]
    return sorted((t for t in found if t.isVisible()), key=lambda t: t.mapTo(desk.window, QPoint()).x())


def test_the_strip_has_every_stage_of_the_trace_in_order_and_a_click_opens_it(desk: Desk) -> None:
    trace = attnviz.run(desk.store.experiment)
    desk.window.resize(WIDE)
    desk.qtbot.waitUntil(lambda: len(thumbnails(desk, "stage_")) == len(trace.only.stages))
    strip = thumbnails(desk, "stage_")
    assert [t.property("stage") for t in strip] == list(trace.only.stages)
    for thumbnail in strip:
        stage = thumbnail.property("stage")
        desk.click(thumbnail)
        assert desk.store.document.view.stage == stage
        values = trace[stage]
        np.testing.assert_array_equal(desk.map.content.values, values[0] if values.ndim == 3 else values)
        assert [t.property("stage") for t in strip if t.isChecked()] == [stage]
        assert stage.replace("_", " ") in thumbnail.toolTip() or thumbnail.toolTip()
    assert not desk.store.can_undo and not desk.store.is_modified
    assert desk.store.trace is not None and desk.store.trace.experiment == trace.experiment


def test_the_chosen_stage_is_in_sight_at_the_start(desk: Desk) -> None:
    chosen = next(t for t in thumbnails(desk, "stage_") if t.isChecked())
    assert chosen.property("stage") == "weights"
    assert not chosen.visibleRegion().isEmpty()
    assert chosen.visibleRegion().boundingRect().width() == chosen.width()


def test_a_head_is_chosen_by_its_picture(desk: Desk) -> None:
    trace = attnviz.run(desk.store.experiment)
    heads = thumbnails(desk, "head_")
    assert [t.caption for t in heads] == [
        "head 1 · KV 1",
        "head 2 · KV 1",
        "head 3 · KV 2",
        "head 4 · KV 2",
    ]
    desk.click(heads[2])
    assert desk.store.document.view.head == 2
    np.testing.assert_array_equal(desk.map.content.values, trace["weights"][2])
    assert "weights · head 3 of 4" in desk.find(QLabel, "stage_title").toolTip()
    desk.store.look(stage="k")
    assert "k · KV head 2 of 2" in desk.find(QLabel, "stage_title").toolTip()
    np.testing.assert_array_equal(desk.map.content.values, trace["k"][1])
    assert [t.caption for t in thumbnails(desk, "head_")] == ["KV head 1", "KV head 2"]
    desk.click(thumbnails(desk, "head_")[0])
    np.testing.assert_array_equal(desk.map.content.values, trace["k"][0])


def test_one_switch_turns_axes_labels_and_sums(make_desk: MakeDesk) -> None:
    desk = make_desk("cross-attention")
    desk.store.look(stage="weights", locked=None)
    rows = desk.map.content
    before = picture(desk.map)
    upright = desk.map.layout_shown
    assert (upright.n_down, upright.n_across) == rows.values.shape == (6, 4)
    a, b = desk.map.cell_center(1, 0), desk.map.cell_center(0, 1)
    assert a.y() > b.y() and a.x() < b.x()

    desk.window.commands["transpose"].trigger()
    assert desk.store.document.view.orientation == "queries_as_columns"
    turned = desk.map.layout_shown
    assert (turned.n_down, turned.n_across) == (4, 6)
    np.testing.assert_array_equal(desk.map.content.values, rows.values)  # the numbers stay (query, key)
    a, b = desk.map.cell_center(1, 0), desk.map.cell_center(0, 1)
    assert a.y() < b.y() and a.x() > b.x()
    assert desk.map.content.row_labels == rows.row_labels
    assert picture(desk.map) != before
    # A hovered cell says the same query and key as before.
    desk.hover(desk.map, desk.map.cell_center(2, 3))
    assert desk.store.pointer.cell == Cell("weights", 2, 3, 0)
    # The colours of the labels: queries above now, keys at the left.
    at_left = count_color(picture(desk.map), desk.theme.key, _left_of(desk))
    assert at_left and count_color(picture(desk.map), desk.theme.query, _left_of(desk)) == 0
    desk.press_key(Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    desk.hover(desk.map, QPoint(1, 1))
    assert desk.store.document.view.orientation == "queries_as_rows"
    assert count_color(picture(desk.map), desk.theme.query, _left_of(desk)) > 5
    assert picture(desk.map) == before


def _left_of(desk: Desk) -> QRectF:
    plot = desk.map.layout_shown.plot
    return plot.adjusted(-plot.left(), 0, -plot.width() - 2, 0)


def test_a_hovered_weight_lights_its_sources_in_every_panel(desk: Desk) -> None:
    desk.open_side()
    desk.store.look(locked=None, query=0)
    chips = desk.find(TokenChips, "token_chips")
    heads, strip = thumbnails(desk, "head_"), {t.property("stage"): t for t in thumbnails(desk, "stage_")}
    dark = {name: picture(widget) for name, widget in (("chips", chips), ("vectors", desk.vectors))}
    plain_q = picture(strip["q_rotated"])
    desk.hover(desk.map, desk.map.cell_center(3, 1))
    assert desk.store.pointer.cell == Cell("weights", 3, 1, 0)
    lit = desk.map.highlight
    assert lit.cell == (3, 1) and 3 in lit.rows and 1 in lit.columns and not lit.locked
    # The chips of query 3 and key 1, in the query's blue.
    blue = [count_color(picture(chips.viewport()), desk.theme.query, chips.chip_rect(i)) for i in range(4)]
    assert blue[3] > 40 and blue[1] > 40 and blue[2] == 0
    assert picture(chips) != dark["chips"]
    assert picture(strip["q_rotated"]) != plain_q
    # Row of the selected query, as bars with the hovered key lit.
    desk.find(Toggle, "side_button").click()
    assert desk.find(QLabel, "row_title").text() == "ROW OF “creature”"
    assert heads[0].grab().toImage() != heads[1].grab().toImage()

    # A cell of q comes from one row of the vectors.
    desk.store.look(stage="q")
    desk.hover(desk.map, desk.map.cell_center(1, 2))
    assert desk.store.pointer.cell == Cell("q", 1, 2, 0)
    outline = desk.vectors.cell_rect(1, 0)
    assert picture(desk.vectors.viewport()).copy(outline) != dark["vectors"].copy(outline)
    desk.hover(desk.map, QPoint(1, 1))
    assert desk.store.pointer.cell is None
    assert picture(desk.vectors.viewport()).copy(outline) == dark["vectors"].copy(outline)


def test_a_click_locks_and_esc_frees(desk: Desk) -> None:
    desk.store.look(locked=None)
    desk.click(desk.map, desk.map.cell_center(2, 0))
    assert desk.store.document.view.locked == Cell("weights", 2, 0, 0)
    assert desk.store.document.view.query == 2
    desk.hover(desk.map, QPoint(1, 1))
    assert desk.map.highlight.cell == (2, 0) and desk.map.highlight.locked
    ink = QColor(desk.theme.ink).name()
    rect = desk.map.layout_shown.cell_rect(2, 0).adjusted(-2, -2, 2, 2)
    assert count_color(picture(desk.map), ink, rect) > 60
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.store.document.view.locked is None
    assert desk.map.highlight.cell is None
    assert count_color(picture(desk.map), ink, rect) < 20
    assert not desk.store.can_undo


def test_a_locked_cell_follows_the_numbers(desk: Desk) -> None:
    desk.click(desk.map, desk.map.cell_center(2, 1))
    desk.type_number("n_tokens_field", "2")
    desk.settle()
    assert desk.map.highlight.cell is None  # it is not there any more
    desk.store.undo()
    desk.settle()
    assert desk.map.highlight.cell == (2, 1)


def test_the_range_changes_the_colours_and_the_bar_but_no_number(desk: Desk) -> None:
    desk.store.look(locked=None)
    box = desk.find(QComboBox, "range_box")
    values = desk.map.content.values
    seen, kinds = set(), {}
    for index in range(box.count()):
        box.setCurrentIndex(index)
        box.activated.emit(index)
        assert desk.store.document.view.range_of(desk.store.document.view.stage) == box.itemData(index)
        assert desk.map.content.values is values or (desk.map.content.values == values).all()
        seen.add(bytes(picture(desk.map).constBits()))
        kinds[desk.map.content.range_id] = desk.map.content.kind
    assert len(seen) >= 4
    assert {range_id for range_id, kind in kinds.items() if kind == "diverging"} == {"symmetric"}


def test_keys_step_through_stages_and_heads(desk: Desk) -> None:
    assert desk.store.trace is not None
    stages = desk.store.trace.only.stages
    desk.press_key(Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.document.view.stage == stages[stages.index("weights") - 1]
    desk.press_key(Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    desk.press_key(Qt.Key.Key_BracketLeft, Qt.KeyboardModifier.ControlModifier)
    assert (desk.store.document.view.stage, desk.store.document.view.head) == ("weights", 3)
    desk.press_key(Qt.Key.Key_BracketRight, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.document.view.head == 0


def test_a_bar_is_clicked_to_pad_its_key(desk: Desk) -> None:
    desk.open_side()
    desk.store.look(locked=None, query=3)
    desk.find(Toggle, "side_button").click()
    bars = desk.find(Bars, "row_bars")
    desk.click(bars, bars.row_rect(1).center())
    desk.settle()
    weights = attnviz.run(desk.store.experiment)["weights"]
    assert (weights[:, :, 1] == 0).all()
    np.testing.assert_array_equal(desk.map.content.values, weights[0])
    desk.click(bars, bars.row_rect(1).center())
    assert len(desk.store.experiment.layers[0].masks) == 1


def test_the_output_opens_by_its_picture(desk: Desk) -> None:
    desk.open_side()
    desk.click(desk.find(Thumbnail, "output_thumbnail"))
    assert desk.store.document.view.stage == "attention_output"
    assert desk.map.content.values.shape == (4, 8)


def test_the_heat_map_is_walked_by_keys(desk: Desk) -> None:
    desk.store.look(locked=None)
    desk.map.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(desk.map, Qt.Key.Key_Down)
    QTest.keyClick(desk.map, Qt.Key.Key_Down)
    assert desk.store.pointer.cell == Cell("weights", 1, 0, 0)
    QTest.keyClick(desk.map, Qt.Key.Key_Return)
    assert desk.store.document.view.locked == Cell("weights", 1, 0, 0)
    assert desk.map.accessibleDescription() == "row fluffy, column a, 0.760"


@pytest.mark.parametrize("is_hovered", [True, False])
def test_a_locked_cell_goes_to_the_head_that_is_selected(desk: Desk, is_hovered: bool) -> None:
    desk.store.look(stage="weights", head=0)
    desk.click(desk.map, desk.map.cell_center(2, 1))
    desk.store.set_hover(Cell("weights", 2, 1, 0) if is_hovered else None)
    title = desk.find(QLabel, "inspector_title")
    count = desk.store.experiment.layers[0].heads.n_heads
    for head in (1, 0, 3):
        desk.store.look(head=head)
        desk.settle()
        locked = desk.store.document.view.locked
        assert locked is not None and locked.head == head
        assert desk.map.highlight.cell == (2, 1) and desk.map.highlight.locked
        assert title.text() == f"weights · head {head + 1} of {count}"
        shown = float(desk.store.site.window("weights", head)[2, 1])
        assert desk.map.content.values[2, 1] == shown
        page = desk.find(ExplanationPage, "inspector_page").toPlainText()
        assert f"{shown:.3f}" in page
