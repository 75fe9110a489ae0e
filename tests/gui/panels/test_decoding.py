"""The decoding panel alone: it shows what it is given, step by step, and says when there is nothing."""

from __future__ import annotations

import pytest
from panels import PanelBench
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QSlider, QToolButton
from pytestqt.qtbot import QtBot

from attnviz.compute.decoded import decode_and_compare
from attnviz.engines.program import never_cancelled
from attnviz.gui.panels.decoding import DecodingPanel
from attnviz.gui.widgets.drag_number import DragNumber
from attnviz.gui.widgets.row_matrix import RowMatrix
from attnviz.model.edits import set_heads, set_n_tokens

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[DecodingPanel]:
    made = PanelBench(qtbot, DecodingPanel, "causal-decode", 900, 260)
    give(made)
    return made


def give(bench: PanelBench[DecodingPanel]) -> None:
    bench.store.set_decoded(decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0))


def button(bench: PanelBench[DecodingPanel], name: str) -> QToolButton:
    return bench.find(QToolButton, f"decode_{name}")


def test_without_a_decoding_it_says_so_and_nothing_can_be_pressed(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingPanel, "causal-decode", 900, 260)
    assert bench.find(QLabel, "decode_empty").isVisible()
    for name in ("first", "step_back", "play", "step_forward", "last"):
        assert not button(bench, name).isEnabled()
    bench.panel.toggle_play()
    assert not bench.panel.is_playing
    give(bench)
    assert not bench.find(QLabel, "decode_empty").isVisible() and button(bench, "play").isEnabled()


def test_a_decoding_that_is_taken_away_leaves_no_numbers(bench: PanelBench[DecodingPanel]) -> None:
    bench.panel.toggle_play()
    bench.store.set_decoded(None)
    assert bench.find(QLabel, "decode_empty").isVisible()
    assert bench.find(QLabel, "decode_where").text() == ""
    QTest.qWait(0)
    bench.panel.toggle_play()
    assert not bench.panel.is_playing


def test_one_step_has_nothing_to_play(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingPanel, "causal-decode", 900, 260)
    bench.store.edit(set_n_tokens, 1)
    give(bench)
    assert not button(bench, "play").isEnabled()
    assert bench.find(QLabel, "decode_where").text().startswith("step 1 of 1")


def test_the_chosen_head_and_its_key_value_head_are_shown(bench: PanelBench[DecodingPanel]) -> None:
    bench.store.edit(set_heads, n_heads=4, n_kv_heads=2)
    give(bench)
    bench.panel.go_to_end()
    pictures = []
    for head in range(4):
        bench.store.look(head=head)
        pictures.append(bench.find(RowMatrix, "k_cache").grab().toImage())
    assert pictures[0] == pictures[1] and pictures[2] == pictures[3] and pictures[0] != pictures[2]


def test_the_speed_sets_the_pace(bench: PanelBench[DecodingPanel], qtbot: QtBot) -> None:
    bench.panel.go_to(0)
    speed = bench.find(DragNumber, "decode_speed")
    speed.set_value(16.0)
    QTest.mouseClick(button(bench, "play"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bench.store.document.view.step >= 2, timeout=3000)
    QTest.mouseClick(button(bench, "play"), Qt.MouseButton.LeftButton)
    assert not bench.panel.is_playing


def test_the_slider_follows_and_leads(bench: PanelBench[DecodingPanel]) -> None:
    slider = bench.find(QSlider, "decode_scrubber")
    bench.store.look(step=1)
    assert slider.value() == 1
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert bench.store.document.view.step == 2
    QTest.keyClick(slider, Qt.Key.Key_End)
    assert bench.store.document.view.step == bench.store.experiment.n_queries - 1
    assert not bench.store.can_undo


def test_a_step_past_the_end_of_a_file_is_the_last_one(bench: PanelBench[DecodingPanel]) -> None:
    bench.store.look(step=999)
    n = bench.store.experiment.n_queries
    assert bench.find(QLabel, "decode_where").text().startswith(f"step {n} of {n}")
    bench.panel.step(-1)
    assert bench.store.document.view.step == n - 2
