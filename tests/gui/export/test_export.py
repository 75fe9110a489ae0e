"""Export from the window: real files and a real clipboard, read back."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from desk import Desk, MakeDesk, pixels
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QLabel,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

import attnviz
from attnviz.compute.scheduler import Scheduler
from attnviz.figures import figure_bytes, render
from attnviz.gui.dialogs.export import FigureChoice, FigureDialog, PanelDialog
from attnviz.gui.export import whole
from attnviz.gui.export.export import MOST_COPIED, Exporter, _framed, seen_titles
from attnviz.gui.export.widget import picture
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.panels.stage.panel import StageViewPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.card import Card
from attnviz.i18n import _
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import Cell, Ranges
from attnviz.model.stages import STAGE_BY_ID

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT = 700, 420


class Bench:
    """A window with one panel, its store and its exporter; `said` and `failed` hold what was emitted."""

    def __init__(self, preset: str) -> None:
        load_fonts()
        document = load_preset(preset)
        self.store = Store(document)
        self.window = QWidget()
        self.panel = StageViewPanel(self.store, self.window)
        self.panel.header().setParent(self.window)
        self.panel.setGeometry(0, 0, WIDTH, HEIGHT)
        self.panel.start()
        self.store.set_trace(attnviz.run(document))
        for _time in range(2):
            self.panel.grab()  # the caption takes its height when it is first laid out
        self.scheduler = Scheduler(lambda call: call(), inline=True)
        self.exporter = Exporter(self.window, self.store, self.scheduler)
        self.said: list[str] = []
        failed: list[str] = []
        self.failed = failed
        self.exporter.said.connect(self.said.append)
        self.exporter.failed.connect(lambda error: failed.append(str(error)))


@pytest.fixture
def bench(qtbot: Any) -> Iterator[Bench]:
    made = Bench("cross-attention")
    qtbot.addWidget(made.window)
    yield made


def choice(**changes: Any) -> FigureChoice:
    return FigureChoice(
        **{"stage": "weights", "head": 0, "theme": "light", "format_id": "svg", "dpi": 100, **changes}
    )


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_figure_is_the_one_that_the_library_draws(bench: Bench, tmp_path: Path, suffix: str) -> None:
    bench.store.look(orientation="queries_as_columns", ranges=Ranges.of_all("log"))
    file = tmp_path / f"figure.{suffix}"
    bench.exporter.write_figure(file, choice(theme="dark"))
    document = bench.store.document
    figure = render(attnviz.run(document), document.view, "weights", 0, theme="dark")
    assert file.read_bytes() == figure_bytes(figure, suffix, dpi=100)
    assert (bench.said, bench.failed) == ([f"Saved figure.{suffix}"], [])


def test_what_cannot_be_written_is_one_sentence(bench: Bench, tmp_path: Path) -> None:
    bench.exporter.write_figure(tmp_path / "a.gif", choice())
    bench.exporter.write_figure(tmp_path / "absent" / "a.svg", choice())
    bench.exporter.write_panel(tmp_path / "a.bmp", bench.panel)
    bench.exporter.write_panel(tmp_path / "absent" / "a.png", bench.panel)
    bench.exporter.write_numbers(tmp_path / "a.txt")
    assert bench.failed == [
        "a.gif: suffix must be one of '.svg', '.pdf', '.png'; got '.gif'.",
        "a.svg: No such file or directory",
        "a.bmp: suffix must be one of '.svg', '.pdf', '.png'; got '.bmp'.",
        "a.png: No such file or directory",
        "a.txt: suffix must be one of '.csv', '.npz'; got '.txt'.",
    ]
    assert bench.said == [] and [f for f in tmp_path.iterdir() if f.is_file()] == []


def test_a_panel_as_png_is_twice_as_large_and_looks_the_same(bench: Bench, tmp_path: Path) -> None:
    bench.exporter.write_panel(tmp_path / "p.png", bench.panel)
    image = QImage(str(tmp_path / "p.png"))
    assert (image.width(), image.height()) == (2 * WIDTH, 2 * HEIGHT)
    assert image.pixelColor(1, 1) == QColor(LIGHT.panel)
    cell = bench.panel.map.mapTo(bench.panel, bench.panel.map.cell_center(1, 0).toPoint())
    largest = image.pixelColor(2 * cell.x() - 20, 2 * cell.y() - 20)
    assert largest.name() == "#fde725"  # the end of viridis: .85 is the largest weight


def test_a_panel_as_svg_holds_its_text(bench: Bench, tmp_path: Path) -> None:
    bench.exporter.write_panel(tmp_path / "p.svg", bench.panel)
    data = (tmp_path / "p.svg").read_bytes()
    texts = {"".join(text.itertext()).strip() for text in ET.fromstring(data).iter(f"{SVG}text")}
    assert {"猫", "坐在", "垫子", "上", "0.850", "mat"} <= texts
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(QColor("#ff00ff"))
    painter = QPainter(image)
    QSvgRenderer(data).render(painter)
    painter.end()
    screen = bench.panel.map
    center = screen.mapTo(bench.panel, screen.cell_center(1, 0).toPoint())
    near = image.pixelColor(center.x() - 10, center.y() - 10)
    assert near.name() == "#fde725"
    assert image.pixelColor(1, 1) == QColor(LIGHT.panel)


def test_what_is_too_large_for_a_picture_is_cut_off_in_an_svg(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "LARGEST", 100)
    bench.window.show()
    panel, scroll, content = QWidget(bench.window), QScrollArea(), QWidget()
    box = QVBoxLayout(panel)
    box.addWidget(scroll)
    inner = QVBoxLayout(content)
    for word in ("first", "second", "<last>"):
        label = QLabel(word)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setFixedHeight(60)
        inner.addWidget(label)
    scroll.setWidget(content)
    panel.resize(200, 100)
    scroll.setMinimumWidth(scroll.sizeHint().width())
    panel.show()
    bench.exporter.write_panel(tmp_path / "p.svg", panel)
    root = ET.fromstring((tmp_path / "p.svg").read_bytes())
    clip = next(root.iter(f"{SVG}clipPath"))
    (rect,) = clip
    view = scroll.viewport()
    assert (rect.get("width"), rect.get("height")) == (str(scroll.contentsRect().width()), str(view.height()))
    (group,) = (g for g in root.iter(f"{SVG}g") if g.get("clip-path") == f"url(#{clip.get('id')})")
    corner = view.mapTo(panel, QPoint())
    assert group.get("transform") == f"translate({corner.x()},{corner.y()})"
    inside = ["".join(text.itertext()).strip() for text in group.iter(f"{SVG}text")]
    assert inside == ["first", "second"]  # the second is cut, what is below it is not painted
    assert len(list(root.iter(f"{SVG}text"))) == 2  # and nowhere else
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len(set(names))
    assert not view.isHidden() and not content.isHidden()


def test_letters_of_an_svg_are_outlines_in_any_program(bench: Bench, tmp_path: Path) -> None:
    """A program that knows no font of the program sees what the window shows."""
    bench.exporter.write_panel(tmp_path / "p.svg", bench.panel)
    data = (tmp_path / "p.svg").read_bytes()
    root = ET.fromstring(data)
    texts = list(root.iter(f"{SVG}text"))
    assert texts and all(text.get("opacity") == "0" for text in texts)
    assert b"@font-face" not in data and len(data) < 500_000
    bare = re.sub(rb"<text\b.*?</text>", b"", data, flags=re.DOTALL)
    smooth = Qt.TransformationMode.SmoothTransformation
    shown = picture(bench.panel, LIGHT).toImage().scaled(WIDTH, HEIGHT, mode=smooth)
    wanted = pixels(shown).mean(axis=2)
    drawn = drawn_pixels(bare)
    first = bench.panel.map.mapTo(bench.panel, bench.panel.map.layout_shown.plot.topLeft().toPoint())
    labels = (slice(first.y(), None), slice(0, first.x() - 4))  # of the rows, left of the matrix
    ink = 255 - wanted[labels]
    assert (ink > 60).sum() > 100
    assert np.abs(wanted - drawn)[labels].sum() < 0.5 * ink.sum()


def drawn_pixels(svg: bytes) -> np.ndarray[Any, Any]:
    """The brightness that the panel's SVG gives, (height, width)."""
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(QColor(LIGHT.panel))
    painter = QPainter(image)
    QSvgRenderer(svg).render(painter)
    painter.end()
    return pixels(image).mean(axis=2)


@pytest.mark.qt_log_ignore("propagateSizeHints")
def test_a_panel_is_exported_whole_and_without_what_only_the_mouse_needs(desk: Desk, tmp_path: Path) -> None:
    desk.store.look(locked=Cell("weights", 2, 1))
    desk.settle()
    block, inspector = desk.window.panels["block"], desk.window.panels["inspector"]
    desk.bring("block")
    desk.qtbot.waitUntil(lambda: not desk.window.docks["block"].visibleRegion().isEmpty())
    frames = [_framed(panel) for panel in (block, inspector)]
    before = [frame.geometry() for frame in frames], desk.window.focusWidget()
    bars = [bar for frame in frames for bar in frame.findChildren(QScrollBar) if bar.isVisible()]
    assert bars  # else there is nothing to be seen here
    texts = []
    for name, panel in (("block", block), ("inspector", inspector)):
        exporter = desk.window.handlers._exporter
        exporter.write_panel(tmp_path / f"{name}.svg", panel)
        root = ET.parse(tmp_path / f"{name}.svg").getroot()
        texts.append({"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")})
        exporter.write_panel(tmp_path / f"{name}.png", panel)
        image = QImage(str(tmp_path / f"{name}.png"))
        wide, high = (int(float(number)) for number in str(root.get("viewBox")).split()[2:])
        assert (image.width(), image.height()) == (2 * wide, 2 * high)
    site = desk.store.site
    assert {_(STAGE_BY_ID[stage].title) for stage in site.stages} <= texts[0]
    assert any(text.endswith("°") for text in texts[1])  # the last line of the derivation
    assert "Esc unlocks" not in texts[1]
    for frame, was in zip(frames, before[0], strict=True):
        assert frame.geometry() == was
    assert desk.window.focusWidget() is before[1]
    desk.qtbot.waitUntil(lambda: all(bar.isVisible() for bar in bars))


def test_a_panel_as_pdf_is_one_page_of_its_size_with_embedded_chinese(bench: Bench, tmp_path: Path) -> None:
    bench.exporter.write_panel(tmp_path / "p.pdf", bench.panel)
    data = (tmp_path / "p.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", data)
    assert box is not None
    assert (float(box[1]), float(box[2])) == pytest.approx((WIDTH * 0.75, HEIGHT * 0.75), abs=1)
    assert b"AttnvizSansSC" in data


def test_a_panel_in_a_card_is_exported_with_its_title(bench: Bench, tmp_path: Path) -> None:
    card = Card("Weights and more")
    card.setParent(bench.window)
    card.body.addWidget(bench.panel)
    card.resize(WIDTH, HEIGHT)
    bench.exporter.write_panel(tmp_path / "p.svg", bench.panel)
    root = ET.fromstring((tmp_path / "p.svg").read_bytes())
    texts = " ".join("".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")).lower()
    assert "weights and more" in texts and "0.850" in texts


def test_hover_is_not_exported(bench: Bench) -> None:
    plain = picture(bench.panel, LIGHT).toImage()
    bench.store.set_hover(Cell("weights", 2, 2))
    assert picture(bench.panel, LIGHT).toImage() != plain
    bench.exporter.write_panel(Path("absent/p.png"), bench.panel)
    assert bench.store.pointer.cell is None
    assert picture(bench.panel, LIGHT).toImage() == plain


def test_numbers_as_csv_are_the_shown_stage_and_as_npz_everything(bench: Bench, tmp_path: Path) -> None:
    bench.store.look(stage="scores")
    trace = bench.store.trace
    assert trace is not None
    bench.exporter.write_numbers(tmp_path / "n.csv")
    bench.exporter.write_numbers(tmp_path / "n.npz")
    with (tmp_path / "n.csv").open(encoding="utf-8-sig", newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["", "猫", "坐在", "垫子", "上"]
    read = np.array([row[1:] for row in rows], dtype=np.float64)
    np.testing.assert_array_equal(read, trace["scores"][0])
    with np.load(tmp_path / "n.npz") as stages:
        assert len(stages.files) == len(trace.only.stages)
    assert bench.said == ["Saved n.csv", "Saved n.npz"]


def test_copied_table_has_every_digit(bench: Bench) -> None:
    bench.exporter.copy_table()
    trace = bench.store.trace
    assert trace is not None
    head, *rows = (line.split("\t") for line in QGuiApplication.clipboard().text().rstrip("\n").split("\n"))
    assert head == ["", "猫", "坐在", "垫子", "上"]
    assert [row[0] for row in rows] == list(trace.experiment.tokens)
    np.testing.assert_array_equal(np.array([r[1:] for r in rows], dtype=np.float64), trace["weights"][0])
    assert bench.said == ["Copied the table to the clipboard."]


def test_a_table_that_is_too_large_for_the_clipboard_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4096 tokens would be 140 MB of text: 16,777,216 cells, four times what is taken."""
    assert MOST_COPIED == 4_194_304
    trace = bench.store.trace
    assert trace is not None
    cells = trace["weights"][0].size
    QGuiApplication.clipboard().setText("as it was")
    monkeypatch.setattr("attnviz.gui.export.export.MOST_COPIED", cells - 1)
    bench.exporter.copy_table()
    assert bench.failed == [
        f"A table on the clipboard has at most {cells - 1} cells; got {cells}. Export it as CSV."
    ]
    assert QGuiApplication.clipboard().text() == "as it was" and bench.said == []
    monkeypatch.setattr("attnviz.gui.export.export.MOST_COPIED", cells)
    bench.exporter.copy_table()
    assert bench.said == ["Copied the table to the clipboard."]


def test_copied_picture_is_the_map_at_twice_its_size(bench: Bench) -> None:
    bench.exporter.copy_picture()
    image = QGuiApplication.clipboard().image()
    assert (image.width(), image.height()) == (2 * bench.panel.map.width(), 2 * bench.panel.map.height())
    assert image.pixelColor(0, 0) == QColor(LIGHT.panel)
    at = bench.panel.map.cell_center(1, 0) * 2
    assert image.pixelColor(int(at.x()) - 20, int(at.y()) - 20).name() == "#fde725"


def test_a_copied_picture_has_letters_as_sharp_as_its_pixels(bench: Bench) -> None:
    bench.exporter.copy_picture()
    image = pixels(QGuiApplication.clipboard().image()).mean(axis=2)
    plot = bench.panel.map.layout_shown.plot
    labels = image[2 * int(plot.top()) : 2 * int(plot.bottom()), : 2 * int(plot.left()) - 4]
    assert (labels < 150).sum() > 200
    halves = labels[: labels.shape[0] // 2 * 2, : labels.shape[1] // 2 * 2]
    blown_up = np.repeat(np.repeat(halves[::2, ::2], 2, axis=0), 2, axis=1)
    assert not np.array_equal(halves, blown_up)


def test_without_numbers_there_is_a_sentence(bench: Bench) -> None:
    bench.store.trace = None
    bench.exporter.copy_table()
    bench.exporter.copy_picture()
    bench.exporter.export_figure()
    assert bench.failed == ["An export needs computed numbers; got none yet."] * 3


def test_the_caption_is_exported_if_wished(qtbot: Any) -> None:
    bench = Bench("grouped-query")
    qtbot.addWidget(bench.window)
    trace, view = bench.store.trace, bench.store.document.view
    assert trace is not None
    dialog = FigureDialog(
        bench.window, trace, view, "light", bench.scheduler, "A sentence about [eight] heads"
    )
    check = dialog.findChild(QCheckBox, "export_caption_check")
    preview = dialog.findChild(QLabel, "export_preview")
    assert dialog.choice.caption == ""
    without = preview.pixmap().toImage()
    check.click()
    assert dialog.choice.caption == "A sentence about [eight] heads"
    assert preview.pixmap().toImage() != without
    bare = FigureDialog(bench.window, trace, view, "light", bench.scheduler)
    assert bare.findChild(QCheckBox, "export_caption_check") is None
    for one in (dialog, bare):
        one.done(0)


def test_the_dialog_offers_what_the_trace_has_and_previews_it(qtbot: Any) -> None:
    bench = Bench("grouped-query")
    qtbot.addWidget(bench.window)
    trace, view = bench.store.trace, replace(bench.store.document.view, stage="weights", head=5)
    assert trace is not None
    dialog = FigureDialog(bench.window, trace, view, "dark", bench.scheduler)
    stage, head, kind = (dialog.findChild(QComboBox, f"export_{n}_box") for n in ("stage", "head", "format"))
    preview, dpi = dialog.findChild(QLabel, "export_preview"), dialog.findChild(QSpinBox, "export_dpi_box")
    assert [stage.itemData(i) for i in range(stage.count())] == list(trace.only.stages)
    assert dialog.choice == FigureChoice("weights", 5, "dark", "svg", 200)
    assert head.count() == 9
    dark = preview.pixmap().toImage()
    assert dark.pixelColor(1, 1) == QColor(DARK.panel)
    stage.setCurrentIndex(stage.findData("k"))
    assert [head.itemData(i) for i in range(head.count())] == [0, 1, "all"]
    assert dialog.choice.head == 1  # the key/value head that query head 5 reads
    assert preview.pixmap().toImage() != dark
    assert not dpi.isEnabled()
    kind.setCurrentIndex(kind.findData("png"))
    assert dpi.isEnabled() and dialog.choice.format_id == "png"
    dialog.reject()
    dialog.deleteLater()


def test_the_dialog_offers_the_attentions_where_there_are_several(qtbot: Any, tmp_path: Path) -> None:
    bench = Bench("encoder-decoder")
    qtbot.addWidget(bench.window)
    trace, view = bench.store.trace, bench.store.document.view
    assert trace is not None
    dialog = FigureDialog(bench.window, trace, view, "light", bench.scheduler)
    site, stage, head = (dialog.findChild(QComboBox, f"export_{n}_box") for n in ("site", "stage", "head"))
    preview = dialog.findChild(QLabel, "export_preview")
    assert [site.itemText(i) for i in range(site.count())] == [
        "Encoder layer 1 · self-attention",
        "Decoder layer 1 · masked self-attention",
        "Decoder layer 1 · cross-attention",
        "all, side by side",
    ]
    assert dialog.choice.site == "decoder.0.cross"
    one = preview.pixmap().toImage()
    stage.setCurrentIndex(stage.findData("memory"))
    site.setCurrentIndex(0)
    # The encoder has no memory: back to the weights.
    assert [stage.itemData(i) for i in range(stage.count())] == list(trace.site("encoder.0.self").stages)
    assert (dialog.choice.site, dialog.choice.stage) == ("encoder.0.self", "weights")
    head.setCurrentIndex(head.findData("all"))
    site.setCurrentIndex(3)
    assert [stage.itemData(i) for i in range(stage.count())] == ["scores", "scaled", "weights"]
    assert [head.itemData(i) for i in range(head.count())] == [0, 1]
    assert dialog.choice.site == "all" and dialog.choice.head == 0
    assert preview.pixmap().toImage() != one
    bench.exporter.write_figure(tmp_path / "all.svg", dialog.choice)
    expected = render(trace, view, "weights", 0, site="all", theme="light")
    assert (tmp_path / "all.svg").read_bytes() == figure_bytes(expected, "svg")
    assert bench.failed == []
    dialog.reject()
    dialog.deleteLater()


def test_the_dialog_does_not_ask_which_attention_where_there_is_one(bench: Bench) -> None:
    trace = bench.store.trace
    assert trace is not None
    dialog = FigureDialog(bench.window, trace, bench.store.document.view, "light", bench.scheduler)
    labels = {label.text() for label in dialog.findChildren(QLabel)}
    assert "Stage" in labels and "Attention" not in labels
    assert dialog.choice.site is None
    dialog.reject()
    dialog.deleteLater()


@pytest.mark.qt_log_ignore("propagateSizeHints")  # the offscreen platform has none
def test_from_the_command_to_the_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    """The dialog's own button is clicked; the file dialog answers with a name without a suffix."""
    from PySide6.QtCore import Qt, QTimer

    asked: list[str] = []

    def name(_parent: QWidget, _title: str, start: str, kinds: str) -> tuple[str, str]:
        asked.append(start)
        return str(tmp_path / "mine"), kinds.split(";;")[0]

    def press_save() -> None:
        dialog = bench.window.findChild(FigureDialog)
        kind = dialog.findChild(QComboBox, "export_format_box")
        kind.setCurrentIndex(kind.findData("pdf"))
        qtbot.mouseClick(dialog.findChild(QPushButton, "export_save_button"), Qt.MouseButton.LeftButton)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", name)
    QTimer.singleShot(0, press_save)
    bench.exporter.export_figure()
    assert asked == ["weights.pdf"]
    assert (tmp_path / "mine.pdf").read_bytes().startswith(b"%PDF")
    assert bench.said == ["Saved mine.pdf"]


# What the offscreen platform says of every window with a minimum size.
@pytest.mark.qt_log_ignore("propagateSizeHints")
def test_a_panel_is_offered_while_it_can_be_seen(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    assert {"stage", "heads", "inspector"} <= set(seen_titles(desk.window.panels))
    assert not {"compare", "cost"} & set(seen_titles(desk.window.panels))
    desk.bring("compare")
    desk.qtbot.waitUntil(lambda: "compare" in seen_titles(desk.window.panels))
    assert "inspector" not in seen_titles(desk.window.panels)


def test_the_panel_dialog_starts_with_the_panel_in_focus(bench: Bench) -> None:
    dialog = PanelDialog(bench.window, {"tokens": "Tokens", "stage": "Stage"}, "stage")
    assert (dialog.panel_id, dialog.format_id) == ("stage", "svg")
    dialog.deleteLater()
