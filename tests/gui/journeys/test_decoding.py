"""The player of the KV cache: played, stepped, scrubbed, while its numbers stay those of the formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from desk import Desk, MakeDesk, count_color, picture
from first_layer import change
from player_hands import open_counters, player
from pointer import drag, move, press, release
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QSlider, QToolButton, QWidget

import attnviz
from attnviz.gui.panels.decoding.caches.strip import WeightStrip
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.model.edit.edits import set_heads
from attnviz.model.spec.parts import Memory, SeededVectors
from attnviz.model.spec.view import Cell


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk("causal-decode")
    made.go("generate")
    made.settle_decoding()
    return made


def label(desk: Desk, name: str) -> str:
    return desk.find(QLabel, name).text()


def count(desk: Desk, key: str) -> tuple[int, int]:
    """(without a cache, with one) as it is written."""
    texts = (label(desk, f"count_{key}_{which}") for which in ("plain", "cached"))
    plain, cached = (int(text.replace("\u202f", "")) for text in texts)
    return plain, cached


def button(desk: Desk, name: str) -> QToolButton:
    return desk.find(QToolButton, f"decode_{name}")


def test_the_counters_are_those_of_the_formulas_at_every_step(desk: Desk) -> None:
    open_counters(desk)
    experiment = desk.store.experiment
    heads, n = experiment.layers[0].heads, experiment.n_queries
    itemsize = {"float32": 4, "float64": 8}[experiment.dtype]
    row = 2 * heads.n_kv_heads * heads.d_head * itemsize
    desk.click(button(desk, "first"))
    for step in range(n):
        t = step + 1
        assert desk.store.document.view.step == step
        assert label(desk, "decode_where").startswith(f"step {t} of {n} · “{experiment.tokens[step]}”")
        assert count(desk, "kv_projections") == (t * (t + 1) // 2, t)
        assert count(desk, "score_pairs") == (t * (t + 1) * (t + 2) // 6, t * (t + 1) // 2)
        assert count(desk, "bytes_held") == (0, t * row)
        desk.click(button(desk, "step_forward"))
    assert desk.store.document.view.step == n - 1  # there it stays
    assert label(desk, "decode_parity").startswith("● equal to the full pass: at most ")
    assert not desk.store.can_undo and not desk.store.is_modified


def test_a_step_shows_the_row_of_the_full_pass(desk: Desk) -> None:
    trace = attnviz.run(desk.store.experiment)
    head = desk.store.document.view.head
    for step in (0, 2, desk.store.experiment.n_queries - 1):
        player(desk).go_to(step)
        assert desk.store.player.decoded is not None
        shown = desk.store.player.decoded.decoding.steps[step]
        np.testing.assert_allclose(
            shown.weights[head], trace["weights"][head, step, : step + 1], rtol=1e-5, atol=1e-7
        )
        strip = desk.find(WeightStrip, "decode_weights")
        assert strip.values == pytest.approx(shown.weights[head].tolist())
        assert desk.find(RowMatrix, "k_cache").accessibleName() == f"K cache · {step} + 1"
        description = desk.find(RowMatrix, "v_cache").accessibleDescription()
        assert description == f"{step} rows read from the cache, 1 appended"


def test_the_slider_scrubs_and_the_keys_jump(desk: Desk) -> None:
    slider = desk.find(QSlider, "decode_scrubber")
    last = desk.store.experiment.n_queries - 1
    assert (slider.minimum(), slider.maximum()) == (0, last)
    desk.click(button(desk, "first"))
    handle = QPoint(8, slider.height() // 2)
    drag(slider, handle, QPoint(slider.width(), 0), steps=12)
    assert desk.store.document.view.step == last
    desk.press_key(Qt.Key.Key_Home, Qt.KeyboardModifier.AltModifier)
    assert desk.store.document.view.step == slider.value() == 0
    desk.press_key(Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.document.view.step == slider.value() == 1
    desk.press_key(Qt.Key.Key_Semicolon, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.document.view.step == 0
    desk.press_key(Qt.Key.Key_Semicolon, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.document.view.step == 0
    desk.press_key(Qt.Key.Key_End, Qt.KeyboardModifier.AltModifier)
    assert desk.store.document.view.step == last


def test_space_plays_to_the_end_and_again_from_the_start(desk: Desk) -> None:
    last = desk.store.experiment.n_queries - 1
    desk.type_number("decode_speed", "16")
    desk.window.setFocus()
    desk.press_key(Qt.Key.Key_End, Qt.KeyboardModifier.AltModifier)
    desk.press_key(Qt.Key.Key_Space)
    assert desk.store.document.view.step == 0 and player(desk).is_playing
    desk.qtbot.waitUntil(lambda: desk.store.document.view.step >= 2, timeout=5000)
    desk.press_key(Qt.Key.Key_Space)
    assert not player(desk).is_playing
    paused = desk.store.document.view.step
    QTest.qWait(120)
    assert desk.store.document.view.step == paused
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: not player(desk).is_playing, timeout=5000)
    assert desk.store.document.view.step == last


def test_space_plays_wherever_the_focus_is(desk: Desk) -> None:
    for place in ("vectors_grid", "token_chips", "stage_map", "plane_plot", "row_bars"):
        widget = desk.find(QWidget, place)
        widget.setFocus()
        assert widget.hasFocus(), place
        desk.press_key(Qt.Key.Key_Space)
        assert player(desk).is_playing, place
        desk.press_key(Qt.Key.Key_Space)
        assert not player(desk).is_playing, place


def test_an_edit_while_it_plays_is_played_on(desk: Desk) -> None:
    open_counters(desk)
    desk.type_number("decode_speed", "16")
    desk.click(button(desk, "first"))
    desk.click(button(desk, "play"))
    viewport, at = desk.vectors.viewport(), desk.vector_center(0, 0)
    press(viewport, at)
    for step in range(1, 6):
        move(viewport, at + QPoint(0, -8 * step))
        QTest.qWait(30)
    release(viewport, at + QPoint(0, -40))
    desk.qtbot.waitUntil(lambda: not player(desk).is_playing, timeout=5000)
    desk.settle_decoding()
    assert label(desk, "decode_parity").startswith("● equal")
    desk.store.undo()
    assert not desk.store.can_undo  # steps are looks; the drag is the one entry


def test_fewer_tokens_than_the_step_show_the_last_step(desk: Desk) -> None:
    desk.click(button(desk, "last"))
    desk.type_number("n_tokens_field", "2")
    desk.settle_decoding()
    assert label(desk, "decode_where").startswith("step 2 of 2")
    assert desk.find(QSlider, "decode_scrubber").maximum() == 1


def test_masks_positions_and_heads_decode_to_the_full_pass(desk: Desk) -> None:
    desk.go("generate")
    open_counters(desk)
    changes: tuple[dict[str, Any], ...] = (
        {"heads": 1},
        {"heads": 2, "dtype": "float64"},
        {"memory": Memory(("x", "y"), SeededVectors(2, desk.store.experiment.d_model, 3))},
    )
    for fields in changes:
        heads = fields.pop("heads", None)
        if heads is not None:
            desk.store.edit_attention(set_heads, n_heads=4, n_kv_heads=heads, d_head=4)
        if fields:
            assert change(desk.store, **fields), desk.said()
        for position in ("none", "sinusoidal", "rope", "alibi"):
            desk.choose("position_segmented", position)
            desk.settle_decoding()
            assert label(desk, "decode_parity").startswith("● equal"), (fields, position)


def test_a_difference_is_said_and_not_coloured_as_equal(desk: Desk) -> None:
    open_counters(desk)
    decoded = desk.store.player.decoded
    assert decoded is not None
    green = count_color(picture(desk.find(QLabel, "decode_parity")), desk.theme.value, tolerance=12)
    desk.store.set_decoded(replace(decoded, differences={"weights": 0.5}))
    assert label(desk, "decode_parity") == "● differs: up to 0.5 apart"
    shown = picture(desk.find(QLabel, "decode_parity"))
    assert green > 5 and count_color(shown, desk.theme.value, tolerance=12) == 0
    assert count_color(shown, desk.theme.error, tolerance=12) > 5


def test_a_cached_row_lights_its_token(desk: Desk) -> None:
    desk.store.look(locked=None)
    desk.click(button(desk, "last"))
    keys = desk.find(RowMatrix, "k_cache")
    desk.hover(keys, keys.cell_rect(1, 0).center())
    stage = "k_rotated" if "k_rotated" in attnviz.run(desk.store.experiment).only.stages else "k"
    assert desk.store.pointer.cell == Cell(stage, 1, 0, 0)
    desk.hover(keys, QPoint(1, 1))
    assert desk.store.pointer.cell is None


def test_a_hidden_panel_decodes_nothing_until_it_is_seen(desk: Desk) -> None:
    desk.go("explore")
    drag(desk.vectors.viewport(), desk.vector_center(0, 0), QPoint(0, -30))
    desk.settle()
    QTest.qWait(60)
    assert desk.store.player.decoded is None, "the old decoding is given back, and no other is computed"
    desk.go("generate")
    desk.settle_decoding()
    assert desk.store.player.decoded is not None
