"""The latent's controls and its picture: switched, dragged, hovered, and compared pixel by pixel."""

from __future__ import annotations

import html

import numpy as np
import pytest
from cell_colors import color_at
from first_layer import stacked
from msgspec.structs import replace
from panels import PanelBench
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.mechanism.latent import LatentPicture, Strip
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.edits import set_n_tokens
from attnviz.model.spec.block import Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, Heads, Identity, Projections, QKNorm, Rope, Seeded, SeededVectors
from attnviz.model.spec.view import Cell, View

Bench = PanelBench[MechanismPanel]

PLAIN = stacked(
    tuple("abcde"),
    SeededVectors(5, 8),
    heads=Heads(4, 2, 4),
    projections=Projections(Seeded(5), Seeded(6), Seeded(7), Seeded(8)),
    position=Rope(),
    masks=(Causal(),),
)


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    bench: Bench = PanelBench(qtbot, MechanismPanel, Document(PLAIN, View(query=3)), 280, 900)
    bench.panel.open_all()
    qtbot.wait(50)
    return bench


@pytest.fixture
def latent(qtbot: QtBot) -> Bench:
    bench: Bench = PanelBench(qtbot, MechanismPanel, "multi-head-latent", 280, 900)
    bench.panel.open_all()
    qtbot.wait(50)  # the layout is done when events are
    return bench


def choose(bench: Bench, option: str) -> None:
    segmented = bench.find(Segmented, "latent_segmented")
    segmented.set_value(option)
    segmented.changed.emit(option)


def segment(bench: Bench, control: str, option: str) -> QWidget:
    """One button of a segmented control."""
    return bench.find(Segmented, control)._segments[option]


def image_of(picture: LatentPicture) -> QImage:
    return picture.grab().toImage()


def color_of(image: QImage, strip: Strip, index: int) -> QColor:
    """The colour in the middle of one number of a strip."""
    x = strip.rect.left() + (index + 0.5) * strip.rect.width() / strip.size
    return image.pixelColor(int(x), int(strip.rect.center().y()))


# --- controls --------------------------------------------------------------------------------------


def test_the_latent_is_switched_on_and_what_was_there_comes_back(bench: Bench) -> None:
    assert bench.find(QWidget, "head_wires").isVisible()
    assert not bench.find(QWidget, "latent_picture").isVisible()
    choose(bench, "latent")
    attention = bench.store.attention
    assert attention.latent == Latent(8, d_rope=2, norm=Norm("rms", 1e-6))
    assert (attention.heads.n_kv_heads, attention.projections.key) == (4, Identity())
    assert not bench.find(QWidget, "head_wires").isVisible()
    assert bench.find(QWidget, "latent_picture").isVisible()
    assert not bench.find(QWidget, "key_projection_combo").isVisible()
    bench.find(SliderField, "latent_d_c_field").changed.emit(3)
    choose(bench, "projections")
    assert bench.store.attention.latent is None
    assert bench.store.attention.projections == PLAIN.layers[0].projections
    choose(bench, "latent")
    assert bench.store.attention.latent is not None and bench.store.attention.latent.d_c == 3
    assert bench.refused == []


def test_widths_and_the_query_latent(bench: Bench) -> None:
    choose(bench, "latent")
    bench.find(SliderField, "latent_d_rope_field").changed.emit(7)
    bench.find(Toggle, "query_latent_switch").changed.emit(True)
    latent = bench.store.attention.latent
    assert latent is not None and (latent.d_rope, latent.d_q) == (6, 4)
    assert bench.find(SliderField, "latent_d_q_field").isVisible()
    assert bench.find(QWidget, "query_down_projection_combo").isVisible()
    bench.find(SliderField, "latent_d_rope_field").changed.emit(0)
    assert bench.refused == ["latent.d_rope must be at least 2 with rotary positions; got 0."]


def test_what_cannot_be_is_disabled_in_the_words_of_the_refusal(bench: Bench) -> None:
    choose(bench, "latent")
    reason = "heads.n_kv_heads must be n_heads (4) with a latent"
    two = segment(bench, "n_kv_heads_segmented", "2")
    assert reason in html.unescape(two.toolTip()) and not two.isEnabled()
    assert segment(bench, "n_kv_heads_segmented", "4").isEnabled()
    more = segment(bench, "position_more_segmented", "deberta")
    assert "not multiplied with q and k" in html.unescape(more.toolTip()) and not more.isEnabled()
    on_values = bench.find(Toggle, "rope_on_values_toggle")
    assert not on_values.isEnabled() and "must be false with a latent" in html.unescape(on_values.toolTip())


def test_a_latent_cannot_stand_beside_a_norm_of_q_and_k(bench: Bench) -> None:
    bench.store.edit_attention(lambda e: replace(e, qk_norm=QKNorm("rms")))
    option = segment(bench, "latent_segmented", "latent")
    assert not option.isEnabled()
    assert "qk_norm must be null with a latent" in html.unescape(option.toolTip())


# --- the picture -----------------------------------------------------------------------------------


def test_widths_are_to_one_scale_and_bytes_are_said(latent: Bench) -> None:
    drawing = latent.find(LatentPicture, "latent_picture").drawing()
    assert [strip.stage for strip in drawing.strips[:3]] == ["tokens_embedded", "latent", "rope_key"]
    assert [len(row) for row in (drawing.keys, drawing.values)] == [8, 8]
    for strip in drawing.strips:
        assert strip.rect.width() == pytest.approx(strip.size * drawing.unit)
        assert 0 < strip.rect.left() and strip.rect.right() < 280
    note = latent.find(QLabel, "latent_note").text()
    assert note == "Cached per token: 20 numbers; MHA caches 160, 8.0 times as many."


def test_the_strips_have_the_numbers_of_the_token(latent: Bench) -> None:
    picture = latent.find(LatentPicture, "latent_picture")
    site = latent.store.site

    def check(token: int) -> None:
        image = image_of(picture)
        for strip in (picture.drawing().cached[0], picture.drawing().given[0]):
            row = site.window(strip.stage, 0, slice(token, token + 1))[0]
            for index in range(1, strip.size - 1, 3):  # the outline covers the first and the last
                wanted = color_at((row[index] / np.abs(row).max() + 1) / 2, "diverging", LIGHT)
                assert color_of(image, strip, index).getRgb()[:3] == pytest.approx(wanted, abs=3), index

    check(latent.store.document.view.query)
    latent.store.set_hover(Cell("k", 9, 1, 2))
    check(9)
    latent.store.set_hover(Cell("weights", 6, 2, 2))
    check(2)
    latent.store.set_hover(None)
    check(latent.store.document.view.query)


def test_a_number_under_the_mouse_is_lit_everywhere_and_a_head_is_chosen(latent: Bench, qtbot: QtBot) -> None:
    picture = latent.find(LatentPicture, "latent_picture")
    strip = picture.drawing().cached[0]
    third = strip.rect.left() + 2.5 * picture.drawing().unit
    qtbot.mouseMove(picture, QPoint(int(third), int(strip.rect.center().y())))
    assert latent.store.pointer.cell == Cell("latent", latent.store.document.view.query, 2)
    key = picture.drawing().keys[5]
    qtbot.mouseClick(picture, Qt.MouseButton.LeftButton, pos=key.rect.center().toPoint())
    assert latent.store.document.view.head == 5
    qtbot.keyClick(picture, Qt.Key.Key_Right)
    assert latent.store.document.view.head == 6
    qtbot.mouseMove(picture, QPoint(2, 2))
    assert latent.store.pointer.cell is None


def test_the_picture_waits_for_the_numbers_of_more_tokens(latent: Bench, qtbot: QtBot) -> None:
    latent.store.look(query=99)
    with qtbot.captureExceptions() as raised:
        latent.store.edit(set_n_tokens, latent.store.experiment.n_queries + 3)
    assert raised == []
    assert latent.store.trace is not None
    assert latent.store.trace.experiment == latent.store.experiment


def test_bytes_grow_with_the_widths(latent: Bench) -> None:
    latent.find(SliderField, "latent_d_c_field").changed.emit(156)
    note = latent.find(QLabel, "latent_note").text()
    assert note == "Cached per token: 160 numbers; MHA caches 160, 1.0 times as many."
