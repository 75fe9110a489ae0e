"""The strip of stages: its order, its captions, and the step that is written at each arrow."""

from __future__ import annotations

import pytest
from desk import picture
from experiments import SPREAD
from panels import PanelBench
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.gui.panels.pipeline import PipelinePanel, operation
from attnviz.gui.widgets.thumbnail import Thumbnail
from attnviz.model.document import Document
from attnviz.model.parts import Dropout, NoScale, ScaleValue
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.view import Cell

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")


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
        (chosen,) = [t for t in shown(bench) if t.is_selected]
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
    bench.store.change(temperature=2.0)
    assert step("scaled") == "÷√4 ÷2"
    bench.store.change(scale=ScaleValue(0.25))
    assert step("scaled") == "×0.25 ÷2"
    bench.store.change(scale=NoScale())
    assert step("scaled") == "÷2"
    bench.store.change(dropout=Dropout(0.1))
    assert step("dropped") == "p = 0.1"
