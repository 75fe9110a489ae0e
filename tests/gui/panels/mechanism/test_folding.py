"""Sections that fold: by clicks, by a search, by an error, and as the settings remember them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from services import served

from attnviz.checkpoints.presets import load_preset
from attnviz.errors import FieldError
from attnviz.gui.forms.rows import Row
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.palette.palette import Palette
from attnviz.gui.panels.mechanism.families import FamilyTile
from attnviz.gui.panels.mechanism.mechanism import SECTIONS, Folding, MechanismPanel
from attnviz.gui.panels.mechanism.search import Found, SearchLine
from attnviz.gui.panels.mechanism.section import HEIGHT, SectionHeader
from attnviz.gui.settings import Settings
from attnviz.gui.store import Store
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.workspaces.table import WORKSPACES


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[MechanismPanel]:
    made = served(MechanismPanel(Store(load_preset("fluffy-blue-creature"))))
    qtbot.addWidget(made)
    made.start()
    made.resize(270, 720)
    made.show()
    qtbot.wait(20)
    yield made


def header(panel: MechanismPanel, section: str) -> SectionHeader:
    found = panel.findChild(SectionHeader, f"{section}_header")
    assert isinstance(found, SectionHeader)
    return found


def opened(panel: MechanismPanel) -> list[str]:
    return [section.id for section in panel.sections if section.content.isVisible()]


def search(qtbot: QtBot, panel: MechanismPanel, text: str) -> set[str]:
    """Type into the search field; the names of the controls that it tints and that apply."""
    line = panel.findChild(SearchLine, "mechanism_search")
    assert isinstance(line, SearchLine)
    line.setText(text)
    qtbot.wait(5)
    return {found.control.objectName() for found in panel.findChildren(Found, "found") if found.isVisible()}


def test_one_section_is_open_and_a_shift_click_pins_others(qtbot: QtBot, panel: MechanismPanel) -> None:
    assert opened(panel) == ["mask"]
    assert all(header(panel, section.id).height() == HEIGHT == 36 for section in SECTIONS)
    qtbot.mouseClick(header(panel, "heads"), Qt.MouseButton.LeftButton)
    assert opened(panel) == ["heads"]
    shift = Qt.KeyboardModifier.ShiftModifier
    qtbot.mouseClick(header(panel, "score"), Qt.MouseButton.LeftButton, shift)
    qtbot.mouseClick(header(panel, "position"), Qt.MouseButton.LeftButton)
    assert opened(panel) == ["score", "position"]
    qtbot.mouseClick(header(panel, "score"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(header(panel, "position"), Qt.MouseButton.LeftButton)
    assert opened(panel) == []
    panel.open_all()
    assert opened(panel) == [section.id for section in SECTIONS]


def test_all_folded_headers_fit_at_1280_by_800(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.fold("-")
    qtbot.wait(5)
    last = header(panel, SECTIONS[-1].id)
    assert last.mapTo(panel, last.rect().bottomLeft()).y() < 480


def test_folding_reads_what_it_writes() -> None:
    known = [section.id for section in SECTIONS]
    for folding in (
        Folding(),
        Folding("mask"),
        Folding("", frozenset({"heads"})),
        Folding("mask", frozenset(known[3:6])),
    ):
        assert Folding.read(folding.text(), known) == folding
    assert Folding.read("gone heads other", known) == Folding("", frozenset({"heads"}))


@pytest.mark.parametrize(
    ("preset", "values"),
    [
        (
            "fluffy-blue-creature",
            {"heads": "GQA · 4 q · 2 kv", "mask": "causal", "weights": "softmax", "dtype": "float64"},
        ),
        ("rope-pair", {"heads": "MHA · 1 q · 1 kv", "position": "RoPE 10\u202f000", "mask": "none"}),
        ("encoder-decoder", {"score": "÷√4 · T 1", "block": "LayerNorm · ReLU", "layers": "1 + 1"}),
        ("sparse-attention", {"mask": "window · global"}),
    ],
)
def test_headers_say_the_present_values(panel: MechanismPanel, preset: str, values: dict[str, str]) -> None:
    panel.store.open(load_preset(preset))
    assert {section: header(panel, section).value() for section in values} == values


def test_the_value_follows_an_edit_and_is_painted(panel: MechanismPanel) -> None:
    mask = header(panel, "mask")

    def ink() -> int:
        image, area = mask.grab().toImage(), mask.value_rect().toRect()
        ground = image.pixelColor(area.left(), area.top() + 3)
        return sum(
            image.pixelColor(x, y) != ground
            for x in range(area.left(), area.right())
            for y in range(area.top() + 6, area.bottom() - 6)
        )

    before = ink()
    panel.store.open(load_preset("rope-pair"))
    assert (mask.value(), before > 0) == ("none", True) and ink() != before


@pytest.mark.parametrize(
    ("words", "controls", "sections"),
    [
        ("temperature", {"temperature_field_row"}, ["score"]),
        ("温度", {"temperature_field_row"}, ["score"]),
        ("BASE", {"position_base_field_row", "rope_dials"}, ["position"]),
        ("sigmoid", {"normaliser_choice_row"}, ["weights"]),
        ("ALiBi", {"position_segmented_row"}, ["position"]),
        ("因果", {"causal_toggle"}, ["mask"]),
        ("later keys", set(), None),
        ("no such words", set(), []),
    ],
)
def test_a_search_finds_settings_in_both_languages(
    qtbot: QtBot, panel: MechanismPanel, words: str, controls: set[str], sections: list[str] | None
) -> None:
    found = search(qtbot, panel, words)
    assert found >= controls
    if sections is not None:
        assert set(opened(panel)) >= set(sections) and bool(opened(panel)) == bool(sections)
    count = panel.findChild(WholeLabel, "mechanism_found")
    assert isinstance(count, WholeLabel) and count.isVisible()
    assert (count.text() == "No setting has these words.") == (not opened(panel))
    assert search(qtbot, panel, "") == set()
    assert opened(panel) == ["mask"] and not count.isVisible()


def test_a_hint_is_searched_only_where_no_name_has_the_words(qtbot: QtBot, panel: MechanismPanel) -> None:
    tile = panel.findChild(FamilyTile, "dilated_toggle")
    assert tile is not None and "window" in tile.family.description
    found = search(qtbot, panel, "window")
    assert "window_toggle" in found and "dilated_toggle" not in found
    assert search(qtbot, panel, "near its own position") == {"window_toggle"}


def test_escape_empties_the_search_and_enter_goes_to_the_first_hit(
    qtbot: QtBot, panel: MechanismPanel
) -> None:
    panel.focus_search()
    line = panel.search
    qtbot.keyClicks(line, "dropout")
    assert opened(panel) == ["weights"]
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert line.text() == "dropout" and not line.hasFocus()
    shown = [found.control for found in panel.findChildren(Found, "found") if found.isVisible()]
    assert shown[0].isAncestorOf(panel.window().focusWidget())
    qtbot.keyClick(line, Qt.Key.Key_Escape)
    assert line.text() == "" and opened(panel) == ["mask"]


@pytest.mark.parametrize("size", [(1024, 640), (1280, 800), (2560, 1440)], ids=str)
def test_find_a_setting_shows_it_in_every_workspace(make_desk: MakeDesk, size: tuple[int, int]) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.window.resize(*size)
    desk.window.workspaces.set_opening(True)
    line, row = desk.find(SearchLine, "mechanism_search"), desk.find(Row, "temperature_field_row")
    for workspace in WORKSPACES:
        desk.go(workspace.id)
        desk.window.commands["find_setting"].trigger()
        assert line.hasFocus() and desk.window.workspaces.present.id == workspace.id
        line.clear()
        desk.type_text(line, "temperature")
        desk.qtbot.waitUntil(lambda: row.visibleRegion().boundingRect() == row.rect(), timeout=WAIT_MS)
        QTest.keyClick(line, Qt.Key.Key_Return)
        assert row.isAncestorOf(desk.window.focusWidget())


def test_the_palette_leads_to_the_field_in_this_workspace(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.go("generate")
    desk.window.commands["palette"].trigger()
    palette = desk.find(Palette, "palette")
    palette.line.setText("temperature")
    desk.qtbot.waitUntil(lambda: palette.is_complete, timeout=WAIT_MS)
    assert palette.found()[0].key == "control:score:temperature_field_row"
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    row = desk.find(Row, "temperature_field_row")
    assert desk.window.workspaces.present.id == "generate" and row.isAncestorOf(desk.window.focusWidget())
    desk.qtbot.waitUntil(lambda: row.visibleRegion().boundingRect() == row.rect(), timeout=WAIT_MS)


def test_the_head_of_the_panel_names_the_layer_that_is_edited(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    desk.go("explore")
    desk.bring("mechanism")
    place = desk.find(WholeLabel, "mechanism_place")
    assert place.isVisible() and place.text() == "layer 3 of 4"
    desk.store.look(site="layers.0.self")
    assert place.text() == "layer 1 of 4"
    toggle = desk.find(Toggle, "mechanism_alike_toggle")
    desk.switch("mechanism_alike_toggle")
    assert desk.store.pointer.edits_alike and place.text() == "all layers"
    desk.switch("site_alike_toggle")
    assert not toggle.value() and place.text() == "layer 1 of 4"
    desk.store.open(load_preset("toy-attention"))
    assert not place.isVisible() and not toggle.isVisible()


def test_every_control_outside_of_forms_that_the_search_names_exists(panel: MechanismPanel) -> None:
    for section in panel.sections:
        terms = [term.widget.objectName() for term in section.terms()]
        assert set(section.spoken) <= set(terms)


def test_an_error_opens_its_section_and_marks_it_until_the_next_edit(
    qtbot: QtBot, panel: MechanismPanel
) -> None:
    panel.store.rejected.emit(FieldError("layers[0].temperature", 0, "above 0"))
    qtbot.wait(5)
    assert opened(panel) == ["score", "mask"]
    row = panel.findChild(Row, "temperature_field_row")
    assert row is not None and "above 0" in row.accessibleDescription()
    assert row.visibleRegion().boundingRect().height() == row.height()
    score = header(panel, "score")
    reds = {QColor(LIGHT.error).name()}
    image = score.grab().toImage()
    title = score.title_rect().toRect()
    painted = {image.pixelColor(x, y).name() for x in range(title.left(), title.right()) for y in range(36)}
    assert reds <= painted
    panel.store.open(load_preset("rope-pair"))
    image = score.grab().toImage()
    painted = {image.pixelColor(x, y).name() for x in range(title.left(), title.right()) for y in range(36)}
    assert not reds & painted


def test_the_open_sections_are_remembered(make_desk: MakeDesk, settings: Settings) -> None:
    desk = make_desk()
    desk.window.panels["mechanism"].fold("mask")
    desk.click(desk.find(SectionHeader, "heads_header"))
    desk.window.close()
    again = QSettings(settings._store.fileName(), QSettings.Format.IniFormat)
    assert Settings(again).folds("mechanism") == "heads"


def test_ctrl_f_puts_the_caret_into_the_search(desk: Desk) -> None:
    desk.press_key(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.focusWidget() is desk.window.panels["mechanism"].search
