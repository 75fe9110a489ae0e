"""Export from the window: real files and a real clipboard, read back."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from desk import Desk, MakeDesk, pixels
from documents import as_map
from draw import Drawn
from exporting import box, pick
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QVBoxLayout,
    QWidget,
)
from services import services_of

import attnviz
from attnviz.compute.scheduler import Scheduler
from attnviz.explain.scripts import script as scripts
from attnviz.figures import Style, figure_bytes, render
from attnviz.figures.files import FORMATS
from attnviz.figures.options import OPTIONS
from attnviz.gui.commands.actions import ACTIONS
from attnviz.gui.export import widget
from attnviz.gui.export.choices import CHOICES
from attnviz.gui.export.dialog import ExportDialog
from attnviz.gui.export.export import MOST_COPIED, Exporter
from attnviz.gui.export.memory import Memory
from attnviz.gui.export.shell import Command
from attnviz.gui.export.source import Choice
from attnviz.gui.export.table import EXPORT_BY_ID, EXPORTS, GROUP_BY_ID, GROUPS, PIXELS, Export
from attnviz.gui.export.widget import framed, picture, widget_bytes, with_plain_strokes
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.stage.stage import StageViewPanel
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.panels.vectors import VectorsPanel
from attnviz.gui.services.services import Schedulers
from attnviz.gui.settings import Settings
from attnviz.gui.store import Store
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import _
from attnviz.model.io.carriers.table import CARRIER_BY_SUFFIX
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import Cell, Ranges
from attnviz.model.stages import STAGE_BY_ID

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT = 700, 420


def write_panel(path: Path, panel: QWidget) -> None:
    """Write a panel as the dialog makes it."""
    path.write_bytes(widget_bytes(framed(panel), active_theme(), path.suffix[1:]))


class Bench:
    """A window with one panel, its store and its exporter; `said` and `failed` hold what was emitted."""

    def __init__(self, preset: str, settings: Settings) -> None:
        load_fonts()
        document = as_map(load_preset(preset))
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
        schedulers = Schedulers(*[self.scheduler] * 5)
        self.services = replace(services_of(self.store), schedulers=schedulers, settings=settings)
        self.exporter = Exporter(self.window, self.services)
        self.answer: Path | None = Path("answer")
        self.said: list[str] = []
        failed: list[str] = []
        self.failed = failed
        self.exporter.said.connect(self.said.append)
        self.exporter.failed.connect(lambda error: failed.append(str(error)))

    def answers(self, parent: QWidget, row: Export, format_id: str, proposed: str) -> Path | None:
        """The answer to the question for a file."""
        return self.answer


@pytest.fixture
def bench(qtbot: Any, settings: Settings) -> Iterator[Bench]:
    made = Bench("cross-attention", settings)
    qtbot.addWidget(made.window)
    yield made


@pytest.fixture
def open_dialog(qtbot: Any) -> Iterator[Callable[..., ExportDialog]]:
    """Opens the dialog on a bench; it is closed at the end."""
    opened: list[ExportDialog] = []

    def opens(
        bench: Bench, row: str = "stage", chosen: dict[str, str] | None = None, **source: Any
    ) -> ExportDialog:
        made = replace(bench.exporter.source({}), **source)
        dialog = ExportDialog(bench.window, bench.services, made, bench.answers, row, chosen or {})
        qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        opened.append(dialog)
        return dialog

    yield opens
    for dialog in opened:
        dialog.done(0)
        dialog.deleteLater()


def test_a_panel_as_png_is_twice_as_large_and_looks_the_same(bench: Bench, tmp_path: Path) -> None:
    write_panel(tmp_path / "p.png", bench.panel)
    image = QImage(str(tmp_path / "p.png"))
    assert (image.width(), image.height()) == (2 * WIDTH, 2 * HEIGHT)
    assert image.pixelColor(1, 1) == QColor(LIGHT.panel)
    cell = bench.panel.map.mapTo(bench.panel, bench.panel.map.cell_center(1, 0).toPoint())
    largest = image.pixelColor(2 * cell.x() - 20, 2 * cell.y() - 20)
    assert largest.name() == "#fde725"  # the end of viridis: .85 is the largest weight


def test_a_panel_as_svg_holds_its_text(bench: Bench, tmp_path: Path) -> None:
    write_panel(tmp_path / "p.svg", bench.panel)
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


def test_a_panel_as_svg_is_xml_whatever_a_text_holds(bench: Bench) -> None:
    text = QPlainTextEdit("a\x00\x07 \x1b\ufffe <b> &amp; ]]>")
    text.resize(300, 60)
    root = ET.fromstring(widget_bytes(text, LIGHT, "svg"))
    found = "".join("".join(one.itertext()) for one in root.iter(f"{SVG}text"))
    assert found == "a␀␇ ␛⟨U+FFFE⟩ <b> &amp; ]]>"
    text.deleteLater()


def test_what_is_too_large_for_a_picture_is_cut_off_in_an_svg(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(widget, "LARGEST", 100)
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
    write_panel(tmp_path / "p.svg", panel)
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
    write_panel(tmp_path / "p.svg", bench.panel)
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


def test_a_panel_is_exported_whole_and_without_what_only_the_mouse_needs(desk: Desk, tmp_path: Path) -> None:
    desk.store.look(locked=Cell("weights", 2, 1))
    desk.settle()
    texts, found = {}, 0
    for name, width in (("block", 1920), ("inspector", 1000)):  # the narrow one: too low for a derivation
        desk.window.resize(width, 600)
        desk.window.workspaces.reset()
        panel = desk.window.panels[name]
        desk.bring(name)
        least = PANEL_BY_ID[name].width  # in front of its tabs a panel widens the place that they share
        desk.qtbot.waitUntil(lambda name=name, least=least: desk.window.docks[name].width() >= least)
        frame = framed(panel)
        was = frame.geometry(), desk.window.focusWidget()
        bars = [bar for bar in frame.findChildren(QScrollBar) if bar.isVisible()]
        found += len(bars)
        write_panel(tmp_path / f"{name}.svg", panel)
        root = ET.parse(tmp_path / f"{name}.svg").getroot()
        texts[name] = {"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")}
        write_panel(tmp_path / f"{name}.png", panel)
        image = QImage(str(tmp_path / f"{name}.png"))
        wide, high = (int(float(number)) for number in str(root.get("viewBox")).split()[2:])
        assert (image.width(), image.height()) == (2 * wide, 2 * high)
        assert (frame.geometry(), desk.window.focusWidget()) == was
        desk.qtbot.waitUntil(lambda bars=bars: all(bar.isVisible() for bar in bars))
    assert found  # else the test proves nothing
    site = desk.store.site
    assert {_(STAGE_BY_ID[stage].title) for stage in site.stages} <= texts["block"]
    assert any(text.endswith("°") for text in texts["inspector"])  # the last line of the derivation
    assert "Esc unlocks" not in texts["inspector"]


def test_no_picture_of_a_panel_has_buttons_tabs_or_a_search(desk: Desk) -> None:
    seen = {id_: panel for id_, panel in desk.window.panels.items() if panel.is_seen}
    assert {"stage", "vectors", "mechanism"} & set(seen)
    found = 0
    for id_, panel in seen.items():
        frame = framed(panel)
        parts = frame.findChildren(QWidget)
        tools = [part for part in parts if isinstance(part, widget.TOOLS)]
        if id_ == "mechanism":
            tools += [frame.switch, panel.findChild(QLineEdit, "mechanism_search")]
        shown = [part for part in tools if part.isVisible()]
        found += len(shown)
        with widget.shown_whole(frame):
            assert not any(part.isVisible() for part in tools), id_
        assert all(part.isVisible() for part in shown), id_
    assert found > 0
    desk.window.workspaces.enlarge("cost")
    dock = desk.window.docks["cost"]
    with widget.shown_whole(dock):
        assert not dock.enlarge.isVisible()
    assert dock.enlarge.isVisible()


def test_a_panel_as_pdf_is_one_page_of_its_size_with_embedded_chinese(bench: Bench, tmp_path: Path) -> None:
    write_panel(tmp_path / "p.pdf", bench.panel)
    data = (tmp_path / "p.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", data)
    assert box is not None
    assert (float(box[1]), float(box[2])) == pytest.approx((WIDTH * 0.75, HEIGHT * 0.75), abs=1)
    assert b"AttnvizSansSC" in data


def test_curves_of_a_plot_keep_their_width_in_any_program() -> None:
    """As Qt writes a curve: 2 units right are 20 points, 1 unit up is 5 points."""
    group = '<g stroke-width="1.2" transform="matrix(10,0,0,-5,100,50)"  >'
    line = '<path vector-effect="non-scaling-stroke" fill-rule="evenodd" d="M0,0 L2,1 "/>'
    drawn = with_plain_strokes(f"<svg>{group}{line}</g></svg>".encode()).decode()
    assert 'd="M100,50 L120,45 "' in drawn and "vector-effect" not in drawn
    undone = re.search(r'<path transform="matrix\(([^)]*)\)"', drawn)
    assert undone is not None
    a, b, c, d, e, f = map(float, undone[1].split(","))
    assert (a * 120 + c * 45 + e, b * 120 + d * 45 + f) == (2, 1)  # the group's matrix then gives 120, 45


def test_cells_of_a_panel_keep_their_colours_and_edges(bench: Bench, tmp_path: Path) -> None:
    panel = VectorsPanel(bench.store, bench.window)
    panel.start()
    panel.resize(420, 320)
    panel.grab()
    root = ET.fromstring(widget_bytes(panel, LIGHT, "svg"))
    hrefs = [image.get("{http://www.w3.org/1999/xlink}href") for image in root.iter(f"{SVG}image")]
    images = [QImage.fromData(base64.b64decode(str(href).partition(",")[2])) for href in hrefs]
    largest = max(images, key=lambda image: image.width())
    assert largest.width() >= 4 * 200  # four pixels a point: no program smooths cells into each other
    assert b"/DCTDecode" not in widget_bytes(panel, LIGHT, "pdf")  # JPEG changes colours


def test_a_panel_in_a_card_is_exported_with_its_title(bench: Bench, tmp_path: Path) -> None:
    card = Card("Weights and more")
    card.setParent(bench.window)
    card.body.addWidget(bench.panel)
    card.resize(WIDTH, HEIGHT)
    write_panel(tmp_path / "p.svg", bench.panel)
    root = ET.fromstring((tmp_path / "p.svg").read_bytes())
    texts = " ".join("".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")).lower()
    assert "weights and more" in texts and "0.850" in texts


def test_hover_is_not_exported(bench: Bench) -> None:
    plain = picture(bench.panel, LIGHT).toImage()
    bench.store.set_hover(Cell("weights", 2, 2))
    assert picture(bench.panel, LIGHT).toImage() != plain
    bench.exporter.source({})
    assert bench.store.pointer.cell is None
    assert picture(bench.panel, LIGHT).toImage() == plain


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
        f"A copied table must have at most {cells - 1} cells; got {cells}. Export it as CSV."
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


def test_a_map_without_width_is_copied_at_its_usual_size(bench: Bench) -> None:
    bench.panel.map.setFixedWidth(0)
    bench.exporter.copy_picture()
    image, usual = QGuiApplication.clipboard().image(), bench.panel.map.sizeHint()
    assert (image.width(), image.height()) == (2 * usual.width(), 2 * usual.height())


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
    bench.exporter.export("stage")
    assert bench.failed == ["An export needs computed numbers; got none yet."] * 3


def choice_of(format_id: str) -> Choice:
    moving = ("over", "temperature"), ("first", "1"), ("last", "2"), ("count", "2"), ("picture", "stage")
    return Choice(format_id, (("title", "on"), ("bar", "on"), ("panel", "stage"), *moving))


def test_every_row_makes_every_format_of_a_state_and_opens_again(
    bench: Bench, tmp_path: Path, drawn: Drawn
) -> None:
    other = bench.exporter.source({})
    subject = Choice("png", ()).subject(other, lambda: None)
    source = replace(other, other=lambda check: subject, panels={"stage": bench.panel})
    barred = {row.id for row in EXPORTS if row.why_not(source) is not None}
    assert barred <= {
        "dials",
        "lesson",
        "circuits",
        "rollout",
        "flow",
        "layer_by_layer",
        "curves",
        "training",
    }
    names = {one.name for one in CHOICES} | {one.field for one in OPTIONS}
    free = [row for row in EXPORTS if row.id not in barred]
    assert all(set(row.options) <= names for row in free)
    for export, kind in drawn([(row, kind) for row in free for kind in row.formats]):
        made = export.make(source, choice_of(kind.id), lambda: None)
        assert len(made.data) > 100 and made.shown, (export.id, kind.id)
        if kind.suffix in CARRIER_BY_SUFFIX:
            for at, path in enumerate(made.save(tmp_path / f"{export.id}-{kind.id}{kind.suffix}")):
                files = sorted(path.iterdir()) if path.is_dir() else [path]
                assert [attnviz.load(file).experiment for file in files] == [bench.store.experiment] * len(
                    files
                ), (export.id, kind.id, at)


@pytest.mark.parametrize("suffix", [row.id for row in FORMATS])
def test_the_file_of_a_figure_is_the_one_of_the_shell(
    bench: Bench, open_dialog: Callable[..., ExportDialog], tmp_path: Path, suffix: str, qtbot: Any
) -> None:
    bench.store.look(orientation="queries_as_columns", ranges=Ranges.of_all("log"))
    dialog = open_dialog(bench)
    pick(dialog, "theme", "dark")
    pick(dialog, "format", suffix)
    qtbot.waitUntil(lambda: dialog._shown is not None)
    dialog._on_save()
    assert dialog.made is not None
    bench.exporter.write(tmp_path / f"a.{suffix}", dialog.made)
    document = bench.store.document
    style = Style(theme="dark")
    shown = EXPORT_BY_ID["stage"].make(bench.exporter.source({}), dialog.choice, lambda: None)
    assert (tmp_path / f"a.{suffix}").read_bytes() == shown.data
    attnviz.render(document, tmp_path / f"b.{suffix}", stage="weights", head=0, style=style)
    assert attnviz.load(tmp_path / f"a.{suffix}") == attnviz.load(tmp_path / f"b.{suffix}") == document
    figure = render(attnviz.run(document), document.view, "weights", 0, style=style)
    plain = figure_bytes(figure, suffix)
    made = (tmp_path / f"a.{suffix}").read_bytes()
    assert len(made) > len(plain) and made[-4:] == plain[-4:]
    assert bench.said == [f"Saved a.{suffix}"]


def test_the_title_of_the_chosen_group_is_in_sight(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench, chosen={})
    dialog.show()
    qtbot.waitExposed(dialog)
    kinds = dialog._kinds
    assert kinds.viewport().rect().contains(kinds.visualItemRect(kinds.item(0))), "as it opens"
    kinds.setFixedHeight(260)
    for group in reversed(GROUPS):
        pick(dialog, "what", next(row.id for row in EXPORTS if row.group == group.id))
        title = next(kinds.item(row) for row in range(kinds.count()) if kinds.item(row).text() == group.title)
        assert kinds.viewport().rect().contains(kinds.visualItemRect(title)), group.id


def test_the_preview_is_the_file(bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any) -> None:
    dialog = open_dialog(bench)
    pick(dialog, "format", "png")
    qtbot.waitUntil(lambda: dialog._shown is not None)
    preview = dialog.findChild(QLabel, "export_preview").pixmap().toImage()
    dialog._on_save()
    assert dialog.made is not None
    image = QImage.fromData(dialog.made.data)
    assert preview.width() / preview.height() == pytest.approx(image.width() / image.height(), rel=0.02)
    assert preview.pixelColor(1, 1) == image.pixelColor(1, 1) == QColor(LIGHT.panel)


def test_a_bad_option_is_said_beside_its_field(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench)
    for name, text, sentence in (
        ("width", "5mm", "must be from 20 mm to 1000 mm; got 5 mm."),
        ("width", "wide", "must be a length such as 85mm or 3.5in"),
        ("width", "20mm", "must be at least"),
        ("font_size", "900", "must be a size from 4 to 48 points"),
    ):
        control = box(dialog, name)
        (control.setEditText if isinstance(control, QComboBox) else control.setText)(text)
        error = dialog.findChild(QLabel, f"export_{name}_error")
        qtbot.waitUntil(lambda error=error: bool(error.text()))
        assert sentence in error.text()
        assert dialog._shown is None
        (control.setEditText if isinstance(control, QComboBox) else control.setText)("")
        qtbot.waitUntil(lambda: dialog._shown is not None)
        assert error.text() == ""


def test_the_dialog_says_that_the_row_sums_have_no_room(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    bench.store.open(load_preset("grouped-query"))
    bench.store.set_trace(attnviz.run(bench.store.document))
    dialog = open_dialog(bench, chosen={"stage": "weights"})
    room, title = dialog.findChild(QLabel, "export_room"), box(dialog, "title")
    assert room.text() == "" and not box(dialog, "sums").isHidden() and title.isChecked()
    box(dialog, "width").setEditText("85mm")
    qtbot.waitUntil(lambda: bool(room.text()))
    assert room.text() == "Row sums: from 100 mm on." and box(dialog, "sums").isHidden()
    assert not title.isChecked() and dialog.choice.text("title") == ""
    checks = [label.text() for label in dialog.findChildren(QLabel, "export_check") if not label.isHidden()]
    assert checks[-3:] == ["✓ 8 of 8 labels, 7 pt", "✓ map 81 % of the width", "✓ letters as outlines"]
    box(dialog, "width").setEditText("180mm")
    qtbot.waitUntil(lambda: dialog._shown is not None and room.text() == "")
    assert not box(dialog, "sums").isHidden() and title.isChecked()


def test_a_caption_for_the_text_is_copied(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench)
    caption = dialog.findChild(QLabel, "export_caption").text()
    assert caption == "weights · head 1 of 1. Rows: query; columns: key."
    dialog.findChild(QPushButton, "export_caption_button").click()
    assert QGuiApplication.clipboard().text() == caption


def test_the_kinds_stand_in_four_groups(bench: Bench, open_dialog: Callable[..., ExportDialog]) -> None:
    kinds = open_dialog(bench)._kinds
    lines = [kinds.item(index).text() for index in range(kinds.count())]
    assert len(lines) == len(EXPORTS) + len(GROUPS)
    titles = [group.title for group in GROUPS]
    assert titles == ["Figure", "Animation", "Page and notebook", "Data and code"]
    starts = {group.id: lines.index(group.title) for group in GROUPS}
    assert list(starts.values()) == sorted(starts.values())
    for row in EXPORTS:
        at = kinds.row(kinds.item_of(row.id))
        assert max((id_ for id_ in starts if starts[id_] < at), key=lambda id_: starts[id_]) == row.group
        assert lines[at] == row.title


def test_a_name_is_asked_for_before_the_file_is_made(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog, asked = open_dialog(bench), list[bool]()

    def answer(parent: QWidget, row: Export, format_id: str, proposed: str) -> Path | None:
        asked.append(dialog._shown is None)
        return None

    dialog._ask = answer
    pick(dialog, "format", "pdf")
    dialog._on_save()
    assert asked == [True] and dialog.made is None and not dialog._is_saving


def test_a_click_begins_to_type_a_width(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench)
    dialog.show()
    line = box(dialog, "width").lineEdit()
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    assert dialog.focusWidget() is box(dialog, "width")
    qtbot.keyClicks(dialog.focusWidget(), "120mm")
    assert dialog.choice.text("width") == "120mm"


def test_only_the_options_of_a_row_are_offered(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench)
    names = [*(row.name for row in CHOICES), *(row.field for row in OPTIONS)]
    for row in EXPORTS:
        if row.why_not(dialog._source) is not None:
            assert not dialog._kinds.item_of(row.id).flags() & Qt.ItemFlag.ItemIsEnabled
            continue
        pick(dialog, "what", row.id)
        offered = {name for name in names if not box(dialog, name).isHidden()}
        hidden = {"site", "caption"} | row.idle(dialog._value)
        hidden |= {"dpi"} if dialog.choice.format not in PIXELS else set()
        assert offered - hidden == set(row.options) - hidden, row.id
        assert [dialog._format.itemData(i) for i in range(dialog._format.count())] == [
            kind.id for kind in row.formats
        ]


def test_a_stage_offers_its_heads_and_all_attentions_their_stages(
    qtbot: Any, settings: Settings, open_dialog: Callable[..., ExportDialog]
) -> None:
    bench = Bench("encoder-decoder", settings)
    qtbot.addWidget(bench.window)
    dialog = open_dialog(bench)
    trace = bench.store.trace
    assert trace is not None
    site, stage, head = (box(dialog, name) for name in ("site", "stage", "head"))
    assert [site.itemText(i) for i in range(site.count())] == [
        "Encoder layer 1 · self-attention",
        "Decoder layer 1 · masked self-attention",
        "Decoder layer 1 · cross-attention",
    ]
    assert site.currentData() == "decoder.0.cross"
    pick(dialog, "stage", "memory")
    assert head.count() == 1
    pick(dialog, "site", "encoder.0.self")
    assert [stage.itemData(i) for i in range(stage.count())] == list(trace.site("encoder.0.self").stages)
    assert stage.currentData() != "memory"
    pick(dialog, "what", "sites")
    assert [stage.itemData(i) for i in range(stage.count())] == ["scores", "scaled", "weights"]
    qtbot.waitUntil(lambda: dialog._shown is not None)


def test_the_last_settings_are_remembered(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    first = open_dialog(bench)
    box(first, "width").setEditText("85mm")
    box(first, "title").setChecked(True)
    pick(first, "format", "pdf")
    qtbot.waitUntil(lambda: first._shown is not None)
    first._on_save()
    second = open_dialog(bench)
    assert box(second, "width").currentText() == "85mm" and box(second, "title").isChecked()
    assert second.choice.format == "pdf" and second.choice.text("title") == "on"
    pick(second, "what", "heads")
    assert box(second, "width").currentText() == "85mm" and second.choice.text("title") == ""
    assert second.choice.format == "pdf"
    box(second, "width").setEditText("180mm")
    pick(second, "format", "svg")
    pick(second, "what", "stage")
    assert (box(second, "width").currentText(), second.choice.format) == ("180mm", "svg")
    pick(second, "what", "circuits")
    pick(second, "what", "pull")
    assert box(second, "width").currentText() == ""
    bench.services.settings.set_export("{broken")
    assert open_dialog(bench).choice.format == "svg"


def test_a_dark_window_exports_light_figures_unless_somebody_chose_dark_ones(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    first = open_dialog(bench, theme="dark")
    for kind in ("stage", "heads", "sequence"):
        pick(first, "what", kind)
        assert first.choice.style.theme == "light"
    pick(first, "what", "heads")
    pick(first, "theme", "dark")
    qtbot.waitUntil(lambda: first._shown is not None, timeout=20_000)
    first._on_save()
    second = open_dialog(bench, "heads", theme="dark")
    assert second.choice.style.theme == "dark"
    pick(second, "what", "stage")
    assert second.choice.style.theme == "light"


def test_the_last_rows_are_whole(bench: Bench, open_dialog: Callable[..., ExportDialog]) -> None:
    dialog = open_dialog(bench)
    dialog.show()
    ids = [row.id for row in EXPORTS]
    for height in range(500, 540, 7):
        dialog.resize(900, height)
        for id_ in ("table", "script"):
            pick(dialog, "what", "stage")
            pick(dialog, "what", id_)
            kinds = dialog._kinds
            seen = kinds.viewport().rect()
            assert all(seen.contains(kinds.visualItemRect(kinds.item_of(one))) for one in ids[-2:])


def test_the_dialog_opens_at_the_last_kind_of_a_group_or_of_all(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "a"), ""))
    opened: list[str] = []

    def opens(action: str, save: str = "") -> str:
        """The row with which a command opens the dialog, in which then another one is saved, if any."""

        def act() -> None:
            dialog = desk.window.findChild(ExportDialog)
            opened.append(dialog.export.id)
            if save:
                pick(dialog, "what", save)
                desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
                dialog._on_save()
            else:
                dialog.reject()

        QTimer.singleShot(0, act)
        desk.window.commands[action].trigger()
        desk.settle()
        return opened[-1]

    commands = {row.argument: row.id for row in ACTIONS if row.run == "export"}
    assert tuple(commands) == tuple(group.id for group in GROUPS if group.is_alike)
    desk.store.look(picture="arcs")
    assert opens("export") == "arcs"
    assert [EXPORT_BY_ID[opens(action)].group for action in commands.values()] == list(commands)
    assert opens("export", save="script") == "arcs"
    assert opens("export") == "script"
    assert opens("export_figure", save="heads") == "arcs"
    assert opens("export") == opens("export_figure") == "heads"


def test_the_menu_has_an_entry_for_each_page_and_program_and_the_dialog_opens_at_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(ExportDialog, "ask", lambda dialog: opened.append(dialog.export.id))
    kinds = [row for row in EXPORTS if not GROUP_BY_ID[row.group].is_alike]
    for row in kinds:
        entry = desk.export_entry(row.id)
        assert entry.text() == f"{_(row.title)}…"
        assert entry.isEnabled() == (row.id != "lesson")
        entry.trigger()
    assert opened == [row.id for row in kinds if row.id != "lesson"]
    assert {"page", "notebook"} <= set(opened)
    assert "Open a lesson in Learn first." in desk.export_entry("lesson").toolTip()
    shown = [action.text() for action in desk.window.commands.menu("export").actions() if action.text()]
    assert len(shown) <= 16 and shown.count("Notebook…") == 1


def test_a_table_is_shown_as_it_is_written(
    bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench, "table")
    pick(dialog, "format", "bmatrix")
    box(dialog, "digits").setText("2")
    qtbot.waitUntil(lambda: dialog._shown is not None)
    text = dialog.findChild(QPlainTextEdit, "export_text")
    assert dialog._shown is not None
    bare = text.toPlainText()
    assert bare.startswith(r"\begin{bmatrix}") and bare.endswith("\\end{bmatrix}\n")
    assert dialog._shown[2].data.decode().startswith(f"{bare}% The document of this file")
    dialog._on_copy()
    assert QGuiApplication.clipboard().text() == bare
    box(dialog, "digits").setText("99")
    error = dialog.findChild(QLabel, "export_digits_error")
    qtbot.waitUntil(lambda: "from 0 to 17; got '99'." in error.text())


@pytest.mark.parametrize(("export", "breaks"), [("page", True), ("script", False), ("table", False)])
def test_a_sentence_in_the_preview_breaks_and_a_line_of_a_file_does_not(
    export: str, breaks: bool, bench: Bench, open_dialog: Callable[..., ExportDialog], qtbot: Any
) -> None:
    dialog = open_dialog(bench, export)
    qtbot.waitUntil(lambda: dialog._shown is not None)
    text = dialog.findChild(QPlainTextEdit, "export_text")
    dialog.show()
    text.setFixedWidth(120)
    qtbot.waitUntil(lambda: text.viewport().width() < 120)
    assert (text.horizontalScrollBar().maximum() == 0) is breaks and text.toPlainText()


def test_what_cannot_be_written_is_one_sentence(bench: Bench, tmp_path: Path) -> None:
    made = EXPORT_BY_ID["table"].make(bench.exporter.source({}), Choice("csv", ()), lambda: None)
    bench.exporter.write(tmp_path / "absent" / "a.csv", made)
    first = tmp_path / "absent" / "a.csv-metadata.json"
    assert bench.failed == [f"{first}: No such file or directory"] and bench.said == []


def test_from_the_command_to_the_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    """The dialog's own button is clicked; the file dialog answers with a name without a suffix."""
    asked: list[str] = []

    def name(_parent: QWidget, _title: str, start: str, kinds: str) -> tuple[str, str]:
        asked.append(start)
        return str(tmp_path / ("mine" * len(asked))), kinds.split(";;")[0]

    def press_save() -> None:
        dialog = bench.window.findChildren(ExportDialog)[-1]
        pick(dialog, "format", "pdf")
        qtbot.mouseClick(dialog.findChild(QPushButton, "export_save_button"), Qt.MouseButton.LeftButton)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", name)
    QTimer.singleShot(0, press_save)
    bench.exporter.export("stage")
    assert asked == ["weights.pdf"]
    assert (tmp_path / "mine.pdf").read_bytes().startswith(b"%PDF")
    assert bench.said == ["Saved mine.pdf"]
    again = Exporter(bench.window, bench.services)  # after a restart the settings are all that is left
    QTimer.singleShot(0, press_save)
    again.export("stage")
    assert asked[1:] == [str(tmp_path / "weights.pdf")]
    bench.services.settings.set_export(Memory(folder=str(tmp_path / "gone")).text)
    QTimer.singleShot(0, press_save)
    again.export("stage")
    assert asked[2:] == ["weights.pdf"]


@pytest.fixture
def saved_as(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> Callable[[str, str, str, QMessageBox.StandardButton], list[str]]:
    """Save a row in a format with a typed name; returns the questions, which are all answered alike."""

    def save(row: str, format_id: str, typed: str, answer: QMessageBox.StandardButton) -> list[str]:
        asked: list[str] = []

        def exec_box(box: QMessageBox) -> QMessageBox.StandardButton:
            asked.append(box.text())
            if answer == QMessageBox.StandardButton.Cancel:
                QTimer.singleShot(0, leave)
            return answer

        def leave() -> None:
            dialog = bench.window.findChild(ExportDialog)
            assert dialog.isVisible() and dialog.path is None
            dialog.reject()

        def press_save() -> None:
            dialog = bench.window.findChild(ExportDialog)
            pick(dialog, "format", format_id)
            dialog.findChild(QPushButton, "export_save_button").click()

        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_given: (typed, ""))
        monkeypatch.setattr(QMessageBox, "exec", exec_box)
        QTimer.singleShot(0, press_save)
        bench.exporter.export(row)
        return asked

    return save


@pytest.mark.parametrize(
    ("row", "format_id", "typed", "lost"),
    [
        ("stage", "pdf", "sum", "sum.pdf"),
        ("stage", "png", "v1.2", "v1.2.png"),
        ("table", "csv", "sum", "sum.csv"),
        ("sequence", "png", "sum.png", "sum"),
    ],
)
def test_what_the_file_dialog_has_not_asked_about_is_not_replaced_without_a_question(
    row: str,
    format_id: str,
    typed: str,
    lost: str,
    bench: Bench,
    saved_as: Callable[..., list[str]],
    tmp_path: Path,
) -> None:
    mine = tmp_path / lost
    if row == "sequence":
        mine.mkdir()
        mine = mine / "sum-1.png"
    mine.write_bytes(b"mine")
    buttons = QMessageBox.StandardButton
    assert saved_as(row, format_id, str(tmp_path / typed), buttons.Cancel) == [f"{lost} exists. Replace it?"]
    assert mine.read_bytes() == b"mine" and bench.said == []
    assert saved_as(row, format_id, str(tmp_path / typed), buttons.Save) == [f"{lost} exists. Replace it?"]
    assert not mine.exists() or mine.read_bytes() != b"mine"


def test_the_arrays_beside_a_script_are_not_replaced_without_a_question(
    bench: Bench, saved_as: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "MOST_INSIDE", -1)
    script, arrays = tmp_path / "tale.py", tmp_path / "tale.npz"
    arrays.write_bytes(b"mine")
    buttons = QMessageBox.StandardButton
    assert saved_as("script", "numpy", str(script), buttons.Cancel) == ["tale.npz exists. Replace it?"]
    assert arrays.read_bytes() == b"mine" and not script.exists() and bench.said == []
    assert saved_as("script", "numpy", str(script), buttons.Save) == ["tale.npz exists. Replace it?"]
    assert script.is_file() and zipfile.is_zipfile(arrays)


def test_a_typed_suffix_chooses_the_format(
    bench: Bench, saved_as: Callable[..., list[str]], tmp_path: Path
) -> None:
    cancel = QMessageBox.StandardButton.Cancel
    (tmp_path / "sum.pdf").write_bytes(b"mine")  # the file dialog itself has asked about this one
    assert saved_as("stage", "png", str(tmp_path / "sum.pdf"), cancel) == []
    assert (tmp_path / "sum.pdf").read_bytes().startswith(b"%PDF")
    assert bench.said.pop() == "Saved sum.pdf as PDF, as its name says"
    assert saved_as("stage", "pdf", str(tmp_path / "sum.PDF"), cancel) == []
    assert bench.said.pop() == "Saved sum.PDF"
    assert saved_as("table", "bmatrix", str(tmp_path / "sum.tex"), cancel) == []
    assert "bmatrix" in (tmp_path / "sum.tex").read_text(encoding="utf-8")
    assert {file.name for file in tmp_path.glob("sum*")} == {"sum.pdf", "sum.PDF", "sum.tex"}


@pytest.mark.parametrize(
    ("row", "format_id", "says"),
    [
        ("stage", "pdf", "Save as PDF…"),
        ("script", "numpy", "Save as Python script…"),
        ("script", "torch", "Save as Python script…"),
        ("notebook", "torch", "Save as Notebook…"),
    ],
)
def test_the_button_says_what_it_saves(
    row: str, format_id: str, says: str, bench: Bench, open_dialog: Callable[..., ExportDialog]
) -> None:
    dialog = open_dialog(bench, row)
    pick(dialog, "format", format_id)
    assert dialog.findChild(QPushButton, "export_save_button").text() == says


def test_each_format_is_chosen_by_its_suffix() -> None:
    for row in EXPORTS:
        for first in row.formats:
            for other in row.formats:
                assert row.format_of(Path(f"a{other.suffix.upper()}"), first.id).suffix == other.suffix
            assert row.format_of(Path("a.b"), first.id) is row.format_of(Path("a"), first.id) is first


def test_a_panel_is_offered_while_it_can_be_seen(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    exporter = desk.window.handlers._exporter
    seen = exporter.source(desk.window.panels).panels
    assert {"stage", "heads", "inspector"} <= set(seen)
    assert not {"compare", "cost"} & set(seen)


def test_a_command_that_arrives_after_the_dialog_is_closed_is_copied(
    bench: Bench, open_dialog: Callable[..., ExportDialog]
) -> None:
    dialog = open_dialog(bench)
    dialog.done(0)
    before = dialog._note.text()
    dialog._on_command(Command("attnviz render a"))
    assert QGuiApplication.clipboard().text() == "attnviz render a"
    assert dialog._note.text() == before
