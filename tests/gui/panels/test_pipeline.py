"""The strip of stages: its order, its captions, and the step that is written at each arrow."""

from __future__ import annotations

import pytest
from desk import picture
from experiments import MEMORY, SPREAD, STACKS, block, small
from first_layer import change
from msgspec.structs import replace
from panels import PanelBench
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.gui.panels.pipeline.panel import PipelinePanel, operation
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import set_language
from attnviz.model.edit.layers import set_cross, set_n_encoder_layers, set_n_layers
from attnviz.model.spec.block import Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Causal, Dropout, NoScale, QKNorm, Rope, ScaleValue
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")

STACK = set_n_layers(small(block=block("pre")), 3)
LONG = small(
    block=block("sandwich", after_1=Norm(), after_2=Norm()),
    final_norm=Norm("rms"),
    qk_norm=QKNorm("rms"),
    position=Rope(),
    cap=5.0,
    masks=(Causal(),),
)


def make(qtbot: QtBot, what: str | Document = "fluffy-blue-creature") -> PanelBench[PipelinePanel]:
    return PanelBench(qtbot, PipelinePanel, what, 640, 90)


def shown(bench: PanelBench[PipelinePanel]) -> list[Thumbnail]:
    found = [t for t in bench.panel.findChildren(Thumbnail) if t.isVisible()]
    return sorted(found, key=lambda t: t.mapTo(bench.panel, QPoint()).x())


def test_all_stages_of_every_kind_of_experiment_stand_in_order(qtbot: QtBot) -> None:
    bench = make(qtbot)
    for name, experiment in SPREAD.items():
        bench.store.open(Document(experiment))
        qtbot.waitUntil(lambda: all(t.width() > 0 for t in shown(bench)))
        stages = attnviz.run(experiment).only.stages
        bench.panel.layout().activate()
        qtbot.wait(1)
        assert [t.property("stage") for t in shown(bench)] == list(stages), name
        assert not picture(bench.panel).isNull()


def test_captions_name_the_stage_and_tips_its_formula_and_shape(qtbot: QtBot) -> None:
    bench = make(qtbot)
    (weights,) = [t for t in shown(bench) if t.property("stage") == "weights"]
    assert weights.caption == "weights"
    assert (
        weights.accessibleDescription() == f"{STAGE_BY_ID['weights'].formula}\n(head, query, key) = 4 × 4 × 4"
    )


def test_the_chosen_stage_is_marked_and_brought_into_sight(qtbot: QtBot) -> None:
    bench = make(qtbot)
    for stage in ("attention_output", "tokens_embedded"):
        bench.store.look(stage=stage)
        (chosen,) = [t for t in shown(bench) if t.isChecked()]
        assert chosen.property("stage") == stage
        qtbot.waitUntil(lambda: not chosen.visibleRegion().isEmpty())  # noqa: B023


def test_a_click_opens_a_stage(qtbot: QtBot) -> None:
    bench = make(qtbot)
    first = shown(bench)[0]
    bench.store.look(stage="tokens_embedded")
    qtbot.waitUntil(lambda: not first.visibleRegion().isEmpty())
    second = shown(bench)[1]
    QTest.mouseClick(second, Qt.MouseButton.LeftButton)
    assert bench.store.document.view.stage == "q"
    assert not bench.store.can_undo


def test_the_sources_of_a_hovered_cell_are_outlined(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.look(locked=None)
    before = {t.property("stage"): picture(t) for t in shown(bench)}
    bench.store.set_hover(Cell("scores", 1, 0, 0))
    after = {t.property("stage"): picture(t) for t in shown(bench)}
    changed = {stage for stage in before if before[stage] != after[stage]}
    assert {"q_rotated", "k_rotated", "scores", "scaled"} <= changed
    bench.store.set_hover(None)
    assert {t.property("stage"): picture(t) for t in shown(bench)} == before


def test_the_steps_say_this_experiments_numbers(qtbot: QtBot) -> None:
    bench = make(qtbot)

    def step(stage: str) -> str:
        assert bench.store.trace is not None
        return operation(bench.store.trace.only, stage)

    assert step("scaled") == "÷√4"
    change(bench.store, temperature=2.0)
    assert step("scaled") == "÷√4 ÷2"
    change(bench.store, scale=ScaleValue(0.25))
    assert step("scaled") == "×0.25 ÷2"
    change(bench.store, scale=NoScale())
    assert step("scaled") == "÷2"
    change(bench.store, dropout=Dropout(0.1))
    assert step("dropped") == "p = 0.1"


# --- layers and light -------------------------------------------------------------------------------


def test_one_attention_has_no_chooser(qtbot: QtBot) -> None:
    bench = make(qtbot)
    assert not bench.panel.sites.isVisible()


def test_a_site_is_chosen_from_the_list_or_stepped_to(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACK))
    combo = bench.find(Combo, "site_combo")
    labels = [combo.itemText(i) for i in range(combo.count())]
    assert labels == [f"layer {i} of 3 · self" for i in (1, 2, 3)]
    before, after = bench.find(QToolButton, "site_before"), bench.find(QToolButton, "site_after")
    assert not before.isEnabled()
    combo.changed.emit("layers.1.self")
    assert bench.store.document.site == "layers.1.self" and not bench.store.can_undo
    assert shown(bench)[0].property("stage") == "layer_input"
    QTest.mouseClick(after, Qt.MouseButton.LeftButton)
    assert bench.store.document.site == combo.value() == "layers.2.self" and not after.isEnabled()
    QTest.mouseClick(before, Qt.MouseButton.LeftButton)
    assert bench.store.document.site == "layers.1.self"
    bench.store.edit(set_n_layers, 1)
    assert not bench.panel.sites.isVisible() and bench.store.document.site == "layers.0.self"


def test_encoder_and_decoder_are_told_apart(qtbot: QtBot) -> None:
    both = set_n_encoder_layers(set_cross(small(memory=MEMORY), True), 2)
    bench = make(qtbot, Document(both))
    combo = bench.find(Combo, "site_combo")
    assert [combo.itemText(i) for i in range(combo.count())] == [
        "encoder 1 of 2 · self",
        "encoder 2 of 2 · self",
        "decoder 1 of 1 · self",
        "decoder 1 of 1 · cross",
    ]


def test_a_locked_cell_stays_locked_in_another_layer(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACK))
    bench.store.look(locked=Cell("weights", 2, 1), stage="weights")
    bench.store.look(site="layers.2.self")
    assert bench.store.focus == Cell("weights", 2, 1)
    (weights,) = [t for t in shown(bench) if t.property("stage") == "weights"]
    lit = picture(weights)
    bench.store.look(locked=None)
    assert picture(weights) != lit


def test_site_and_head_may_change_in_one_look(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACKS["two layers, pre"]))
    stages = {name: bench.store.trace.site(name).stages for name in bench.store.trace.sites}
    assert stages["layers.0.self"] != stages["layers.1.self"]
    with qtbot.captureExceptions() as raised:
        bench.store.look(site="layers.1.self", head=1, orientation="queries_as_columns")
    assert raised == []
    assert {t.property("stage") for t in shown(bench)} == set(stages["layers.1.self"])


def test_a_stage_under_the_mouse_elsewhere_is_marked(qtbot: QtBot) -> None:
    bench = make(qtbot)
    thumbnails = {t.property("stage"): t for t in shown(bench)}
    before = picture(thumbnails["scores"])
    bench.store.set_stage_hover("scores")
    assert picture(thumbnails["scores"]) != before
    bench.store.set_stage_hover("")
    assert picture(thumbnails["scores"]) == before
    thumbnails["q"].pointed.emit(True)
    assert bench.store.pointer.stage == "q"


def test_twenty_five_stages_scroll_and_keep_their_size(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(LONG))
    thumbnails = shown(bench)
    assert len(thumbnails) >= 25
    assert min(t.width() - t.sizeHint().width() for t in thumbnails) >= 0
    bench.store.look(stage=thumbnails[-1].property("stage"))
    qtbot.waitUntil(lambda: not thumbnails[-1].visibleRegion().isEmpty())


def test_all_layers_are_edited_alike_from_beside_the_strip(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACK))
    toggle = bench.find(Toggle, "site_alike_toggle")
    toggle.changed.emit(True)
    assert bench.store.pointer.edits_alike and toggle.value()
    bench.store.edit_attention(lambda e: replace(e, cap=4.0))
    assert [layer.cap for layer in bench.store.experiment.layers] == [4.0] * 3
    bench.store.set_edits_alike(False)
    assert not toggle.value()
    bench.store.open(Document(set_cross(small(memory=MEMORY), True)))
    assert not toggle.isEnabled() and "No other layer has such an attention" in toggle.toolTip()


def test_the_steps_at_the_arrows_change_language_with_everything_else(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(small(masks=(Causal(),))))
    steps = bench.panel._steps
    try:
        set_language("zh_CN")
        bench.panel.retranslate()
        assert steps["masked"].text == "掩码"
    finally:
        set_language("en")
    bench.panel.retranslate()
    assert steps["masked"].text == "mask"
