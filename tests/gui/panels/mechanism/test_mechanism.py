"""Heads, score, mask, dropout, projections, memory sequence and precision, driven with mouse and keys."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import pytest
from first_layer import change, stacked
from msgspec.structs import replace
from panels import recolor
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from services import served

from attnviz.gui.look.style import apply_style
from attnviz.gui.look.theme import DARK, LIGHT, THEME_PROPERTY
from attnviz.gui.look.words import speak
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.panels.mechanism.section import SectionHeader
from attnviz.gui.panels.mechanism.tile import MaskTile
from attnviz.gui.panels.mechanism.wires import HeadWires, lay_out
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import set_language
from attnviz.model.edit.edits import set_d_model, set_heads
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.differential import Differential
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import (
    Causal,
    Dropout,
    Explicit,
    ExplicitSinks,
    Heads,
    Identity,
    Memory,
    NoScale,
    Padding,
    Painted,
    Projections,
    QKNorm,
    Rope,
    ScaleValue,
    Seeded,
    SeededSinks,
    SeededVectors,
    SqrtDHead,
    Tied,
    Window,
)
from attnviz.model.spec.view import Cell
from attnviz.operations.norm import NORM_KINDS

W = TypeVar("W", bound=QWidget)


@pytest.fixture
def styled(qapp: QApplication) -> Iterator[None]:
    """The program's own fonts and style sheet, on which widths depend."""
    palette, font = qapp.palette(), qapp.font()
    apply_style(qapp, LIGHT)
    yield
    qapp.setStyleSheet("")
    qapp.setPalette(palette)
    qapp.setFont(font)
    qapp.setProperty(THEME_PROPERTY, None)


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[MechanismPanel]:
    experiment = stacked(
        tokens=("a", "fluffy", "<s>", "creature"), vectors=SeededVectors(4, 8), heads=Heads(4, 2, 4)
    )
    made = served(MechanismPanel(Store(Document(experiment))))
    qtbot.addWidget(made)
    made.open_all()
    made.start()
    made.resize(276, 1500)
    made.show()
    qtbot.waitExposed(made)
    qtbot.wait(20)  # the layout is done when events are
    yield made


def find(panel: MechanismPanel, kind: type[W], name: str) -> W:
    found = panel.findChild(kind, name)
    assert isinstance(found, kind), name
    return found


def press(qtbot: QtBot, widget: QWidget, point: QPointF | QPoint | None = None) -> None:
    at = widget.rect().center() if point is None else QPointF(point).toPoint()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at)


def choose(qtbot: QtBot, panel: MechanismPanel, segmented: str, option: str) -> None:
    control = find(panel, Segmented, segmented)
    segment = control.findChild(QAbstractButton, f"segment_{option}")
    assert isinstance(segment, QAbstractButton)
    press(qtbot, segment)


def switch(qtbot: QtBot, panel: MechanismPanel, name: str) -> None:
    press(qtbot, find(panel, Toggle, name), QPoint(14, find(panel, Toggle, name).height() // 2))


def drag(qtbot: QtBot, widget: QWidget, moves: list[tuple[int, int]]) -> None:
    """Press in the middle, move through the offsets, release at the last."""
    middle = widget.rect().center()
    qtbot.mousePress(widget, Qt.MouseButton.LeftButton, pos=middle)
    for dx, dy in moves:
        qtbot.mouseMove(widget, middle + QPoint(dx, dy))
    dx, dy = moves[-1]
    qtbot.mouseRelease(widget, Qt.MouseButton.LeftButton, pos=middle + QPoint(dx, dy))


def type_number(qtbot: QtBot, number: DragNumber, text: str) -> None:
    press(qtbot, number)
    editor = number.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, text)
    qtbot.keyClick(editor, Qt.Key.Key_Return)


def pixel(widget: QWidget, point: QPointF) -> QColor:
    return widget.grab().toImage().pixelColor(point.toPoint())


# --- heads -----------------------------------------------------------------------------------------


def test_query_heads_are_dragged_as_one_entry(qtbot: QtBot, panel: MechanismPanel) -> None:
    drag(qtbot, find(panel, DragNumber, "n_heads_field"), [(0, -12), (0, -24)])
    assert panel.store.experiment.layers[0].heads == Heads(8, 2, 4)
    panel.store.undo()
    assert panel.store.experiment.layers[0].heads == Heads(4, 2, 4)
    assert not panel.store.can_undo
    assert find(panel, DragNumber, "n_heads_field").value() == 4


def test_a_drag_past_few_heads_forgets_nothing(qtbot: QtBot, panel: MechanismPanel) -> None:
    matrix = np.arange(128.0).reshape(8, 16)
    change(panel.store, projections=Projections(query=Explicit(Matrix(matrix))))
    before = panel.store.experiment
    drag(qtbot, find(panel, DragNumber, "n_heads_field"), [(0, 6), (0, 18), (0, 0)])
    assert panel.store.experiment == before


def test_key_value_heads_are_the_divisors(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "n_kv_heads_segmented", "1")
    assert panel.store.experiment.layers[0].heads == Heads(4, 1, 4)
    assert find(panel, SectionHeader, "heads_header").value() == "MQA · 4 q · 1 kv"
    type_number(qtbot, find(panel, DragNumber, "n_heads_field"), "6")
    names = [
        b.objectName() for b in find(panel, Segmented, "n_kv_heads_segmented").findChildren(QAbstractButton)
    ]
    assert names[-4:] == ["segment_1", "segment_2", "segment_3", "segment_6"]


def test_a_head_is_switched_off_by_its_button_its_dot_or_a_key(qtbot: QtBot, panel: MechanismPanel) -> None:
    button, wires = find(panel, QPushButton, "head_off_1"), find(panel, HeadWires, "head_wires")
    press(qtbot, button)
    assert panel.store.experiment.layers[0].heads == Heads(4, 2, 4, (1,))
    assert not button.isChecked() and button.font().strikeOut()
    image = wires.grab().toImage()
    assert image.pixelColor(wires.dot(1).toPoint()) == QColor(LIGHT.panel)
    assert image.pixelColor(wires.dot(2).toPoint()) == QColor(LIGHT.query)
    qtbot.mouseDClick(wires, Qt.MouseButton.LeftButton, pos=wires.dot(3).toPoint())
    assert panel.store.experiment.layers[0].heads.off == (1, 3)
    panel.store.look(head=1)
    qtbot.keyClick(wires, Qt.Key.Key_Delete)
    assert panel.store.experiment.layers[0].heads.off == (3,)
    type_number(qtbot, find(panel, DragNumber, "n_heads_field"), "2")
    assert panel.store.experiment.layers[0].heads == Heads(2, 2, 4)
    assert not find(panel, QPushButton, "head_off_3").isVisible()


def test_heads_of_their_own_keys_stay_so_through_one_head(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "n_kv_heads_segmented", "4")
    for count in ("1", "8"):
        type_number(qtbot, find(panel, DragNumber, "n_heads_field"), count)
        assert find(panel, SectionHeader, "heads_header").value() == f"MHA · {count} q · {count} kv"
        assert panel.store.experiment.layers[0].heads.n_kv_heads == int(count)


def test_a_locked_link_trades_heads_for_their_width(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.edit(set_d_model, 16)
    vectors = panel.store.experiment.vectors
    lock = find(panel, Toggle, "d_model_link")
    assert (panel.store.experiment.d_model, panel.store.experiment.layers[0].heads) == (16, Heads(4, 2, 4))
    assert lock.isEnabled() and not lock.value()
    switch(qtbot, panel, "d_model_link")
    for name, text, heads in (
        ("n_heads_field", "7", (8, 2)),
        ("d_head_field", "3", (4, 4)),
        ("n_heads_field", "3", (2, 8)),
    ):
        type_number(qtbot, find(panel, DragNumber, name), text)
        found = panel.store.experiment.layers[0].heads
        assert (found.n_heads, found.d_head) == heads and panel.store.experiment.vectors == vectors
    switch(qtbot, panel, "d_model_link")
    type_number(qtbot, find(panel, DragNumber, "d_head_field"), "2")
    assert (
        panel.store.experiment.layers[0].heads.n_heads,
        panel.store.experiment.layers[0].heads.d_head,
    ) == (2, 2)
    assert not lock.isEnabled() and "16" in lock.toolTip()


def test_many_divisors_are_a_list(qtbot: QtBot, panel: MechanismPanel) -> None:
    type_number(qtbot, find(panel, DragNumber, "n_heads_field"), "12")
    combo = find(panel, Combo, "n_kv_heads_combo")
    assert combo.isVisible() and not find(panel, Segmented, "n_kv_heads_segmented").isVisible()
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert panel.store.experiment.layers[0].heads == Heads(12, 3, 4)


def test_a_dot_chooses_the_head_and_the_mouse_previews(qtbot: QtBot, panel: MechanismPanel) -> None:
    wires = find(panel, HeadWires, "head_wires")
    qtbot.mouseMove(wires, wires.dot(2).toPoint())
    assert panel.store.document.view.head == 2
    qtbot.mouseMove(wires, QPoint(1, wires.height() - 1))
    assert panel.store.document.view.head == 0
    qtbot.mouseMove(wires, wires.dot(3).toPoint())
    press(qtbot, wires, wires.dot(3))
    qtbot.mouseMove(wires, QPoint(1, wires.height() - 1))
    assert panel.store.document.view.head == 3
    assert not panel.store.can_undo
    qtbot.keyClick(wires, Qt.Key.Key_Right)
    assert panel.store.document.view.head == 0


def test_dots_and_squares_are_painted_in_the_colours_of_query_and_key(panel: MechanismPanel) -> None:
    wires = find(panel, HeadWires, "head_wires")
    for theme in (LIGHT, DARK):
        recolor(panel, theme)
        assert pixel(wires, wires.dot(1)).name() == theme.query
        assert pixel(wires, wires.square(1)).name() == theme.key_mark


@pytest.mark.parametrize("heads", [Heads(24, 8, 4), Heads(96, 96, 2), Heads(32, 1, 4), Heads(64, 8, 2)])
def test_every_head_has_a_dot_of_its_own_inside(heads: Heads) -> None:
    wiring = lay_out(heads, 240.0)
    assert len(wiring.dots) == heads.n_heads and len(wiring.squares) == heads.n_kv_heads
    assert len({(dot.x(), dot.y()) for dot in wiring.dots}) == heads.n_heads
    assert all(2 <= dot.x() <= 238 and dot.y() + 27 < wiring.height for dot in wiring.dots)


# --- score -----------------------------------------------------------------------------------------


def test_scale_on_off_and_a_value_that_comes_back(qtbot: QtBot, panel: MechanismPanel) -> None:
    number = find(panel, DragNumber, "scale_value_field")
    assert not number.isVisible()
    choose(qtbot, panel, "scale_segmented", "value")
    assert panel.store.experiment.layers[0].scale == ScaleValue(0.5)
    type_number(qtbot, number, "0.125")
    choose(qtbot, panel, "scale_segmented", "none")
    assert panel.store.experiment.layers[0].scale == NoScale()
    choose(qtbot, panel, "scale_segmented", "value")
    assert panel.store.experiment.layers[0].scale == ScaleValue(0.125)
    choose(qtbot, panel, "scale_segmented", "sqrt_d_head")
    assert panel.store.experiment.layers[0].scale == SqrtDHead()


def test_temperature_slider_is_one_entry_and_logarithmic(qtbot: QtBot, panel: MechanismPanel) -> None:
    field = find(panel, SliderField, "temperature_field")
    drag(qtbot, field.track, [(10, 0), (20, 0), (400, 0)])
    assert panel.store.experiment.layers[0].temperature == 20.0
    panel.store.undo()
    assert panel.store.experiment.layers[0].temperature == 1.0 and not panel.store.can_undo
    assert abs(field.track.handle_x() - field.track.width() / 2) < 2


def test_the_field_and_the_header_show_one_temperature(panel: MechanismPanel) -> None:
    number = next(
        one
        for one in panel.findChildren(DragNumber, "slider_number")
        if one.accessibleName() == "Temperature"
    )
    header = panel.findChild(SectionHeader, "score_header")
    assert isinstance(header, SectionHeader)
    for value, field, said in (
        (1.0, "1.00", "T 1"),
        (0.965, "0.965", "T 0.965"),
        (0.0523, "0.0523", "T 0.0523"),
    ):
        panel.store.edit_attention(lambda site, value=value: replace(site, temperature=value))
        assert number.text() == field and said in header.value().split(" · ")


def test_refused_temperature_leaves_the_document_value(qtbot: QtBot, panel: MechanismPanel) -> None:
    said: list[str] = []
    panel.store.rejected.connect(lambda error: said.append(str(error)))
    number = find(panel, SliderField, "temperature_field").number
    type_number(qtbot, number, "0")
    assert panel.store.experiment.layers[0].temperature == 1.0 and number.value() == 1.0
    assert len(said) == 1 and "0" in said[0]


def test_soft_cap_keeps_its_value_while_off(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "cap_toggle")
    assert panel.store.experiment.layers[0].cap == 30.0
    type_number(qtbot, find(panel, SliderField, "cap_field").number, "5")
    switch(qtbot, panel, "cap_toggle")
    assert panel.store.experiment.layers[0].cap is None
    switch(qtbot, panel, "cap_toggle")
    assert panel.store.experiment.layers[0].cap == 5.0


def test_normalisers_are_chosen_where_no_sink_needs_the_softmax(qtbot: QtBot, panel: MechanismPanel) -> None:
    store = panel.store
    for option in (*(row.id for row in NORMALISERS if not row.rule.is_shared), "softmax"):
        choose(qtbot, panel, "normaliser_choice", option)
        assert store.experiment.layers[0].normaliser == option
    switch(qtbot, panel, "sinks_toggle")
    assert store.experiment.layers[0].sinks == SeededSinks()
    segment = find(panel, Segmented, "normaliser_choice").findChild(QAbstractButton, "segment_sigmoid")
    assert segment is not None and not segment.isEnabled()
    assert "normaliser must be 'softmax' with attention sinks; got 'sigmoid'." in html.unescape(
        segment.toolTip()
    )
    switch(qtbot, panel, "sinks_toggle")
    choose(qtbot, panel, "normaliser_choice", "sigmoid")
    switch(qtbot, panel, "sinks_toggle")
    assert (store.experiment.layers[0].normaliser, store.experiment.layers[0].sinks) == ("sigmoid", None)


def test_a_difference_of_heads_needs_an_even_number_of_them(qtbot: QtBot, panel: MechanismPanel) -> None:
    def given() -> Differential | None:
        return panel.store.experiment.layers[0].differential

    switch(qtbot, panel, "differential_toggle")
    assert given() == Differential()
    type_number(qtbot, find(panel, SliderField, "differential_initial_field").number, "0.3")
    switch(qtbot, panel, "differential_toggle")
    assert given() is None
    switch(qtbot, panel, "differential_toggle")
    assert given() == Differential(0.3)
    switch(qtbot, panel, "differential_toggle")
    panel.store.edit_attention(set_heads, n_heads=3)
    toggle = find(panel, QAbstractButton, "differential_toggle")
    assert not toggle.isEnabled() and "even with differential attention" in toggle.toolTip()


def test_sinks_are_drawn_and_written(qtbot: QtBot, panel: MechanismPanel) -> None:
    assert not find(panel, QWidget, "sink_numbers").isVisible()
    switch(qtbot, panel, "sinks_toggle")
    type_number(qtbot, find(panel, DragNumber, "sinks_seed_field"), "7")
    drawn = np.random.default_rng(7).standard_normal(4).tolist()
    assert [find(panel, DragNumber, f"sink_{head}").value() for head in range(4)] == drawn
    type_number(qtbot, find(panel, DragNumber, "sink_2"), "1.5")
    assert panel.store.experiment.layers[0].sinks == ExplicitSinks((drawn[0], drawn[1], 1.5, drawn[3]))
    assert not find(panel, DragNumber, "sinks_seed_field").isVisible()
    type_number(qtbot, find(panel, DragNumber, "n_heads_field"), "2")
    assert panel.store.experiment.layers[0].sinks == ExplicitSinks((drawn[0], drawn[1]))
    assert not find(panel, DragNumber, "sink_2").isVisible()
    switch(qtbot, panel, "sinks_toggle")
    assert panel.store.experiment.layers[0].sinks is None
    switch(qtbot, panel, "sinks_toggle")
    assert panel.store.experiment.layers[0].sinks == ExplicitSinks((drawn[0], drawn[1]))


def test_queries_and_keys_are_normalised(qtbot: QtBot, panel: MechanismPanel) -> None:
    store = panel.store
    for kind in (row.id for row in NORM_KINDS):
        choose(qtbot, panel, "qk_norm_choice", kind)
        assert store.experiment.layers[0].qk_norm == QKNorm(kind)  # type: ignore[arg-type]
    type_number(qtbot, find(panel, DragNumber, "qk_norm_eps_field"), "0.25")
    choose(qtbot, panel, "qk_norm_choice", "rms")
    assert store.experiment.layers[0].qk_norm == QKNorm("rms", 0.25)
    choose(qtbot, panel, "qk_norm_choice", "none")
    assert store.experiment.layers[0].qk_norm is None
    assert not find(panel, DragNumber, "qk_norm_eps_field").isVisible()


def test_readout(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "readout_toggle")
    assert panel.store.experiment.readout == "similarity"


# --- mask ------------------------------------------------------------------------------------------


def test_masks_are_switched_and_drawn_together(qtbot: QtBot, panel: MechanismPanel) -> None:
    tile = find(panel, MaskTile, "mask_tile")
    switch(qtbot, panel, "causal_toggle")
    assert panel.store.experiment.layers[0].masks == (Causal(),)
    np.testing.assert_array_equal(tile.blocked_cells, np.triu(np.ones((4, 4), bool), 1))
    seen, hidden = (pixel(tile, tile.cell_rect(*cell).center()) for cell in ((2, 1), (1, 2)))
    assert seen.hue() == pytest.approx(QColor(LIGHT.accent).hue(), abs=6)
    assert hidden.saturation() < 30 < seen.saturation()
    switch(qtbot, panel, "window_toggle")
    assert panel.store.experiment.layers[0].masks == (Causal(), Window(1, 0))
    type_number(qtbot, find(panel, DragNumber, "window_left_field"), "0")
    np.testing.assert_array_equal(tile.blocked_cells, ~np.eye(4, dtype=bool))
    switch(qtbot, panel, "window_toggle")
    switch(qtbot, panel, "window_toggle")
    assert panel.store.experiment.layers[0].masks == (Causal(), Window(0, 0))


def test_padding_is_typed_live_as_one_entry(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "padding_toggle")
    assert panel.store.experiment.layers[0].masks == (Padding((3,)),)
    line = find(panel, QLineEdit, "padding_tokens_field")
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, "0-1, 2")
    assert panel.store.experiment.layers[0].masks == (Padding((0, 1, 2)),)
    assert find(panel, QLabel, "padded_tokens").text() == "Hidden keys: a, fluffy, <s>"
    assert find(panel, QLabel, "padded_tokens").textFormat() == Qt.TextFormat.PlainText
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert line.text() == "0-2"
    panel.store.undo()
    assert panel.store.experiment.layers[0].masks == (Padding((3,)),)


def test_padding_past_the_end_is_refused_and_put_back(qtbot: QtBot, panel: MechanismPanel) -> None:
    said: list[str] = []
    panel.store.rejected.connect(lambda error: said.append(str(error)))
    switch(qtbot, panel, "padding_toggle")
    line = find(panel, QLineEdit, "padding_tokens_field")
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, "9")
    assert line.property("invalid") and panel.store.experiment.layers[0].masks == (Padding((3,)),)
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert said == ["positions must be numbers from 0 to 3; got 9."]
    qtbot.keyClick(line, Qt.Key.Key_Escape)
    assert line.text() == "3" and not line.property("invalid")


def test_paint_mode_lives_in_the_store(qtbot: QtBot, panel: MechanismPanel) -> None:
    button = find(panel, QPushButton, "paint_button")
    press(qtbot, button)
    assert panel.store.pointer.paints
    panel.store.set_paint_mode(False)
    assert not button.isChecked()


def test_painted_cells_are_counted_and_cleared(qtbot: QtBot, panel: MechanismPanel) -> None:
    clear = find(panel, QPushButton, "painted_clear_button")
    assert not clear.isVisible()
    change(panel.store, masks=(Painted(((0, 1), (2, 2))),))
    assert find(panel, QLabel, "painted_count").text() == "2 painted cells"
    press(qtbot, clear)
    assert panel.store.experiment.layers[0].masks == ()


def test_placement_and_empty_rows(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "fully_masked_row_segmented", "nan")
    assert panel.store.experiment.layers[0].fully_masked_row == "nan"
    choose(qtbot, panel, "mask_placement_segmented", "after_softmax")
    assert panel.store.experiment.layers[0].mask_placement == "after_softmax"
    zeros = find(panel, Segmented, "fully_masked_row_segmented").findChild(QAbstractButton, "segment_zeros")
    assert isinstance(zeros, QAbstractButton)
    assert not zeros.isEnabled() and "after the softmax" in zeros.toolTip()


def test_the_tile_outlines_the_hovered_score(panel: MechanismPanel) -> None:
    tile = find(panel, MaskTile, "mask_tile")
    corner = tile.cell_rect(1, 2).topLeft() + QPointF(0, 6)
    before = pixel(tile, corner)
    panel.store.set_hover(Cell("weights", 1, 2))
    assert pixel(tile, corner).lightness() < before.lightness() - 40
    panel.store.set_hover(Cell("q", 1, 2))
    assert pixel(tile, corner) == before


# --- dropout, projections, memory, dtype -----------------------------------------------------------


def test_dropout(qtbot: QtBot, panel: MechanismPanel) -> None:
    seed = find(panel, DragNumber, "dropout_seed_field")
    assert not seed.isVisible()
    type_number(qtbot, find(panel, SliderField, "dropout_p_field").number, "0.25")
    type_number(qtbot, seed, "7")
    switch(qtbot, panel, "dropout_rescale_toggle")
    choose(qtbot, panel, "dropout_mode_segmented", "eval")
    dropout = panel.store.experiment.layers[0].dropout
    assert (dropout.p, dropout.seed, dropout.rescale, dropout.training) == (0.25, 7, False, False)
    type_number(qtbot, seed, "4294967295")
    assert seed.text() == "4294967295"
    panel.store.undo()
    press(qtbot, find(panel, QWidget, "dropout_seed_dice"))
    assert panel.store.experiment.layers[0].dropout.seed != 7
    panel.store.undo()
    assert panel.store.experiment.layers[0].dropout.seed == 7


def test_projection_kinds_keep_seed_and_numbers(qtbot: QtBot, panel: MechanismPanel) -> None:
    combo = find(panel, Combo, "query_projection_combo")
    seed = find(panel, DragNumber, "query_seed_field")
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    type_number(qtbot, seed, "11")
    assert panel.store.experiment.layers[0].projections.query == Seeded(11)
    drawn = np.random.default_rng(11).standard_normal((8, 16)) / np.sqrt(8)
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    explicit = panel.store.experiment.layers[0].projections.query
    assert isinstance(explicit, Explicit)
    np.testing.assert_array_equal(explicit.values.array, drawn)
    assert not seed.isVisible()
    qtbot.keyClick(combo, Qt.Key.Key_Home)
    assert panel.store.experiment.layers[0].projections.query == Identity()
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert panel.store.experiment.layers[0].projections.query == Seeded(11)


def test_ties_that_cannot_be_say_why(qtbot: QtBot, panel: MechanismPanel) -> None:
    combo = find(panel, Combo, "key_projection_combo")
    model = combo.model()
    assert isinstance(model, QStandardItemModel)
    query, value = (model.item(combo.findData(role)) for role in ("query", "value"))
    assert not query.isEnabled() and "must name a projection of" in query.toolTip()
    assert value.isEnabled()
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_End)
    for _step in range(6):
        qtbot.keyClick(combo, Qt.Key.Key_Up)
    assert combo.value() == "identity"
    for _step in range(3):
        qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert panel.store.experiment.layers[0].projections.key == Tied("value")


def test_second_sequence_is_switched_typed_and_remembered(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "memory_toggle")
    experiment = panel.store.experiment
    assert experiment.memory == Memory(experiment.tokens, experiment.vectors)
    line = find(panel, QLineEdit, "memory_text_field")
    assert line.text() == "a fluffy <s> creature"
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, "un creature")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    memory = panel.store.experiment.memory
    assert memory is not None and memory.tokens == ("un", "creature")
    # "creature" was typed letter by letter and still has the vector that it had before the typing.
    before = np.random.default_rng(0).standard_normal((4, 8))
    np.testing.assert_array_equal(vectors_array(memory.vectors)[1], before[3])
    switch(qtbot, panel, "memory_toggle")
    assert panel.store.experiment.memory is None and not line.isVisible()
    switch(qtbot, panel, "memory_toggle")
    assert panel.store.experiment.memory == memory
    choose(qtbot, panel, "memory_split_segmented", "character")
    memory = panel.store.experiment.memory
    assert memory is not None and memory.tokens[:4] == ("u", "n", " ", "c")


def test_an_empty_second_sequence_is_refused(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "memory_toggle")
    memory = panel.store.experiment.memory
    line = find(panel, QLineEdit, "memory_text_field")
    line.setFocus()
    line.selectAll()
    qtbot.keyClick(line, Qt.Key.Key_Delete)
    assert line.property("invalid") and panel.store.experiment.memory == memory
    panel.setFocus()
    assert line.text() == "a fluffy <s> creature"


def test_dtypes_that_cannot_be_had_say_why(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "dtype_segmented", "float64")
    assert panel.store.experiment.dtype == "float64"
    panel.dtype_reason = lambda dtype: "needs <Torch>" if dtype == "float16" else ""
    control = find(panel, Segmented, "dtype_segmented")
    half, single = (control.findChild(QAbstractButton, f"segment_{name}") for name in ("float16", "float32"))
    assert isinstance(half, QAbstractButton) and isinstance(single, QAbstractButton)
    assert not half.isEnabled() and "&lt;Torch&gt;" in half.toolTip() and single.isEnabled()
    press(qtbot, half)
    assert panel.store.experiment.dtype == "float64"
    speak()
    assert (
        not find(panel, Segmented, "dtype_segmented")
        .findChild(QAbstractButton, "segment_float16")
        .isEnabled()
    )


# --- the panel -------------------------------------------------------------------------------------


def test_showing_a_document_edits_nothing(panel: MechanismPanel) -> None:
    other = stacked(
        tokens=("x", "y"),
        vectors=SeededVectors(2, 4),
        heads=Heads(6, 3, 2),
        masks=(Causal(), Padding((0,)), Window(1, 1), Painted(((0, 0),))),
        scale=ScaleValue(0.3),
        cap=2.0,
        memory=Memory(("m",), SeededVectors(1, 3)),
    )
    before = panel.store.experiment
    panel.store.open(Document(other))
    speak()
    recolor(panel, DARK)
    assert panel.store.experiment == other
    panel.store.undo()
    assert panel.store.experiment == before and not panel.store.can_undo
    panel.store.redo()
    assert find(panel, DragNumber, "n_heads_field").value() == 6
    assert find(panel, Segmented, "n_kv_heads_segmented").value() == "3"
    assert find(panel, QLineEdit, "padding_tokens_field").text() == "0"
    assert find(panel, QLineEdit, "memory_text_field").text() == "m"


def test_language_is_switched_live(panel: MechanismPanel) -> None:
    def words() -> set[str]:
        headers = panel.findChildren(SectionHeader)
        return {one.text() for one in (*panel.findChildren(QLabel), *headers)} | {h.value() for h in headers}

    english = words()
    set_language("zh_CN")
    speak()
    chinese = words()
    assert "Score" in english and "分数" in chinese and "Temperature" not in chinese
    set_language("en")
    speak()
    assert words() == english


def test_every_control_has_a_name_to_be_read_aloud(panel: MechanismPanel) -> None:
    kinds: tuple[Any, ...] = (
        DragNumber,
        Segmented,
        SliderField,
        Toggle,
        Combo,
        QLineEdit,
        QPushButton,
        HeadWires,
    )
    controls = [w for kind in kinds for w in panel.findChildren(kind)]
    assert len(controls) > 35
    assert [w.objectName() for w in controls if not w.accessibleName() or not w.objectName()] == []


def test_the_wheel_over_the_column_changes_nothing(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.setFocus()
    before = panel.store.document
    for name in ("temperature_field", "query_projection_combo", "n_heads_field", "dropout_p_field"):
        widget = find(panel, QWidget, name)
        centre = QPointF(widget.rect().center())
        event = QWheelEvent(
            centre,
            QPointF(widget.mapToGlobal(centre)),
            QPoint(),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        widget.clearFocus()
        QApplication.sendEvent(widget, event)
    assert panel.store.document == before


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_nothing_is_cut_off_in_a_narrow_column(
    qtbot: QtBot, styled: None, panel: MechanismPanel, language: str
) -> None:
    panel.store.open(
        Document(
            stacked(
                tokens=("a", "b"),
                vectors=SeededVectors(2, 4),
                heads=Heads(16, 16, 32),
                position=Rope(multipliers=(2.0,)),
                masks=(Causal(), Padding((0,)), Window(10, 10), Painted(((0, 0),))),
                scale=ScaleValue(0.3),
                cap=2.0,
                dropout=Dropout(p=0.5),
                projections=Projections(query=Seeded(2**32 - 1)),
                memory=Memory(("m",), SeededVectors(1, 3)),
            )
        )
    )
    set_language(language)
    speak()
    content = find(panel, QWidget, "mechanism_content")
    qtbot.wait(20)
    panel.resize(panel.minimumWidth(), 400)
    qtbot.wait(20)
    assert content.minimumSizeHint().width() <= content.width() < panel.minimumWidth()
