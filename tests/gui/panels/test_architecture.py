"""All attentions at once: real numbers, true counts, the same tokens lit, and a click that looks."""

from __future__ import annotations

import numpy as np
import pytest
from desk import count_color, picture
from first_layer import with_fields
from panels import PanelBench
from pointer import Log
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QScrollArea
from pytestqt.qtbot import QtBot
from services import served

import attnviz
from attnviz.core.color_maps import color_table
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.architecture import ArchitecturePanel
from attnviz.gui.panels.tokens import TokensPanel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.heat.site_map import SiteMap
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, SeededVectors
from attnviz.model.spec.view import Cell

Bench = PanelBench[ArchitecturePanel]
ENCODER, SELF, CROSS = "encoder.0.self", "decoder.0.self", "decoder.0.cross"


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    return PanelBench(qtbot, ArchitecturePanel, "encoder-decoder", 1500, 190)


def map_of(bench: Bench, name: str) -> SiteMap:
    return bench.find(SiteMap, f"site_map_{name}")


def move_to(bench: Bench, name: str, row: int, column: int) -> None:
    shown = map_of(bench, name)
    QTest.mouseMove(shown, shown.cell_center(row, column).toPoint())


def test_every_attention_has_its_map_with_the_weights_of_the_trace(bench: Bench) -> None:
    trace = bench.store.trace
    assert trace is not None
    assert set(bench.panel.canvas.maps) == {ENCODER, SELF, CROSS}
    for name in trace.sites:
        content = map_of(bench, name).content
        np.testing.assert_array_equal(content.values, trace.site(name)["weights"][0])
    bench.store.look(head=1)
    for name in trace.sites:
        np.testing.assert_array_equal(map_of(bench, name).content.values, trace.site(name)["weights"][1])
    assert map_of(bench, CROSS).content.column_labels == ("the", "cat", "sat", "on", "the", "mat")
    assert map_of(bench, CROSS).content.row_labels == ("<s>", "猫", "坐在", "垫子")


def test_the_counts_are_those_of_the_text(bench: Bench) -> None:
    assert bench.find(QLabel, "architecture_sum").text() == "36 + 16 + 24 = 76 pairs, 70 visible"
    names = [map_of(bench, name).accessibleName() for name in (ENCODER, SELF, CROSS)]
    assert names == [
        "Encoder layer 1 · self-attention, 6 × 6 = 36 pairs",
        "Decoder layer 1 · masked self-attention, 4 × 4 = 16 pairs · 10 of 16 visible",
        "Decoder layer 1 · cross-attention, 4 × 6 = 24 pairs",
    ]
    bench.store.edit(with_fields, masks=())
    assert bench.find(QLabel, "architecture_sum").text() == "36 + 16 + 24 = 76 pairs"


def test_the_brightest_cell_is_painted_as_everywhere(bench: Bench) -> None:
    shown = map_of(bench, SELF)
    assert shown.content.values[0, 0] == 1.0
    area = shown.layout_shown.cell_rect(0, 0).adjusted(1, 1, -1, -1)
    brightest = "#" + "".join(f"{int(part):02x}" for part in color_table("sequential", is_dark=False)[255])
    assert count_color(picture(shown), brightest, area) > 0.5 * area.width() * area.height()


def test_a_click_looks_at_that_attention_and_frames_it(bench: Bench) -> None:
    canvas = bench.panel.canvas
    assert bench.store.document.site == CROSS
    arranged = canvas.arrangement
    assert arranged is not None
    frames = [one.area for one in arranged.places]

    def framed() -> list[bool]:
        painted = picture(canvas)
        return [
            count_color(painted, LIGHT.accent, f.adjusted(0, 0, 0, 3 - f.height()), 70) > 50 for f in frames
        ]

    assert framed() == [False, False, True]
    shown = map_of(bench, ENCODER)
    QTest.mouseClick(shown, Qt.MouseButton.LeftButton, pos=shown.cell_center(2, 2).toPoint())
    assert bench.store.document.site == ENCODER and bench.store.document.view.locked is None
    assert framed() == [True, False, False]
    assert np.shape(bench.store.site["weights"]) == (2, 6, 6)


def test_pointing_lights_the_same_tokens_in_all_maps(bench: Bench) -> None:
    move_to(bench, CROSS, 1, 2)
    assert bench.store.pointer.cell == Cell("weights", 1, 2, 0)
    here = map_of(bench, CROSS).highlight
    assert (here.cell, here.rows, here.columns) == ((1, 2), {1}, {2})
    encoder, own = map_of(bench, ENCODER).highlight, map_of(bench, SELF).highlight
    assert (encoder.cell, encoder.rows, encoder.columns) == (None, {2}, {2})
    assert (own.cell, own.rows, own.columns) == (None, {1}, {1})
    value = bench.store.site["weights"][0, 1, 2]
    assert bench.find(QLabel, "architecture_pointed").text() == f"猫 × sat: {value:.4f}"


def test_a_cell_of_another_attention_lights_there_and_is_not_the_hovered_cell(bench: Bench) -> None:
    log = Log(bench.store, "pointer_changed")
    move_to(bench, ENCODER, 3, 5)
    assert [new.cell for _old, new in log.values("pointer_changed")] == [None]  # type: ignore[misc]
    assert bench.store.pointer.elsewhere == Cell("weights", 3, 5, 0, ENCODER)
    assert map_of(bench, ENCODER).highlight.cell == (3, 5)
    cross = map_of(bench, CROSS).highlight
    assert (cross.cell, cross.rows, cross.columns) == (None, frozenset(), {3, 5})
    assert map_of(bench, SELF).highlight.rows == frozenset()
    bench.store.set_hover(None)
    assert bench.store.pointer.elsewhere is None
    assert map_of(bench, ENCODER).highlight.cell is None


def test_a_cell_of_another_attention_lights_its_tokens_among_the_chips(bench: Bench, qtbot: QtBot) -> None:
    tokens = served(TokensPanel(bench.store))
    qtbot.addWidget(tokens)
    tokens.start()
    bench.store.set_hover(Cell("weights", 1, 3, 0, SELF))
    assert tokens.chips._highlight == {1, 3}
    bench.store.set_hover(Cell("weights", 1, 3, 0, ENCODER))
    assert tokens.chips._highlight == frozenset()
    bench.store.set_hover(Cell("weights", 2, 0, 0))
    assert tokens.chips._highlight == {2}
    bench.store.set_hover(Cell("weights", 1, 3, 0, SELF))  # from one map to the other, nothing between
    assert tokens.chips._highlight == {1, 3}
    bench.store.set_hover(None)
    assert tokens.chips._highlight == frozenset()


def test_one_attention_alone_says_what_would_be_here(qtbot: QtBot) -> None:
    bench: Bench = PanelBench(qtbot, ArchitecturePanel, "toy-attention", 800, 150)
    (empty,) = bench.panel.findChildren(EmptyState)
    assert empty.isVisible() and "side by side" in empty.accessibleName()
    assert bench.panel.canvas.maps == {}
    bench.store.open(load_preset("decoder-only"))
    assert not empty.isVisible() and len(bench.panel.canvas.maps) == 2
    bench.store.open(load_preset("toy-attention"))
    assert empty.isVisible()


def test_twelve_layers_of_128_tokens_are_scrolled_through(qtbot: QtBot) -> None:
    layers = (Layer(masks=(Causal(),)),) * 12
    deep = Experiment(tuple(f"t{i}" for i in range(128)), SeededVectors(128, 4), layers=layers)
    bench: Bench = PanelBench(qtbot, ArchitecturePanel, Document(deep), 776, 150)
    assert len(bench.panel.canvas.maps) == 12
    assert bench.find(QLabel, "architecture_sum").text() == "12 × 16384 = 196608 pairs, 99072 visible"
    scroll = bench.find(QScrollArea, "architecture_scroll")
    assert scroll.horizontalScrollBar().maximum() > 0
    assert scroll.widget().height() <= scroll.viewport().height()


def test_the_attention_that_is_looked_at_is_brought_into_sight(qtbot: QtBot) -> None:
    deep = Experiment(("a", "b", "c", "d"), SeededVectors(4, 4), layers=(Layer(),) * 12)
    bench: Bench = PanelBench(qtbot, ArchitecturePanel, Document(deep), 776, 150)
    bar = bench.find(QScrollArea, "architecture_scroll").horizontalScrollBar()
    bench.store.look(site="layers.11.self")
    qtbot.waitUntil(lambda: bar.value() == bar.maximum() > 0)
    bench.store.look(site="layers.0.self")
    qtbot.waitUntil(lambda: bar.value() == 0)


def test_long_sequences_are_shown_as_their_overview(qtbot: QtBot) -> None:
    long = Experiment(tuple(f"t{i}" for i in range(600)), SeededVectors(600, 4), layers=(Layer(),) * 2)
    bench: Bench = PanelBench(qtbot, ArchitecturePanel, Document(long), 776, 150)
    shown = map_of(bench, "layers.1.self")
    values, _hidden = bench.store.site.overview("weights", 0)
    assert shown.content.values.shape == values.shape == (200, 200)
    shown.site_hovered.emit("layers.1.self", 3, 4)
    assert bench.store.pointer.cell is None and bench.store.pointer.elsewhere is None


def test_the_orientation_turns_all_maps(bench: Bench) -> None:
    before = map_of(bench, CROSS).layout_shown
    bench.store.look(orientation="queries_as_columns")
    after = map_of(bench, CROSS).layout_shown
    assert (before.n_down, before.n_across) == (4, 6) == (after.n_across, after.n_down)


def test_what_cannot_be_seen_is_painted_when_it_is(bench: Bench) -> None:
    bench.panel.set_seen(False)
    before = map_of(bench, SELF).content
    bench.store.look(head=1)
    assert map_of(bench, SELF).content is before
    bench.panel.set_seen(True)
    expected = attnviz.run(load_preset("encoder-decoder")).site(SELF)["weights"][1]
    np.testing.assert_array_equal(map_of(bench, SELF).content.values, expected)
