"""The block as a diagram: a box for every stage, wires that cross none, and one light in all panels."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from desk import picture
from experiments import SPREAD, block, small
from first_layer import change
from panels import PanelBench, recolor
from pointer import move, press, release
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtWidgets import QApplication, QScrollArea
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.explain.formulas.symbols import Part
from attnviz.gui.look.theme import DARK
from attnviz.gui.panels.block import BlockPanel
from attnviz.gui.widgets.formula_line import FormulaLine
from attnviz.gui.widgets.pictures import block_layout
from attnviz.gui.widgets.pictures.block_diagram import HIGHEST, LOWEST
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.spec.block import Block
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.stages import inputs

FULL = small(block=block("pre"))


def make(qtbot: QtBot, what: str | Document | None = None) -> PanelBench[BlockPanel]:
    return PanelBench(qtbot, BlockPanel, Document(FULL) if what is None else what, 780, 160)


def rect(bench: PanelBench[BlockPanel], stage: str) -> QRectF:
    return QRectF(bench.panel.diagram.box(stage).geometry())


def crosses(first: QPointF, last: QPointF, box: QRectF) -> bool:
    """True if an upright or level line runs through the inside of a box."""
    line = QRectF(first, last).normalized().adjusted(-0.1, -0.1, 0.1, 0.1)
    return line.intersects(box.adjusted(2, 2, -2, -2))


@pytest.mark.parametrize("name", SPREAD)
def test_every_stage_has_a_box_of_its_own_and_no_wire_crosses_one(name: str) -> None:
    stages = attnviz.run(SPREAD[name]).only.stages
    placed = block_layout.slots(stages)
    rects = block_layout.boxes(placed, dict.fromkeys(stages, 80.0), dict.fromkeys(range(4), 28.0))
    assert not [pair for pair in combinations(stages, 2) if rects[pair[0]].intersects(rects[pair[1]])]
    wires = block_layout.wires(stages, placed, rects)
    wanted = {(source, stage) for stage in stages for source in inputs(stage, stages)}
    assert {(wire.source, wire.target) for wire in wires} == wanted - {("tokens_embedded", "logits")}
    for wire in wires:
        assert wire.points[0].x() == rects[wire.source].right()
        assert wire.points[-1].x() <= rects[wire.target].left()
        for first, last in pairwise(wire.points):
            assert first.x() == last.x() or first.y() == last.y()
            assert not [s for s in stages if crosses(first, last, rects[s])], (wire.source, wire.target)


def test_queries_run_above_keys_and_values_below() -> None:
    stages = attnviz.run(SPREAD["rms"]).only.stages
    placed = block_layout.slots(stages)
    lanes = {stage: placed[stage].lane for stage in stages}
    assert lanes["q_rotated"] < lanes["k_rotated"] == lanes["scores"] < lanes["v"]


@pytest.mark.parametrize(
    ("placement", "order"),
    [
        ("pre", ["norm_1", "q", "residual_1", "norm_2", "ffn_output", "residual_2"]),
        ("post", ["q", "residual_1", "norm_1", "ffn_output", "residual_2", "norm_2"]),
    ],
)
def test_norms_stand_in_their_place(qtbot: QtBot, placement: str, order: list[str]) -> None:
    bench = make(qtbot, Document(small(block=block(placement))))
    assert sorted(order, key=lambda stage: rect(bench, stage).x()) == order


def test_a_parallel_feed_forward_layer_runs_below_the_attention(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(small(block=block("parallel"))))
    assert rect(bench, "ffn_output").top() > rect(bench, "v").bottom()
    assert rect(bench, "residual_2").left() > rect(bench, "ffn_output").right()


def test_residual_connections_pass_over_the_top(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bypasses = {wire.source: wire.target for wire in bench.panel.diagram.wires if wire.is_bypass}
    assert bypasses == {"tokens_embedded": "residual_1", "residual_1": "residual_2"}
    top = min(rect(bench, stage).top() for stage in bench.panel.diagram.stages)
    for wire in bench.panel.diagram.wires:
        assert (min(p.y() for p in wire.points) < top) == wire.is_bypass


def test_boxes_say_name_and_shape(qtbot: QtBot) -> None:
    bench = make(qtbot)
    weights = bench.panel.diagram.box("weights")
    assert weights.accessibleName() == "weights"
    assert "(head, query, key) = 1 × 5 × 5" in weights.accessibleDescription()
    gate = bench.panel.diagram.box("ffn_gate")
    assert "(query, feature) = 5 × 5" in gate.accessibleDescription()
    assert gate.width() >= gate.sizeHint().width()


def test_a_click_and_a_key_look_at_a_stage(qtbot: QtBot) -> None:
    bench = make(qtbot)
    qtbot.mouseClick(bench.panel.diagram.box("norm_1"), Qt.MouseButton.LeftButton)
    assert bench.store.document.view.stage == "norm_1"
    assert bench.panel.diagram.box("norm_1").isChecked()
    box = bench.panel.diagram.box("residual_2")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert bench.store.document.view.stage == "residual_2"
    qtbot.waitUntil(lambda: not box.visibleRegion().isEmpty())


def test_the_diagram_is_one_tab_stop_and_arrows_follow_the_data_flow(qtbot: QtBot) -> None:
    bench = make(qtbot)
    change(bench.store, block=Block())
    change(bench.store, block=FULL.layers[0].block)
    diagram = bench.panel.diagram
    bench.store.look(stage=diagram.stages[0])
    for stage, following in pairwise(diagram.stages):
        stops = [s for s in diagram.stages if diagram.box(s).focusPolicy() & Qt.FocusPolicy.TabFocus]
        assert stops == [stage]
        qtbot.keyClick(diagram.box(stage), Qt.Key.Key_Right)
        assert bench.store.document.view.stage == following
    qtbot.keyClick(diagram.box(following), Qt.Key.Key_Right)
    assert bench.store.document.view.stage == following


def test_the_mouse_on_a_box_lights_its_symbols_and_the_other_way_round(qtbot: QtBot) -> None:
    bench = make(qtbot)
    box, formula = bench.panel.diagram.box("norm_2"), bench.panel.formulas[2]
    before = picture(box), picture(formula)
    box.pointed.emit(True)
    assert bench.store.pointer.stage == "norm_2" and formula.lit == "norm_2"
    assert picture(formula) != before[1]
    box.pointed.emit(False)
    assert bench.store.pointer.stage == "" and (picture(box), picture(formula)) == before
    at = next(r.center() for part, r in formula.part_rects() if part.stage == "norm_2").toPoint()
    move(formula, at, held=False)
    assert bench.store.pointer.stage == "norm_2" and picture(box) != before[0]
    press(formula, at)
    release(formula, at)
    assert bench.store.document.view.stage == "norm_2"
    QApplication.sendEvent(formula, QEvent(QEvent.Type.Leave))
    assert bench.store.pointer.stage == ""


def test_a_symbol_out_of_sight_is_scrolled_to(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.panel.resize(300, 160)
    formula = bench.panel.formulas[2]
    qtbot.waitUntil(lambda: formula.width() >= formula.sizeHint().width())
    assert formula.visibleRegion().isEmpty()
    bench.store.set_stage_hover("ffn_output")
    last = formula.part_rects()[-1]
    assert last[0].stage == "ffn_output"
    assert formula.visibleRegion().contains(last[1].center().toPoint())


def test_a_formula_that_is_squeezed_ends_in_dots(qtbot: QtBot) -> None:
    formula = FormulaLine("squeezed")
    qtbot.addWidget(formula)
    formula.set_parts((Part("softmax("), Part("q kᵀ", "scores"), Part(")"), Part(" v W_O", "mixed")))
    formula.resize(formula.sizeHint().width(), 20)
    assert [part.text for part, _rect in formula.part_rects()][-1] == " v W_O"
    formula.resize(formula.sizeHint().width() - 10, 20)
    parts = [part for part, _rect in formula.part_rects()]
    assert (parts[-1].text, parts[-1].stage) == ("…", "")
    assert formula.text() in formula.toolTip() and formula.accessibleName() == formula.text()


def test_hovered_cells_light_their_sources(qtbot: QtBot) -> None:
    bench = make(qtbot)
    box = bench.panel.diagram.box("norm_1")
    before = picture(box)
    bench.store.set_hover(Cell("q", 1, 1))
    assert picture(box) != before
    bench.store.set_hover(None)
    assert picture(box) == before


def test_boxes_grow_with_the_room(qtbot: QtBot) -> None:
    bench = make(qtbot)
    box = bench.panel.diagram.box("weights")
    heights = []
    for height in (90, 180, 400):
        bench.panel.resize(780, height)
        heights.append(box.height())
        last = max(rect(bench, stage).bottom() for stage in bench.panel.diagram.stages)
        assert height == 90 or last < height - 20
    assert heights[0] == LOWEST < heights[1] < heights[2] == HIGHEST


def test_in_a_tall_place_data_flow_downwards_and_all_of_it_is_in_sight(qtbot: QtBot) -> None:
    bench = make(qtbot)
    wide = {stage: rect(bench, stage) for stage in bench.panel.diagram.stages}
    bench.panel.resize(420, 1000)
    diagram, inside = bench.panel.diagram, bench.find(QScrollArea, "block_scroll").viewport().rect()
    assert diagram.is_turned
    stages, tall = diagram.stages, {stage: rect(bench, stage) for stage in diagram.stages}
    assert not [pair for pair in combinations(stages, 2) if tall[pair[0]].intersects(tall[pair[1]])]
    for stage in stages:
        assert QRectF(inside).contains(tall[stage])
        assert all(tall[source].bottom() < tall[stage].top() for source in inputs(stage, stages))
    assert tall["q"].right() < tall["k"].left() < tall["k"].right() < tall["v"].left()
    for wire in diagram.wires:
        assert abs(wire.points[0].y() - tall[wire.source].bottom()) <= 1
        for first, last in pairwise(wire.points):
            assert not [s for s in stages if crosses(first, last, tall[s])], (wire.source, wire.target)
    lines = [formula.geometry() for formula in bench.panel.formulas]
    assert lines[0].bottom() < lines[1].top() and lines[1].bottom() < lines[2].top()
    assert max(line.right() for line in lines) <= bench.panel.width()
    bench.panel.resize(780, 160)
    assert not diagram.is_turned
    assert {stage: rect(bench, stage) for stage in stages} == wide


@pytest.mark.parametrize("size", [(320, 640), (336, 330), (264, 620), (240, 700)])
def test_a_narrow_place_shows_several_stages_below_one_another(qtbot: QtBot, size: tuple[int, int]) -> None:
    bench = make(qtbot)
    bench.panel.resize(*size)
    diagram, inside = bench.panel.diagram, bench.find(QScrollArea, "block_scroll").viewport().rect()
    assert diagram.is_turned
    tall = {stage: rect(bench, stage) for stage in diagram.stages}
    assert max(box.right() for box in tall.values()) <= inside.right()
    for box in map(diagram.box, diagram.stages):
        assert box.width() >= box.sizeHint().width()
    assert sum(QRectF(inside).contains(box) for box in tall.values()) >= 5


def test_formulas_wrap_in_a_narrow_place_and_all_of_their_parts_are_in_sight(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.panel.resize(264, 620)
    for formula in bench.panel.formulas:
        rects = [rect for _part, rect in formula.part_rects()]
        assert "".join(part.text for part, _rect in formula.part_rects()) == formula.text()
        assert all(QRectF(formula.rect()).adjusted(0, 0, 1, 1).contains(rect) for rect in rects)
    assert len({rect.top() for _part, rect in bench.panel.formulas[2].part_rects()}) > 1
    last, place = bench.panel.formulas[2].part_rects()[-1]
    assert bench.panel.formulas[2].stage_at(place.center()) == last.stage == "ffn_output"
    assert bench.panel.formulas[1].text().startswith("y = ")
    bench.panel.resize(780, 160)
    assert len({rect.top() for _part, rect in bench.panel.formulas[2].part_rects()}) == 1


def test_another_layer_has_its_own_boxes(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(set_n_layers(FULL, 2)))
    bench.store.look(site="layers.1.self")
    assert bench.panel.diagram.stages[0] == "layer_input"
    assert not bench.panel.diagram.box("tokens_embedded").isVisible()


def test_under_another_tab_the_diagram_rests_and_then_catches_up(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.panel.set_seen(False)
    change(bench.store, block=None)
    assert "residual_1" in bench.panel.diagram.stages
    bench.store.look(stage="scores", locked=Cell("residual_1", 0, 0))
    bench.store.set_stage_hover("scores")
    bench.panel.set_seen(True)
    assert "residual_1" not in bench.panel.diagram.stages
    assert not bench.panel.formulas[2].isVisible()


def test_a_box_that_goes_leaves_the_keyboard(qtbot: QtBot) -> None:
    """A key would reach it, although its stage has no place in the flow any more."""
    bench = make(qtbot)
    diagram, box = bench.panel.diagram, bench.panel.diagram.box("residual_1")
    box.setFocus()
    assert diagram.window().focusWidget() is box
    diagram.hide()  # as under another tab
    diagram.set_stages(tuple(stage for stage in diagram.stages if stage != "residual_1"), {})
    assert diagram.window().focusWidget() is not box


def test_data_flows_to_the_right_in_every_language(qtbot: QtBot) -> None:
    bench = make(qtbot)
    places = [rect(bench, stage).x() for stage in bench.panel.diagram.stages]
    bench.panel.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    bench.panel.resize(900, 160)
    assert [rect(bench, stage).x() for stage in bench.panel.diagram.stages] == places
    assert bench.panel.diagram.mapTo(bench.panel, QPoint()).x() <= 0


def test_the_other_colours(qtbot: QtBot) -> None:
    bench = make(qtbot)
    before = picture(bench.panel)
    recolor(bench.panel, DARK)
    assert picture(bench.panel) != before
