"""The panels of the decoding: they show what the player has, step by step, and say when it has nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from decoding_room import DecodingRoom
from experiments import STACKS
from first_layer import change, with_fields
from msgspec.structs import replace
from panels import PanelBench
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QSlider, QToolButton
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.decoding import decode_and_compare
from attnviz.engines.program import never_cancelled
from attnviz.gui.panels.decoding.caches.strip import WeightStrip
from attnviz.gui.panels.decoding.draws import DrawsPanel
from attnviz.gui.panels.decoding.next.next import NextPanel
from attnviz.gui.panels.decoding.next.rows import NextRows
from attnviz.gui.player import Expect, GoBy, GoTo
from attnviz.gui.widgets.elided_label import ElidedLabel, WholeLabel
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.i18n import language
from attnviz.model.edit.edits import set_heads, set_n_tokens
from attnviz.model.edit.generation import force, set_stop
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, ExplicitVectors, NoPosition, Padding, Projections
from attnviz.model.spec.view import Cell


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[DecodingRoom]:
    made = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    give(made)
    return made


def give(bench: PanelBench[Any]) -> None:
    bench.store.set_decoded(decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0))


def button(bench: PanelBench[DecodingRoom], name: str) -> QToolButton:
    return bench.find(QToolButton, f"decode_{name}")


def test_without_a_decoding_it_says_so_and_nothing_can_be_pressed(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    assert bench.find(QLabel, "decode_empty").isVisible()
    for name in ("first", "step_back", "play", "step_forward", "last"):
        assert not button(bench, name).isEnabled()
    bench.panel.toggle_play()
    assert not bench.panel.is_playing
    bench.panel.toggle_play()  # and not with one, either
    give(bench)
    assert not bench.panel.is_playing
    assert not bench.find(QLabel, "decode_empty").isVisible() and button(bench, "play").isEnabled()


def test_a_decoding_that_is_taken_away_leaves_no_numbers(bench: PanelBench[DecodingRoom]) -> None:
    bench.panel.toggle_play()
    bench.store.set_decoded(None)
    assert bench.find(QLabel, "decode_empty").isVisible()
    assert bench.find(QLabel, "decode_where").text() == ""
    QTest.qWait(0)
    bench.panel.toggle_play()
    assert not bench.panel.is_playing


def test_the_first_rows_of_the_next_token_are_those_around_the_chosen_one(qtbot: QtBot) -> None:
    document = load_preset("stories-name")
    experiment = set_stop(document.experiment, length=1)
    assert experiment.vocabulary is not None
    rare = experiment.vocabulary.tokens[-1]
    experiment = force(experiment, experiment.n_queries, rare)
    bench = PanelBench(qtbot, NextPanel, replace(document, experiment=experiment), 400, 200)
    give(bench)
    bench.store.play(GoTo(experiment.n_queries - 1))
    rows = bench.find(NextRows, "decode_next")
    (chosen,) = (place for place, row in enumerate(rows.rows) if row.is_chosen)
    middle = rows.row_rect(chosen).center().toPoint()
    qtbot.waitUntil(lambda: rows.visibleRegion().contains(middle), timeout=500)


def test_the_list_of_next_tokens_begins_with_a_whole_row(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, NextPanel, load_preset("stories-name"), 400, 200)
    give(bench)
    rows = bench.find(NextRows, "decode_next")
    qtbot.waitUntil(lambda: rows.rows and rows.height() > 200)
    (chosen,) = (place for place, row in enumerate(rows.rows) if row.is_chosen)
    assert chosen == 0
    bar = bench.panel._scroll.verticalScrollBar()
    bar.setValue(int(rows.row_rect(0).height() / 2))
    bench.panel.show_step()
    qtbot.waitUntil(lambda: bar.value() == 0)


EMPTY = (
    (DecodingRoom, "decode_empty"),
    (DecodingRoom, "decode_next_empty"),
    (DecodingRoom, "decode_caches_empty"),
    (DecodingRoom, "decode_parity"),
    (DrawsPanel, "empty_state_text"),
)
"""The lines of the panels that say why they are empty."""


@pytest.mark.parametrize(("kind", "name"), EMPTY)
def test_an_empty_panel_says_that_a_decoding_is_due_and_no_longer_than_it_is(
    qtbot: QtBot, kind: type[DecodingRoom] | type[DrawsPanel], name: str
) -> None:
    none, due = "No tokens have been generated yet.", "Decoding…"
    bench = PanelBench(qtbot, kind, "causal-decode", 1300, 900)
    line = bench.find(QLabel, name)

    def words() -> str:
        assert line.isVisible()
        return line.text()

    assert words() == none
    bench.store.play(Expect(True))
    assert words() == due
    bench.store.play(Expect(False))
    assert words() == none
    bench.store.play(Expect(True))
    give(bench)
    assert line.isHidden() or line.text() not in (none, due)
    bench.store.set_decoded(None)
    assert words() == none
    with language("zh_CN"):
        bench.store.play(Expect(True))
        assert words() == "正在解码…"
        bench.panel.set_seen(False)
        bench.store.play(Expect(False))
        bench.panel.set_seen(True)
        assert words() == "尚未生成词元。"


def test_one_step_has_nothing_to_play(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_n_tokens, 1)
    give(bench)
    assert not button(bench, "play").isEnabled()
    assert bench.find(QLabel, "decode_where").text().startswith("step 1 of 1")


def test_the_chosen_head_and_its_key_value_head_are_shown(bench: PanelBench[DecodingRoom]) -> None:
    bench.store.edit_attention(set_heads, n_heads=4, n_kv_heads=2)
    give(bench)
    bench.panel.go_to_end()
    pictures = []
    for head in range(4):
        bench.store.look(head=head)
        pictures.append(bench.find(RowMatrix, "k_cache").grab().toImage())
    assert pictures[0] == pictures[1] and pictures[2] == pictures[3] and pictures[0] != pictures[2]


def test_the_speed_sets_the_pace(bench: PanelBench[DecodingRoom], qtbot: QtBot) -> None:
    bench.panel.go_to(0)
    QTest.mouseClick(button(bench, "play"), Qt.MouseButton.LeftButton)
    bench.find(DragNumber, "decode_speed").changed.emit(16.0)
    assert bench.store.player.speed == 16.0
    qtbot.waitUntil(lambda: bench.store.document.view.step >= 2, timeout=3000)
    QTest.mouseClick(button(bench, "play"), Qt.MouseButton.LeftButton)
    assert not bench.panel.is_playing


def test_the_slider_follows_and_leads(bench: PanelBench[DecodingRoom]) -> None:
    slider = bench.find(QSlider, "decode_scrubber")
    bench.store.look(step=1)
    assert slider.value() == 1
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert bench.store.document.view.step == 2
    QTest.keyClick(slider, Qt.Key.Key_End)
    assert bench.store.document.view.step == bench.store.experiment.n_queries - 1
    assert not bench.store.can_undo


def test_a_step_past_the_end_of_a_file_is_the_last_one(bench: PanelBench[DecodingRoom]) -> None:
    bench.store.look(step=999)
    n = bench.store.experiment.n_queries
    assert bench.find(QLabel, "decode_where").text().startswith(f"step {n} of {n}")
    bench.store.play(GoBy(-1))
    assert bench.store.document.view.step == n - 2


# --- several attentions ----------------------------------------------------------------------------


@pytest.fixture
def stack(bench: PanelBench[DecodingRoom]) -> PanelBench[DecodingRoom]:
    bench.store.open(Document(STACKS["encoder and decoder"]))
    bench.store.set_trace(attnviz.run(bench.store.experiment))
    give(bench)
    bench.panel.go_to(3)
    return bench


def where(bench: PanelBench[DecodingRoom]) -> str:
    return bench.find(QLabel, "decode_where").text()


def test_the_site_that_is_looked_at_is_the_one_that_is_shown(stack: PanelBench[DecodingRoom]) -> None:
    weights, keys = stack.find(WeightStrip, "decode_weights"), stack.find(RowMatrix, "k_cache")
    assert where(stack) == "step 4 of 5 · “<s>” · decoder 1 of 2 · self"
    assert (len(weights.values), keys.accessibleName()) == (4, "K cache · 3 + 1")
    QTest.mouseClick(stack.find(QAbstractButton, "segment_token"), Qt.MouseButton.LeftButton)
    pictures = {}
    for site, text, rows, title in (
        ("decoder.0.cross", "decoder 1 of 2 · cross", 3, "K cache · 3 + 0"),
        ("decoder.1.self", "decoder 2 of 2 · self", 4, "K cache · 3 + 1"),
        ("decoder.1.cross", "decoder 2 of 2 · cross", 3, "K cache · 3 + 0"),
    ):
        stack.store.look(site=site)
        assert where(stack).endswith(f"· {text}")
        assert (len(weights.values), keys.accessibleName()) == (rows, title)
        # Keys and values of the memory exist before the first step: a token computes none.
        assert stack.find(RowMatrix, "decode_k").isVisible() == site.endswith("self")
        pictures[site] = stack.find(RowMatrix, "decode_q").grab().toImage()
    assert pictures["decoder.0.cross"] != pictures["decoder.1.cross"]


def test_the_first_step_appends_the_memory_and_reads_none_of_it(stack: PanelBench[DecodingRoom]) -> None:
    keys = stack.find(RowMatrix, "k_cache")
    stack.store.look(site="decoder.0.cross")
    stack.panel.go_to(0)
    assert keys.accessibleName() == "K cache · 0 + 3"
    assert keys.accessibleDescription() == "0 rows read from the cache, 3 appended"
    stack.panel.go_to(1)
    assert keys.accessibleName() == "K cache · 3 + 0"


def test_an_encoder_takes_no_steps(stack: PanelBench[DecodingRoom]) -> None:
    stack.store.look(site="encoder.1.self")
    assert where(stack).endswith("· decoder 1 of 2 · self")


def test_the_next_token_and_the_counts_are_the_whole_models(stack: PanelBench[DecodingRoom]) -> None:
    decoded = stack.store.player.decoded
    assert decoded is not None
    cached, uncached = decoded.decoding.total(3)
    shown = []
    for site in decoded.decoding.steps[0].sites:
        stack.store.look(site=site)
        shown.append(stack.find(NextRows, "decode_next").grab().toImage())
        for which, cost in (("plain", uncached), ("cached", cached)):
            text = stack.find(QLabel, f"count_flops_{which}").text()
            assert int(text.replace("\u202f", "")) == cost.flops
    assert all(picture == shown[0] for picture in shown)
    assert stack.find(QLabel, "count__name").text() == "all steps, all attentions"
    heading, *lines = stack.find(QLabel, "decode_parity").toolTip().splitlines()
    assert heading == "Largest difference over all 5 steps:"
    experiment = decoded.decoding.experiment
    said = [line.rpartition(" · ")[0] for line in lines]
    assert said == [site_label(experiment, name) for name in site_names(experiment)]


def test_one_attention_has_no_name_and_no_totals_to_explain(bench: PanelBench[DecodingRoom]) -> None:
    assert where(bench).endswith("”")
    assert bench.find(QLabel, "count__name").text() == "all steps so far"


def test_a_row_of_another_layers_cache_is_a_cell_of_that_layer(stack: PanelBench[DecodingRoom]) -> None:
    stack.store.look(site="decoder.1.self")
    keys = stack.find(RowMatrix, "k_cache")
    keys.cell_hovered.emit(2, 1)
    assert stack.store.pointer.cell == Cell("k", 2, 1, 0)
    stack.store.look(site="encoder.1.self")
    keys.cell_hovered.emit(2, 1)
    assert stack.store.pointer.elsewhere == Cell("k", 2, 1, 0, "decoder.0.self")
    keys.cell_hovered.emit(-1, -1)
    assert stack.store.pointer.elsewhere is None


def test_what_decoding_changes_is_said(bench: PanelBench[DecodingRoom]) -> None:
    notice = bench.find(ElidedLabel, "decode_notice")
    assert notice.text() == "prompt 11"
    change(bench.store, masks=(Padding((1,)),))
    give(bench)
    said = "Decoding adds a causal mask: in the document a query attends to later keys."
    assert notice.text() == f"prompt 11 · {said}"
    assert notice.text() in notice.toolTip()
    assert notice.minimumSizeHint().width() == 0


# --- a latent --------------------------------------------------------------------------------------


def test_with_a_latent_the_cache_is_the_latent_and_the_rope_key(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "multi-head-latent", 1300, 900)
    give(bench)
    bench.panel.go_to(3)
    first, second = bench.find(RowMatrix, "k_cache"), bench.find(RowMatrix, "v_cache")
    assert (first.accessibleName(), second.accessibleName()) == ("c cache · 3 + 1", "kᴿ cache · 3 + 1")
    assert bench.find(QLabel, "count_bytes_held_cached").text() == str(4 * (16 + 4) * 4)
    first.cell_hovered.emit(2, 15)
    assert bench.store.pointer.cell == Cell("latent", 2, 15)
    second.cell_hovered.emit(1, 3)
    assert bench.store.pointer.cell == Cell("k_rotated", 1, 8 + 3, 0)
    experiment = with_fields(bench.store.experiment, position=NoPosition(), latent=Latent(16))
    bench.store.open(Document(with_fields(experiment, projections=Projections())))
    bench.store.set_trace(attnviz.run(bench.store.experiment))
    give(bench)
    assert not second.isVisible()


LIGHTS = {
    "all of it NaN": (
        {"vectors": ExplicitVectors(1e200 * np.random.default_rng(1).standard_normal((11, 8)))},
        "not comparable: the probabilities are NaN with the cache and without",
        "warning",
    ),
    "one row NaN": (
        {"masks": (Causal(), Padding((0,))), "fully_masked_row": "nan"},
        "numbers are NaN with the cache and without; the others are at most ",
        "warning",
    ),
    "an encoder": ({"masks": ()}, "equal to the full pass with a causal mask: at most ", "right"),
    "a decoder": ({}, "equal to the full pass: at most ", "right"),
}


def test_a_difference_among_large_numbers_is_shown_beside_the_largest(qtbot: QtBot) -> None:
    """Rounding is relative: 2e−9 of 5 000 000 is as good as 4e−16 of 1."""
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    give(bench)
    assert "beside" not in bench.find(QLabel, "decode_parity").text()
    change(bench.store, vectors=ExplicitVectors(3e3 * np.random.default_rng(1).standard_normal((11, 8))))
    decoded = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0)
    bench.store.set_decoded(decoded)
    stage = max(decoded.differences, key=decoded.differences.__getitem__)
    largest = bench.find(QLabel, "decode_parity").text().rpartition(" beside numbers up to ")[2]
    assert int(largest.replace("\u202f", "")) == round(decoded.sizes[stage]) > 1000


@pytest.mark.parametrize("case", LIGHTS)
def test_the_light_says_what_was_compared(case: str, qtbot: QtBot) -> None:
    """NaN on both sides is not equality, and a mask that the document lacks is named."""
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    changes, says, tone = LIGHTS[case]
    change(bench.store, **changes)
    give(bench)
    light = bench.find(QLabel, "decode_parity")
    assert says in light.text(), light.text()
    assert light.property("tone") == tone
    assert ("NaN on both sides" in light.toolTip()) == (tone == "warning")
    is_changed = case == "an encoder"
    assert ("adds a causal mask" in bench.find(WholeLabel, "decode_notice").text()) == is_changed
