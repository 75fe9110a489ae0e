"""The cost panel, driven by its controls: what the lines say, what is painted, what is copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import pointer
import pytest
from desk import count_color, picture
from first_layer import change, stacked
from msgspec.structs import replace as with_parts
from panels import recolor
from PySide6.QtCore import QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QStyle,
    QStyleOptionComboBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from attnviz.bench.cases import Size
from attnviz.bench.implementations import IMPLEMENTATIONS, timed
from attnviz.core.cost.lines import Line
from attnviz.core.cost.memory import FORMAT_BY_ID, MEMORIES, cache, cache_bytes, layouts
from attnviz.core.cost.published_models import PUBLISHED, PUBLISHED_BY_ID, Published
from attnviz.core.cost.roofline import Peaks
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.errors import Message
from attnviz.explain.architectures import architecture_of
from attnviz.explain.bills import EXPERIMENT, OWN, QUANTITIES, Question, bill, of_published
from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.look.words import speak
from attnviz.gui.panels.cost.cost import CostPanel
from attnviz.gui.panels.cost.curve import CostCurve
from attnviz.gui.panels.cost.fields import FIELDS, CostFields
from attnviz.gui.panels.cost.lines import CostLines
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.linked_text import LinkedText
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import set_language
from attnviz.model.edit.by_hand import with_text
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.latent import Latent as LatentOfDocument
from attnviz.model.spec.parts import Causal, Heads, Padding, Projections, Seeded, SeededVectors, Window

W = TypeVar("W", bound=QWidget)
SEEDED = Projections(Seeded(0), Seeded(1), Seeded(2), Seeded(3))


def experiment(n: int = 4, kv_heads: int = 2) -> Experiment:
    tokens = tuple(f"<t{i}>" for i in range(n))
    heads = Heads(4, kv_heads, 4)
    return stacked(tokens, SeededVectors(n, 8), heads=heads, projections=SEEDED, masks=(Causal(),))


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[CostPanel]:
    made = CostPanel(Store(Document(experiment())))
    qtbot.addWidget(made)
    made.start()
    recolor(made, LIGHT)
    made.resize(1100, 400)
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    yield made


def find(panel: CostPanel, kind: type[W], name: str) -> W:
    found = panel.findChild(kind, name)
    assert isinstance(found, kind), name
    return found


def choose(panel: CostPanel, name: str, id_: str) -> None:
    combo = find(panel, Combo, name)
    combo.setCurrentIndex(combo.findData(id_))
    combo.activated.emit(combo.currentIndex())
    QApplication.processEvents()


def type_number(qtbot: QtBot, panel: CostPanel, name: str, text: str) -> None:
    number = find(panel, DragNumber, name)
    number.setFocus()
    qtbot.keyClicks(number, text[0])
    editor = number.findChild(QLineEdit, "number_editor")
    assert editor is not None
    editor.setText(text)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    QApplication.processEvents()


def said(panel: CostPanel) -> str:
    return find(panel, CostLines, "cost_lines").toPlainText()


def test_the_cache_of_this_experiment_follows_the_document(panel: CostPanel) -> None:
    assert "2 · g · d_head · bytes = 2 × 2 × 4 × 4\t64 B" in said(panel)
    assert "cache of 4 tokens\t256 B" in said(panel)
    change(panel.store, heads=Heads(4, 1, 4))
    QApplication.processEvents()
    assert "cache of 4 tokens\t128 B" in said(panel)
    panel.store.undo()
    QApplication.processEvents()
    assert "cache of 4 tokens\t256 B" in said(panel)


def test_the_experiments_own_shapes_cannot_be_edited_here_and_say_why(panel: CostPanel) -> None:
    heads = find(panel, DragNumber, "cost_kv_heads")
    assert not heads.isEnabled()
    assert "edit them in Mechanism" in heads.toolTip()
    assert find(panel, DragNumber, "cost_n").isEnabled()


def test_llama_2_70b_with_8_and_then_64_kv_heads(panel: CostPanel, qtbot: QtBot) -> None:
    choose(panel, "cost_source", "llama-2-70b")
    assert "cache of 4,096 tokens\t1,342,177,280 B" in said(panel)
    assert "= 1.34 GB = 1.25 GiB" in said(panel)
    assert "Source: config.json, meta-llama/Llama-2-70b-hf" in said(panel)
    assert not find(panel, QPushButton, "cost_reset").isVisible()
    type_number(qtbot, panel, "cost_kv_heads", "64")
    assert f"{4096 * 2560 * 1024:,} B" in said(panel)
    assert "Llama-2-70B, edited" in said(panel)
    reset = find(panel, QPushButton, "cost_reset")
    assert reset.isVisible()
    qtbot.mouseClick(reset, Qt.MouseButton.LeftButton)
    QApplication.processEvents()
    assert panel.question.architecture == PUBLISHED_BY_ID["llama-2-70b"].architecture
    assert not reset.isVisible()


def test_a_number_of_kv_heads_that_does_not_divide_becomes_the_nearest_that_does(
    panel: CostPanel, qtbot: QtBot
) -> None:
    choose(panel, "cost_source", "llama-2-70b")
    type_number(qtbot, panel, "cost_kv_heads", "30")
    assert panel.question.architecture.n_kv_heads == 32
    type_number(qtbot, panel, "cost_heads", "48")
    assert panel.question.architecture.n_kv_heads == 24


def test_a_size_that_became_another_is_told(panel: CostPanel, qtbot: QtBot) -> None:
    told = list[Message]()
    panel.store.noticed.connect(told.append)
    choose(panel, "cost_source", "llama-3-70b")
    type_number(qtbot, panel, "cost_kv_heads", "7")
    assert [str(message) for message in told] == ["KV heads g: 7 became 8."]
    assert panel.question.architecture.n_kv_heads == 8
    type_number(qtbot, panel, "cost_kv_heads", "16")
    assert len(told) == 1, "16 divides 64"
    type_number(qtbot, panel, "cost_heads", "7")
    assert str(told[-1]) == "KV heads g: 16 became 7."


def test_a_model_is_edited_until_its_values_are_the_published_ones(panel: CostPanel, qtbot: QtBot) -> None:
    for model, name, values in (
        ("llama-3-70b", "cost_kv_heads", ("64", "8")),
        ("llama-3-70b", "cost_windowed", ("3", "0")),
        ("deepseek-v3", "cost_layers", ("2", "61")),
        ("mistral-7b", "cost_layers", ("4", "32")),
    ):
        choose(panel, "cost_source", model)
        edited = []
        for value in values:
            type_number(qtbot, panel, name, value)
            edited.append("edited" in said(panel))
            assert edited[-1] == find(panel, QPushButton, "cost_reset").isVisible()
        assert edited == [True, False], (model, name)


def test_a_refusal_is_over_once_a_value_is_valid(panel: CostPanel, qtbot: QtBot) -> None:
    heard = list[ValueError | None]()
    panel.store.rejected.connect(heard.append)
    type_number(qtbot, panel, "cost_memory_gb", "0")
    assert [str(error) for error in heard] == ["The value must be at least 1; got 0."]
    for text in ("141", "141"):
        type_number(qtbot, panel, "cost_memory_gb", text)
    assert panel.question.memory_gb == 141 and heard[-1] is None and heard.count(None) == 1
    heard.clear()
    choose(panel, "cost_source", "deepseek-v3")
    type_number(qtbot, panel, "cost_d_rope", "63")
    assert len(heard) == 1 and "an even number; got 63" in str(heard[0])
    type_number(qtbot, panel, "cost_d_rope", "32")
    assert heard[1:] == [None]


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("parameters", "parameters\tΣ"),
        ("prefill", "prefill of 8,192 tokens"),
        ("step", "step at token 8,192"),
        ("fits", "The weights alone do not fit."),
        ("stages", "weights\t2 × 4"),
    ],
)
def test_every_quantity_has_its_lines(panel: CostPanel, quantity: str, expected: str) -> None:
    choose(panel, "cost_source", "gemma-2-9b")
    choose(panel, "cost_quantity", quantity)
    if quantity == "stages":
        choose(panel, "cost_source", "experiment")
        panel.store.set_trace(run(NumpyEngine("float32"), panel.store.experiment))
        QApplication.processEvents()
        assert "weights\t4 × 4 × 4 × 32 ÷ 8\t256 B" in said(panel)
    elif quantity == "parameters":
        assert "9,241,705,984" in said(panel)
    else:
        assert expected in said(panel)


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda m: m.id)
@pytest.mark.parametrize("quantity", [row.id for row in QUANTITIES])
def test_no_choice_raises(panel: CostPanel, model, quantity: str) -> None:  # type: ignore[no-untyped-def]
    choose(panel, "cost_source", model.id)
    choose(panel, "cost_quantity", quantity)
    assert model.source in said(panel).replace("\n", " ")
    assert len(find(panel, CostCurve, "cost_curve").series()) >= 5


def test_three_implementations_are_timed_when_wanted(panel: CostPanel) -> None:
    choose(panel, "cost_quantity", "timed")
    assert panel._times.asked is None
    assert all(row.hint in said(panel) for row in IMPLEMENTATIONS)
    find(panel, Button, "cost_measure").click()
    a = panel.question.architecture
    size = Size(panel.question.n, a.n_heads, a.d_head)
    assert panel._times.asked == size
    panel._times.take(size, timed(size))
    QApplication.processEvents()
    assert all(f"{row.title}\t" in said(panel) for row in IMPLEMENTATIONS)
    assert "The outputs differ by at most" in said(panel)


def test_a_device_sets_its_peaks_and_own_peaks_are_no_device(qtbot: QtBot, panel: CostPanel) -> None:
    choose(panel, "cost_source", "llama-2-7b")
    choose(panel, "cost_quantity", "bound")
    choose(panel, "cost_device", "RTX 4090")
    assert panel.question.peaks == Peaks(165.2, 1008, "float16")
    assert "NVIDIA GeForce RTX 4090" in said(panel) and "Memory-bound" in said(panel)
    type_number(qtbot, panel, "cost_bandwidth", "1000000")
    assert panel.question.device == OWN and "RTX 4090" not in said(panel)
    assert "Memory-bound: 0.995" not in said(panel)


def test_the_peak_follows_the_format_of_the_weights(qtbot: QtBot, panel: CostPanel) -> None:
    choose(panel, "cost_source", "llama-2-7b")
    choose(panel, "cost_quantity", "bound")
    for format_, peak in (("float32", 67.0), ("float8", 1979.0), ("int4", 989.0), ("float64", 67.0)):
        choose(panel, "cost_weights", format_)
        assert find(panel, DragNumber, "cost_tflops").value() == peak
        assert f"÷ {peak:,.0f}·10¹²" in said(panel)
        assert ("TF32" in said(panel)) == (format_ == "float32")
    type_number(qtbot, panel, "cost_tflops", "12.5")
    assert panel.question.device == OWN and "÷ 12.5·10¹²" in said(panel)
    choose(panel, "cost_weights", "float32")
    assert "÷ 12.5·10¹²" in said(panel) and "compute, " not in said(panel)


@pytest.mark.parametrize("name", ["cost_device", "cost_weights", "cost_kv"])
def test_the_chosen_option_of_a_size_is_whole(panel: CostPanel, name: str) -> None:
    panel.resize(560, 600)
    choose(panel, "cost_source", "llama-2-7b")
    choose(panel, "cost_quantity", "bound")
    combo = find(panel, Combo, name)
    QApplication.processEvents()
    longest = max(combo.fontMetrics().horizontalAdvance(combo.itemText(i)) for i in range(combo.count()))
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    edit = QStyle.SubControl.SC_ComboBoxEditField
    room = combo.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, edit, combo)
    assert longest <= room.width() - 2, combo.width()


def test_what_fits_starts_with_the_chosen_memory(panel: CostPanel) -> None:
    choose(panel, "cost_source", "llama-3-8b")
    choose(panel, "cost_quantity", "fits")
    choose(panel, "cost_memory", "24")
    assert said(panel).startswith("24 GB\n")
    assert "60,573 tokens" in said(panel)
    choose(panel, "cost_memory", "141")
    assert said(panel).startswith("141 GB\n")
    assert "60,573 tokens" in said(panel), "the others are there, too"
    titles = [line.removesuffix(" GB") for line in said(panel).splitlines() if line.endswith(" GB")]
    sizes = [int(title) for title in titles if title.isdigit()]
    assert sizes[1:] == sorted(memory.gb for memory in MEMORIES if memory.gb != 141)


FITS = (
    ("llama-3-70b", "80", "The weights alone need 141.11 GB of 80 GB. 2 such devices would do."),
    (
        "llama-3-8b",
        "24",
        "8,192 tokens at batch 1 fit in 24 GB: 6.87 GB are free. 60,573 tokens or batch 7 would fit.",
    ),
    ("gpt3", "8", "The weights alone need 349.21 GB of 8 GB. 45 such devices would do."),
)


@pytest.mark.parametrize(("model", "memory", "sentence"), FITS)
def test_a_bar_and_a_sentence_say_what_fits(panel: CostPanel, model: str, memory: str, sentence: str) -> None:
    choose(panel, "cost_source", model)
    choose(panel, "cost_memory", memory)
    assert panel.findChild(QLabel, "cost_sentence").text() == sentence  # type: ignore[union-attr]
    weights, cache, free = panel.bar.parts()
    fit, width = panel.question.fit, panel.bar.width()
    scale = width / max(fit.memory, fit.used)
    assert [part.width() for part in (weights, cache)] == pytest.approx(
        [scale * fit.weights, scale * fit.cache]
    )
    image, past = picture(panel.bar), panel.bar.past()
    theme = LIGHT
    assert count_color(image, theme.query, weights) > 0.8 * min(weights.width(), width - past.width()) * 16
    assert (past.width() > 0) == (fit.free < 0)
    assert past.isEmpty() or count_color(image, theme.error, past) > 0.8 * past.width() * 14
    assert (free.width() > 0) == (fit.free >= 0) and cache.width() > 0


def test_a_memory_of_any_size_is_typed_and_a_batch_past_it_names_another(
    panel: CostPanel, qtbot: QtBot
) -> None:
    choose(panel, "cost_source", "llama-3-8b")
    type_number(qtbot, panel, "cost_memory_gb", "20")
    type_number(qtbot, panel, "cost_batch", "16")
    assert find(panel, Combo, "cost_memory").value() == OWN
    # 20·10⁹ − 16,060,522,496 = 3,939,477,504 B, over 16 · 131,072 B: 1,878 tokens.
    said_ = (
        "8,192 tokens at batch 16 need 33.24 GB of 20 GB. "
        "1,878 tokens or batch 3 would fit, or 2 such devices would do."
    )
    assert panel.findChild(QLabel, "cost_sentence").text() == said_  # type: ignore[union-attr]
    panel.bar.chosen.emit("parameters")
    assert panel.question.quantity == "parameters"


def test_a_quantised_cache_shows_its_scales(panel: CostPanel) -> None:
    choose(panel, "cost_source", "llama-2-7b")
    choose(panel, "cost_kv", "int4")
    assert "its scales" in said(panel)
    assert f"{4096 * 32 * 64 * 4 * 18:,} B" in said(panel)
    choose(panel, "cost_group", "64")
    assert f"{4096 * 32 * 64 * (64 + 2 * 2):,} B" in said(panel)


def test_copying_gives_every_digit_tab_separated(panel: CostPanel, qtbot: QtBot) -> None:
    choose(panel, "cost_source", "gpt2")
    choose(panel, "cost_quantity", "parameters")
    qtbot.mouseClick(find(panel, QPushButton, "cost_copy"), Qt.MouseButton.LeftButton)
    rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert ["token embedding", "V · d_model", "50,257 × 768", "38597376"] in rows
    assert [row[3] for row in rows if row[0] == "parameters"] == ["124439808"]


def test_the_lines_can_be_selected_and_not_written(panel: CostPanel, qtbot: QtBot) -> None:
    lines = find(panel, CostLines, "cost_lines")
    before = lines.toPlainText()
    qtbot.keyClicks(lines, "x")
    assert lines.toPlainText() == before
    lines.selectAll()
    lines.copy()
    assert "one token, one layer" in QGuiApplication.clipboard().text()


def test_a_value_stands_on_one_line_with_its_unit(qtbot: QtBot) -> None:
    lines = CostLines()
    qtbot.addWidget(lines)
    lines.set_lines([Line("one token, all layers", "L · bytes", "4 × 512", 2048, "B")])
    for width in range(170, 420, 10):
        lines.resize(width, 200)
        first, last = (lines.document().find(text) for text in ("2,048", " B"))
        assert lines.cursorRect(first).top() == lines.cursorRect(last).top(), width


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("model", ["llama-3-70b", "deepseek-v3"])
def test_a_label_its_product_and_its_value_stand_beside_each_other(
    qtbot: QtBot, language: str, model: str
) -> None:
    """The widest label, "window of 4,096, every layer", has its column, or its product stands below it."""
    set_language(language)
    lines = CostLines()
    qtbot.addWidget(lines)
    lines.set_lines(cache(PUBLISHED_BY_ID[model].architecture, 8192, FORMAT_BY_ID["float16"]))
    set_language("en")
    for width in range(400, 1000, 40):
        lines.resize(width, 900)
        lines.grab()  # lays out the text
        block = lines.document().begin()
        while block.isValid():
            assert "\t" not in block.text() or block.layout().lineCount() == 1, (width, block.text())
            block = block.next()
    beside = [row for row in lines.toPlainText().splitlines() if row.count("\t") == 2]
    assert len(beside) >= 8, "with room, every product is beside its label"


def test_letters_grow_with_the_room_and_values_stay_near_their_labels(panel: CostPanel) -> None:
    choose(panel, "cost_source", "llama-3-70b")
    assert panel.lines.font().pixelSize() == 12
    panel.resize(2560, 1300)
    QApplication.processEvents()
    assert panel.lines.font().pixelSize() == panel._total.font().pixelSize() == 20
    assert panel.lines.width() < 0.5 * panel.width()
    assert "= 2.68 GB" in said(panel)
    panel.resize(1100, 400)
    QApplication.processEvents()
    assert panel.lines.font().pixelSize() == 12


def test_curves_are_the_exact_counts_and_are_painted(panel: CostPanel) -> None:
    choose(panel, "cost_source", "gemma-2-9b")
    curve = find(panel, CostCurve, "cost_curve")
    own, names = curve.series()[0], [one.tag for one in curve.series()]
    assert names == ["Gemma-2-9B", "MHA", "GQA", "MQA", "MLA", "w 4,096", "no window"]
    gemma = PUBLISHED_BY_ID["gemma-2-9b"].architecture
    assert own.counts[-1][0] == 131_072
    assert all(value == cache_bytes(gemma, n, FORMAT_BY_ID["float16"]) for n, value in own.counts)
    image = curve.grab().toImage()
    accent = QColor(LIGHT.accent)
    blue = sum(
        image.pixelColor(x, y) == accent for x in range(image.width()) for y in range(0, image.height(), 2)
    )
    assert blue > 40


def test_runs_that_happened_are_points_on_the_curve_of_the_experiment(panel: CostPanel) -> None:
    choose(panel, "cost_quantity", "prefill")
    curve = find(panel, CostCurve, "cost_curve")
    assert curve.points() == []
    for n in (4, 8):
        change(panel.store, tokens=experiment(n).tokens, vectors=SeededVectors(n, 8))
        panel.store.set_trace(run(NumpyEngine("float32"), panel.store.experiment))
    QApplication.processEvents()
    assert [round(10**x) for x, _y in curve.points()] == [4, 8]
    assert "2 measured" in find(panel, QLabel, "cost_caption").text()
    change(panel.store, heads=Heads(4, 1, 4))
    QApplication.processEvents()
    assert curve.points() == [], "other shapes, other times"
    choose(panel, "cost_source", "gpt2")
    assert curve.points() == []


def test_the_line_at_n_can_be_dragged(panel: CostPanel, qtbot: QtBot) -> None:
    choose(panel, "cost_source", "llama-2-7b")
    curve = find(panel, CostCurve, "cost_curve")
    view = curve.view

    def at(power: float) -> QPointF:
        middle = sum(view.viewRange()[1]) / 2
        return QPointF(curve.mapFromScene(view.mapViewToScene(QPointF(power, middle))))

    start, end = at(3.6123599).toPoint(), at(2.0).toPoint()
    pointer.move(curve.viewport(), start, held=False)
    qtbot.wait(15)
    pointer.press(curve.viewport(), start)
    for step in range(1, 5):
        qtbot.wait(15)  # moves that come faster are left out by pyqtgraph
        pointer.move(curve.viewport(), QPoint(start.x() + (end.x() - start.x()) * step // 4, start.y()))
    pointer.release(curve.viewport(), end)
    QApplication.processEvents()
    assert 90 <= panel.question.n <= 111
    assert f"cache of {panel.question.n} tokens" in said(panel)


def test_masks_without_a_closed_form_are_named(panel: CostPanel) -> None:
    choose(panel, "cost_quantity", "prefill")
    panel.store.set_trace(run(NumpyEngine("float32"), panel.store.experiment))
    QApplication.processEvents()
    assert "count as open" not in said(panel)
    change(panel.store, masks=(Causal(), Padding((1,))))
    panel.store.set_trace(run(NumpyEngine("float32"), panel.store.experiment))
    QApplication.processEvents()
    assert "cells blocked by other masks count as visible" in said(panel)


def test_a_narrow_panel_shows_the_arithmetic_or_the_curve(panel: CostPanel, qtbot: QtBot) -> None:
    lines, curve = find(panel, CostLines, "cost_lines"), find(panel, CostCurve, "cost_curve")
    assert lines.isVisible() and curve.isVisible()
    panel.resize(432, 126)
    QApplication.processEvents()
    assert panel.width() == 432 and panel.height() == 126
    assert lines.isVisible() and not curve.isVisible()
    side = find(panel, Segmented, "cost_side").findChild(QAbstractButton, "segment_curve")
    assert side is not None
    qtbot.mouseClick(side, Qt.MouseButton.LeftButton)
    assert curve.isVisible() and not lines.isVisible()


def test_in_a_narrow_column_the_sizes_stand_under_the_arithmetic(panel: CostPanel, qtbot: QtBot) -> None:
    panel.resize(272, 640)
    qtbot.waitUntil(lambda: panel.width() < 300)
    qtbot.wait(10)
    lines, sizes = panel.lines, find(panel, CostFields, "cost_fields")
    assert lines.mapTo(panel, lines.rect().bottomLeft()).y() < sizes.mapTo(panel, QPoint()).y()
    shown = [panel.bar, lines, sizes, *panel.findChildren(QComboBox), find(panel, QLabel, "cost_sentence")]
    for part in (part for part in shown if part.isVisible()):
        place = QRect(part.mapTo(panel, QPoint()), part.size())
        assert 0 <= place.left() and place.right() < panel.width(), part.objectName()
    places = [place for _part, _text, place in panel.bar._texts(panel.bar.width())]
    assert max(place.right() for place in places) <= panel.bar.width()
    assert panel.bar.height() >= max(place.bottom() for place in places)


def test_it_speaks_the_language_and_wears_the_theme(panel: CostPanel) -> None:
    english = said(panel)
    set_language("zh_CN")
    speak()
    recolor(panel, DARK)
    QApplication.processEvents()
    assert "256 B" in said(panel)
    assert find(panel, Combo, "cost_source").accessibleName()
    curve = find(panel, CostCurve, "cost_curve")
    assert curve.grab().toImage().pixelColor(curve.width() - 2, 2) == QColor(DARK.panel)
    set_language("en")
    speak()
    QApplication.processEvents()
    assert said(panel) == english


def test_the_total_stands_above_what_scrolls(panel: CostPanel) -> None:
    total = panel.findChild(QLabel, "cost_total")
    value = cache_bytes_of_lines(panel)
    assert total is not None and total.isVisible() and f"{value:,} B" in total.text()
    assert total.geometry().bottom() < panel.lines.mapTo(panel, QPoint()).y()


def test_the_models_known_best_are_one_click_away_and_so_is_the_way_back(panel: CostPanel) -> None:
    links = find(panel, LinkedText, "cost_models")
    known = [model.name for model in PUBLISHED if model.known_best]
    assert "Llama-3-70B" in known and len(known) <= 4
    assert links.toPlainText() == "Or: " + ", ".join(known)
    panel.resize(264, 700)
    QApplication.processEvents()
    # A place in the words of the link, which stand in two lines.
    cursor = links.document().find("Llama-3-70B")
    cursor.setPosition(cursor.selectionStart() + 2)
    QTest.mouseClick(links.viewport(), Qt.MouseButton.LeftButton, pos=links.cursorRect(cursor).center())
    QApplication.processEvents()
    assert panel.question == of_published(panel.question, "llama-3-70b")
    assert find(panel, Combo, "cost_source").value() == "llama-3-70b"
    assert links.toPlainText() == "Or: this experiment, GPT-2 small, Llama-3-8B, DeepSeek-V3"
    links.anchorClicked.emit(QUrl(links.anchorAt(links.cursorRect(links.document().find("this")).center())))
    QApplication.processEvents()
    assert find(panel, Combo, "cost_source").value() == EXPERIMENT


HEADLINES = (
    # 24·10⁹ − 2 · 8,030,261,248 = 7,939,477,504 B; a token needs 2 · 8 · 128 · 2 · 32 = 131,072 B.
    (
        "llama-3-8b",
        "24",
        "longest context, batch 1: 60,573 tokens · largest batch, 8,192 tokens: 7 sequences",
    ),
    # 2 · 70,553,706,496 B of weights are more than 80·10⁹ B: the line above says so.
    ("llama-3-70b", "80", ""),
    # 192·10⁹ − 141,107,412,992 = 50,892,587,008 B; a token needs 2 · 8 · 128 · 2 · 80 = 327,680 B.
    (
        "llama-3-70b",
        "192",
        "longest context, batch 1: 155,311 tokens · largest batch, 8,192 tokens: 18 sequences",
    ),
)


@pytest.mark.parametrize(("model", "memory", "expected"), HEADLINES)
def test_the_headline_of_the_capacity_is_that_of_the_chosen_memory(
    panel: CostPanel, model: str, memory: str, expected: str
) -> None:
    choose(panel, "cost_source", model)
    choose(panel, "cost_quantity", "fits")
    choose(panel, "cost_memory", memory)
    assert find(panel, QLabel, "cost_total").text() == expected


def test_the_length_of_the_text_is_no_length_of_the_training(panel: CostPanel) -> None:
    choose(panel, "cost_quantity", "fits")
    assert "longest context" in said(panel) and "trained" not in said(panel)
    choose(panel, "cost_source", "llama-3-8b")  # 60,573 tokens fit in 24 GB; config.json says 8,192
    choose(panel, "cost_memory", "24")
    assert "The model was trained for 8,192 tokens." in said(panel)


def of_five(first: Layer) -> Experiment:
    """A stack of five layers of 4 heads and 2 KV heads, of which the first one is another."""
    one = experiment().layers[0]
    return with_parts(experiment(), layers=(first, one, one, one, one))


@pytest.mark.parametrize(
    ("changes", "expected", "hidden"),
    [
        ({"masks": (Causal(), Window(2, 0))}, "1 × w 3 (layer 1)\n4 × layers 2 to 5", "cost_window"),
        (
            {"heads": Heads(8, 1, 4)},
            "1 × h 8, g 1 (layer 1)\n4 × h 4, g 2 (layers 2 to 5)",
            "cost_kv_heads",
        ),
    ],
)
def test_layers_that_differ_are_listed_in_groups(
    panel: CostPanel, changes: dict[str, object], expected: str, hidden: str
) -> None:
    groups = find(panel, QLabel, "cost_groups")
    assert groups.isHidden() and not find(panel, DragNumber, "cost_kv_heads").isHidden()
    five = of_five(with_parts(experiment().layers[0], **changes))
    panel.store.open(Document(five))
    QApplication.processEvents()
    assert groups.text() == expected and not groups.isHidden()
    assert find(panel, DragNumber, "cost_layers").value() == 5
    assert (
        find(panel, DragNumber, hidden).isHidden() and not find(panel, DragNumber, "cost_d_model").isHidden()
    )
    assert "layer 1\n" in said(panel) and "layers 2 to 5\n" in said(panel) and "self" not in said(panel)
    panel.store.set_trace(run(NumpyEngine("float32"), five))
    choose(panel, "cost_quantity", "stages")
    assert "layer 1 · weights\t" in said(panel) and "self" not in said(panel)


def test_the_headline_says_both_passes_of_a_roofline(panel: CostPanel) -> None:
    choose(panel, "cost_source", "llama-2-7b")
    choose(panel, "cost_quantity", "bound")
    headline = find(panel, QLabel, "cost_total").text()
    assert headline.startswith("prefill, at least: ") and " · decoding step, at least: " in headline


def cache_bytes_of_lines(panel: CostPanel) -> int:
    """The last total of the bill."""
    rows = [line.split("\t") for line in panel.lines.plain_lines().splitlines()]
    return int(next(row for row in reversed(rows) if row[0].startswith("cache of"))[3])


def test_numbers_by_hand_are_in_the_bytes_and_not_in_the_operations() -> None:
    plain = one_layer(("a", "b", "c"), SeededVectors(3, 8), heads=Heads(2, 2, 4))
    edited = with_text(plain, "mixed[1, 2, 3] = 0.8")
    runs = [run(NumpyEngine("float32"), one) for one in (plain, edited)]
    question = Question(architecture=architecture_of(edited))
    stages = [bill(replace(question, quantity="stages"), trace) for trace in runs]
    more = [line for line in stages[1] if line not in stages[0] and line.kind == "term"]
    assert [(line.label, line.value) for line in more] == [("mixed, before its edits", 2 * 3 * 4 * 4)]
    for quantity in ("prefill", "step", "bound"):
        with_edits, without = (bill(replace(question, quantity=quantity), trace) for trace in runs[::-1])
        assert with_edits[:-1] == without and "Numbers by hand are not counted" in with_edits[-1].label


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda model: model.id)
def test_a_latent_that_is_switched_on_is_one_that_a_document_can_have(model: Published) -> None:
    question = of_published(Question(architecture=model.architecture), model.id)
    switch = next(field for field in FIELDS if field.name == "cost_latent")
    for d_head in (1, 2, 3, model.architecture.d_head, 12, 26, 50):
        narrow = replace(question, architecture=replace(model.architecture, d_head=d_head))
        offered = [other.latent for _id, _label, other in layouts(replace(narrow.architecture, latent=None))]
        made = [latent for latent in (switch.edit(narrow, True).architecture.latent, *offered) if latent]
        assert len(made) == 2
        for latent in made:
            assert latent.d_rope > 0
            LatentOfDocument(latent.d_c, latent.d_q_c or None, latent.d_rope)


def test_an_odd_number_of_rotated_features_is_refused_as_in_a_document(
    qtbot: QtBot, panel: CostPanel
) -> None:
    choose(panel, "cost_source", "deepseek-v3")
    refused = list[ValueError]()
    panel.findChildren(CostFields)[0].rejected.connect(refused.append)
    type_number(qtbot, panel, "cost_d_rope", "63")
    assert [str(error) for error in refused] == ["latent.d_rope must be an even number; got 63."]
    assert panel.question.architecture.latent == PUBLISHED_BY_ID["deepseek-v3"].architecture.latent
