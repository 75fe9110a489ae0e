"""The strip of stages: its order, its captions, and the step that is written at each arrow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from desk import picture
from experiments import SPREAD, STACKS, block, small
from first_layer import change
from msgspec.structs import replace
from panels import PanelBench
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.gui.look.words import speak
from attnviz.gui.panels.pipeline.pipeline import MAY_BE_LAST, PipelinePanel, folds, operation
from attnviz.gui.panels.pipeline.strip import FoldTile, Gap
from attnviz.gui.store import Store
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.i18n import set_language
from attnviz.model.edit import edits
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.spec.block import Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Dropout, NoScale, QKNorm, Rope, ScaleValue
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID

STACK = set_n_layers(small(block=block("pre")), 3)
EXPLORE = 776
"""Width of the strip in a window of 1280 pixels."""
LONG = small(
    block=block("sandwich", after_1=Norm(), after_2=Norm()),
    final_norm=Norm("rms"),
    qk_norm=QKNorm("rms"),
    position=Rope(),
    cap=5.0,
    masks=(Causal(),),
)


def make(qtbot: QtBot, what: str | Document = "fluffy-blue-creature") -> PanelBench[PipelinePanel]:
    return PanelBench(qtbot, PipelinePanel, what, EXPLORE, 56)


def shown(bench: PanelBench[PipelinePanel]) -> list[Thumbnail]:
    found = [t for t in bench.panel.findChildren(Thumbnail) if t.isVisible()]
    return sorted(found, key=lambda t: t.mapTo(bench.panel, QPoint()).x())


def tiles(bench: PanelBench[PipelinePanel]) -> list[FoldTile]:
    found = [tile for tile in bench.panel.findChildren(FoldTile) if tile.isVisible()]
    return sorted(found, key=lambda tile: tile.mapTo(bench.panel, QPoint()).x())


def in_order(bench: PanelBench[PipelinePanel]) -> list[str]:
    """The stages from left to right, with those behind tiles."""
    parts = [(t.mapTo(bench.panel, QPoint()).x(), (t.property("stage"),)) for t in shown(bench)]
    parts += [(tile.mapTo(bench.panel, QPoint()).x(), tile.stages) for tile in tiles(bench)]
    return [stage for _x, stages in sorted(parts) for stage in stages]


def stripped(preset: str) -> Experiment:
    """The experiment of a preset without its masks."""
    experiment = load_preset(preset).experiment
    layers = tuple(replace(layer, masks=()) for layer in experiment.layers)
    return replace(experiment, layers=layers)


def test_all_stages_of_every_kind_of_experiment_stand_in_order(qtbot: QtBot) -> None:
    bench = make(qtbot)
    for name, experiment in SPREAD.items():
        bench.store.open(Document(experiment))
        qtbot.waitUntil(lambda: all(t.width() > 0 for t in shown(bench)))
        stages = attnviz.run(experiment).only.stages
        qtbot.wait(1)
        assert in_order(bench) == list(stages), name
        assert not picture(bench.panel).isNull()


def test_captions_name_the_stage_and_tips_its_formula_and_shape(qtbot: QtBot) -> None:
    bench = make(qtbot)
    (weights,) = [t for t in shown(bench) if t.property("stage") == "weights"]
    assert weights.caption == "weights"
    assert (
        weights.accessibleDescription()
        == f"weights\n{STAGE_BY_ID['weights'].formula}\n(head, query, key) = 4 × 4 × 4"
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


def test_a_key_on_a_stage_that_has_left_the_strip_changes_nothing(qtbot: QtBot) -> None:
    bench = make(qtbot, "multi-head-latent")
    left = next(thumbnail for thumbnail in shown(bench) if thumbnail.property("stage") == "latent")
    bench.store.open(load_preset("toy-attention"))
    assert left.isHidden()
    stage = bench.store.document.view.stage
    qtbot.keyClick(left, Qt.Key.Key_Down)
    assert bench.store.document.view.stage == stage


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
    assert in_order(bench) == list(stages["layers.1.self"])


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


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_strip_never_scrolls_at_1280_and_is_low(qtbot: QtBot, language: str) -> None:
    set_language(language)
    try:
        bench = make(qtbot, Document(LONG))
        for name, experiment in {**SPREAD, "long": LONG}.items():
            bench.store.open(Document(experiment))
            qtbot.wait(1)
            assert bench.panel._strip.width() <= EXPLORE, name
            parts = [*shown(bench), *tiles(bench)]
            rects = sorted((t.mapTo(bench.panel, QPoint()).x(), t.width()) for t in parts)
            assert rects[0][0] >= 0 and sum(rects[-1]) <= EXPLORE
            ends = [x + width for x, width in rects]
            assert all(end <= x for end, (x, _width) in zip(ends, rects[1:], strict=False)), name
            assert bench.panel.sizeHint().height() <= 56
    finally:
        set_language("en")


def test_a_tile_unfolds_by_a_click_and_others_fold(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(LONG))
    qtbot.wait(1)
    tile = max(tiles(bench), key=lambda tile: len(tile.stages))
    hidden = tile.stages
    assert tile.text() == f"+{len(hidden)}" and len(hidden) > 2
    assert all(STAGE_BY_ID[stage].title in tile.toolTip() for stage in hidden)
    assert not set(hidden) & {t.property("stage") for t in shown(bench)}
    QTest.mouseClick(tile, Qt.MouseButton.LeftButton)
    assert set(hidden) <= {t.property("stage") for t in shown(bench)}
    assert in_order(bench) == list(attnviz.run(LONG).only.stages)


def test_the_chosen_stage_is_never_folded(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(LONG))
    for stage in attnviz.run(LONG).only.stages:
        bench.store.look(stage=stage)
        (chosen,) = [t for t in shown(bench) if t.isChecked()]
        assert chosen.property("stage") == stage and bench.panel._strip.width() <= EXPLORE


def test_a_wide_strip_folds_nothing(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(LONG))
    bench.panel.resize(2200, 56)
    qtbot.wait(1)
    assert tiles(bench) == [] and len(shown(bench)) >= 25


@pytest.mark.parametrize(("preset", "width"), [("sinusoidal", 900), ("stories-en", 1900)])
def test_a_mask_that_is_switched_moves_no_thumbnail_where_its_place_fits(
    qtbot: QtBot, preset: str, width: int
) -> None:
    """A thumbnail under the pointer stays under it."""
    bench = PanelBench(qtbot, PipelinePanel, Document(stripped(preset)), width, 56)

    def middle(stage: str) -> float:
        (found,) = [t for t in shown(bench) if t.property("stage") == stage]
        return found.mapTo(bench.panel, found.rect().center()).x()

    def places() -> dict[str, float]:
        return {t.property("stage"): middle(t.property("stage")) for t in shown(bench)}

    qtbot.wait(1)
    before = places()
    change(bench.store, masks=(Causal(),))
    qtbot.wait(1)
    after = places()
    assert "masked" in after and "masked" not in before
    moved = {stage: abs(after[stage] - before[stage]) for stage in before if stage in after}
    assert set(moved) == set(before) and max(moved.values()) <= 1


@pytest.mark.parametrize(("width", "n_gaps"), [(1000, 0), (1100, 0), (1900, 1)])
def test_no_place_is_kept_free_beside_a_folded_stage(qtbot: QtBot, width: int, n_gaps: int) -> None:
    bench = PanelBench(qtbot, PipelinePanel, Document(stripped("stories-en")), width, 56)
    qtbot.wait(1)
    assert len([gap for gap in bench.panel.findChildren(Gap) if gap.isVisible()]) == n_gaps
    assert (tiles(bench) == []) == (n_gaps == 1)


@pytest.mark.parametrize("width", [710, EXPLORE, 900])
def test_captions_are_whole_before_a_place_is_kept_free(qtbot: QtBot, width: int) -> None:
    bench = PanelBench(qtbot, PipelinePanel, Document(load_preset("xiaoshenyang").experiment), width, 56)
    qtbot.wait(1)
    pictures = shown(bench)
    assert {t.caption for t in pictures} >= {"token vectors", "concatenated", "attention output"}
    assert [t.caption for t in pictures if t.width() < t.whole_width()] == []


def test_every_stage_folds_or_stays() -> None:
    groups = folds()
    assert list(groups) == list(range(1, max(groups) + 1)) and min(groups) < MAY_BE_LAST <= max(groups)
    stay = set(STAGE_BY_ID) - frozenset().union(*groups.values())
    assert {"weights", "attention_output", "probabilities"} <= stay


def test_stages_for_which_another_language_has_room_are_painted(qtbot: QtBot) -> None:
    bench, fresh = (PanelBench(qtbot, PipelinePanel, "fluffy-blue-creature", 720, 56) for _ in range(2))
    before = {thumbnail.property("stage") for thumbnail in shown(bench)}
    change(bench.store, temperature=2.0)
    set_language("zh_CN")
    try:
        speak()
        change(fresh.store, temperature=2.0)
        assert {thumbnail.property("stage") for thumbnail in shown(bench)} > before
        assert list(map(picture, shown(bench))) == list(map(picture, shown(fresh)))
    finally:
        set_language("en")


def test_the_steps_at_the_arrows_change_language_with_everything_else(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(small(masks=(Causal(),))))
    steps = bench.panel._steps
    try:
        set_language("zh_CN")
        speak()
        assert steps["masked"].text == "掩码"
    finally:
        set_language("en")
    speak()
    assert steps["masked"].text == "mask"


def test_captions_that_are_kept_are_those_of_a_fresh_strip(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACK))
    drawn = np.random.default_rng(4)
    acts: list[Callable[[Store], object]] = [
        lambda store: store.edit(edits.set_vector_cell, 0, 0, float(drawn.normal())),
        lambda store: store.edit_attention(
            lambda site: replace(site, temperature=float(drawn.integers(1, 4)))
        ),
        lambda store: store.edit_attention(lambda site: replace(site, scale=NoScale())),
        lambda store: store.look(site=f"layers.{drawn.integers(3)}.self"),
        lambda store: store.edit(set_n_layers, int(drawn.integers(1, 4))),
        lambda store: store.open(Document(drawn.choice(np.array([*SPREAD.values()], object)))),
    ]
    for _time in range(40):
        acts[0 if drawn.random() < 0.4 else drawn.integers(len(acts))](bench.store)
        fresh = make(qtbot, bench.store.document)
        assert said(bench) == said(fresh)
    assert not bench.refused


def said(bench: PanelBench[PipelinePanel]) -> list[tuple[str, str, str]]:
    return [(t.property("stage"), t.caption, t.accessibleDescription()) for t in shown(bench)]
