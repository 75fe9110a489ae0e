"""The mask families as tiles: switched, previewed, joined, counted, with their parameters below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest
from experiments import SPREAD, sited
from first_layer import change, stacked
from mask_formulas import blocks_cell
from panels import recolor
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.look.words import speak
from attnviz.gui.panels.mechanism.families import FAMILIES, FamilyTile
from attnviz.gui.panels.mechanism.mask import MOST_COUNTED, PADDED, PARAMETERS, MaskSection
from attnviz.gui.panels.mechanism.tile import MaskTile
from attnviz.gui.store import Store
from attnviz.gui.widgets.numbers.block import parse_block
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import set_language
from attnviz.model.edit.additive import table_of
from attnviz.model.io.tables import Table, table_bytes
from attnviz.model.masks import visible_pairs
from attnviz.model.spec import parts as p
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

W = TypeVar("W", bound=QWidget)
N = 12
PARTS = [(family.tag, field.name) for family in FAMILIES for field in msgspec.structs.fields(family.kind)]


def of_n(n: int, *masks: p.Mask) -> Experiment:
    return stacked(("t",) * n, p.SeededVectors(n, 2), masks=masks)


@pytest.fixture
def section(qtbot: QtBot) -> Iterator[MaskSection]:
    store = Store(Document(of_n(N)))
    room = QWidget()
    qtbot.addWidget(room)
    made = MaskSection(store, room)
    store.changed.connect(made.on_document)
    made.set_open(True, is_pinned=False)
    made.on_document(None, store.document)
    made.resize(270, 900)
    room.resize(270, 900)
    room.show()
    qtbot.waitExposed(room)
    yield made


def find(section: MaskSection, kind: type[W], name: str) -> W:
    found = section.findChild(kind, name)
    assert isinstance(found, kind), name
    return found


def switch(qtbot: QtBot, section: MaskSection, tag: str) -> FamilyTile:
    tile = find(section, FamilyTile, f"{tag}_toggle")
    qtbot.mouseClick(tile, Qt.MouseButton.LeftButton)
    return tile


def choose(qtbot: QtBot, section: MaskSection, option: str) -> None:
    control = find(section, Segmented, "mask_joining_segmented")
    qtbot.mouseClick(find_in(control, f"segment_{option}"), Qt.MouseButton.LeftButton)


def find_in(parent: QWidget, name: str) -> QAbstractButton:
    found = parent.findChild(QAbstractButton, name)
    assert isinstance(found, QAbstractButton)
    return found


def type_number(qtbot: QtBot, section: MaskSection, name: str, text: str) -> None:
    number = find(section, DragNumber, name)
    qtbot.mouseClick(number, Qt.MouseButton.LeftButton)
    editor = number.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, text)
    qtbot.keyClick(editor, Qt.Key.Key_Return)


def pairs_text(section: MaskSection) -> str:
    return find(section, QLabel, "visible_pairs").text()


def grid(masks: tuple[p.Mask, ...], n: int = N) -> list[list[bool]]:
    return [[blocks_cell(masks, query, key) for key in range(n)] for query in range(n)]


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_painted_cells_widen_nothing(section: MaskSection, language: str) -> None:
    set_language(language)
    speak()
    plain = section.body.minimumSize().width()
    change(section.store, masks=(p.Painted(((3, 0),)),))
    assert find(section, QPushButton, "painted_clear_button").isVisible()
    section.body.activate()
    assert section.body.minimumSize().width() == plain


# --- tiles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.tag)
def test_a_tile_switches_its_family_and_shows_it_alone(
    qtbot: QtBot, section: MaskSection, family: Any
) -> None:
    tile = find(section, FamilyTile, f"{family.tag}_toggle")
    fresh = family.fresh(sited(of_n(N)))
    assert not tile.value() and tile.blocked_cells.tolist() == grid((fresh,))
    switch(qtbot, section, family.tag)
    assert section.store.experiment.layers[0].masks == (fresh,) and tile.value()
    assert find(section, MaskTile, "mask_tile").blocked_cells.tolist() == grid((fresh,))
    assert pairs_text(section) == f"Visible pairs: {N * N - int(np.sum(grid((fresh,))))} of 144"
    qtbot.keyClick(tile, Qt.Key.Key_Space)
    assert section.store.experiment.layers[0].masks == () and not tile.value()
    assert pairs_text(section) == "Visible pairs: 144 of 144"


def test_every_tile_and_parameter_has_a_name_to_be_read_aloud(qtbot: QtBot, section: MaskSection) -> None:
    for family in FAMILIES:
        tile = switch(qtbot, section, family.tag)
        assert tile.accessibleName() == family.title and escape(family.description) in tile.toolTip()
    for field in (PADDED, *PARAMETERS):
        assert find(section, QWidget, field.name).accessibleName() == field.label
    assert find(section, Segmented, "mask_joining_segmented").accessibleName() == "Pattern combination"


def test_every_field_of_every_mask_is_in_the_form(section: MaskSection) -> None:
    assert sorted(field.name for field in (PADDED, *PARAMETERS)) == sorted(
        "padding_tokens_field" if part == ("padding", "tokens") else f"{part[0]}_{part[1]}_field"
        for part in PARTS
    )


def test_a_tile_is_painted_in_the_accent_only_while_it_is_on(qtbot: QtBot, section: MaskSection) -> None:
    def seen_pixel() -> QColor:
        picture: QImage = tile.grab().toImage()
        at = tile.picture_rect().bottomLeft().toPoint()
        return picture.pixelColor(at.x() + 6, at.y() - 6)

    tile = find(section, FamilyTile, "causal_toggle")
    assert seen_pixel().saturation() < 30
    switch(qtbot, section, "causal")
    assert seen_pixel().hue() == pytest.approx(QColor(LIGHT.accent).hue(), abs=8)
    recolor(section, DARK)
    assert seen_pixel().lightness() < 140


def test_tiles_fit_a_narrow_column_and_lie_in_three_columns(qtbot: QtBot, section: MaskSection) -> None:
    for family in FAMILIES:
        switch(qtbot, section, family.tag)
    section.resize(260, 900)
    qtbot.wait(20)
    assert section.minimumSizeHint().width() <= 260
    tiles = [find(section, FamilyTile, f"{family.tag}_toggle") for family in FAMILIES]
    assert len({tile.x() for tile in tiles}) == 3 and len({tile.width() for tile in tiles}) <= 2
    assert all(tile.width() >= tile.sizeHint().width() for tile in tiles)


# --- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "name", "text", "expected"),
    [
        ("prefix", "prefix_n_field", "3", p.Prefix(3)),
        ("window", "window_left_field", "4", p.Window(4, 1)),
        ("window", "window_right_field", "0", p.Window(1, 0)),
        ("dilated", "dilated_left_field", "1", p.Dilated(1, 2, 2)),
        ("dilated", "dilated_right_field", "0", p.Dilated(2, 0, 2)),
        ("dilated", "dilated_dilation_field", "3", p.Dilated(2, 2, 3)),
        ("strided", "strided_stride_field", "5", p.Strided(5)),
        ("blocks", "blocks_size_field", "6", p.Blocks(6)),
        ("blocks", "blocks_previous_field", "1", p.Blocks(4, 1)),
    ],
)
def test_numbers_of_a_family_are_there_while_it_is_on(
    qtbot: QtBot, section: MaskSection, tag: str, name: str, text: str, expected: p.OneMask
) -> None:
    number = find(section, DragNumber, name)
    assert not number.isVisible()
    tile = switch(qtbot, section, tag)
    assert number.isVisible()
    type_number(qtbot, section, name, text)
    assert section.store.experiment.layers[0].masks == (expected,)
    assert tile.blocked_cells.tolist() == grid((expected,))
    switch(qtbot, section, tag)
    assert not number.isVisible() and tile.blocked_cells.tolist() == grid((expected,))
    switch(qtbot, section, tag)
    assert section.store.experiment.layers[0].masks == (expected,), "the numbers that it had"


@pytest.mark.parametrize(
    ("tag", "name", "expected"),
    [
        ("global", "global_tokens_field", p.Global((0, 5, 6, 7))),
        ("documents", "documents_starts_field", p.Documents((0, 5, 6, 7))),
        ("padding", "padding_tokens_field", p.Padding((0, 5, 6, 7))),
    ],
)
def test_positions_are_typed_live_and_past_the_end_refused(
    qtbot: QtBot, section: MaskSection, tag: str, name: str, expected: p.OneMask
) -> None:
    switch(qtbot, section, tag)
    line = find(section, QLineEdit, name)
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, "0, 5-7")
    assert section.store.experiment.layers[0].masks == (expected,)
    qtbot.keyClicks(line, ", 12")
    assert line.property("invalid") and "must be numbers from 0 to 11; got 12." in line.toolTip()
    assert section.store.experiment.layers[0].masks != () and line.text() == "0, 5-7, 12"


def test_positions_that_a_shorter_text_does_not_have_are_let_go(qtbot: QtBot, section: MaskSection) -> None:
    change(section.store, masks=(p.Global((2, 9)), p.Documents((9,))))
    change(section.store, masks=())
    section.store.open(Document(of_n(5)))
    switch(qtbot, section, "global")
    assert section.store.experiment.layers[0].masks == (p.Global((2,)),)
    switch(qtbot, section, "documents")
    assert section.store.experiment.layers[0].masks == (p.Global((2,)), p.Documents((0, 2)))


# --- together --------------------------------------------------------------------------------------


def test_patterns_are_joined_by_or_and_the_tile_and_the_count_follow(
    qtbot: QtBot, section: MaskSection
) -> None:
    joining = find(section, Segmented, "mask_joining_segmented")
    switch(qtbot, section, "causal")
    assert not joining.isVisible(), "there is nothing to join"
    switch(qtbot, section, "window")
    switch(qtbot, section, "global")
    window, at_all = p.Window(1, 0), p.Global((0,))
    assert (
        section.store.experiment.layers[0].masks == (p.Causal(), window, at_all) and joining.value() == "all"
    )
    assert pairs_text(section) == "Visible pairs: 2 of 144"
    choose(qtbot, section, "any")
    longformer = (p.Causal(), p.AnyOf((window, at_all)))
    assert section.store.experiment.layers[0].masks == longformer
    assert find(section, MaskTile, "mask_tile").blocked_cells.tolist() == grid(longformer)
    # The diagonal, the one below, and the rest of column 0.
    assert pairs_text(section) == f"Visible pairs: {12 + 11 + 10} of 144"
    switch(qtbot, section, "strided")
    assert section.store.experiment.layers[0].masks == (p.Causal(), p.AnyOf((window, p.Strided(3), at_all)))
    switch(qtbot, section, "strided")
    choose(qtbot, section, "all")
    assert section.store.experiment.layers[0].masks == (p.Causal(), window, at_all)
    section.store.undo()
    assert joining.value() == "any"


def test_causal_and_prefix_take_each_others_place(qtbot: QtBot, section: MaskSection) -> None:
    causal, prefix = switch(qtbot, section, "causal"), switch(qtbot, section, "prefix")
    assert section.store.experiment.layers[0].masks == (p.Prefix(6),)
    assert prefix.value() and not causal.value()
    section.store.undo()
    assert causal.value() and not prefix.value()


def test_pairs_of_long_texts_are_not_counted_while_a_hand_moves(section: MaskSection) -> None:
    section.store.open(Document(of_n(1024, p.Causal())))
    assert pairs_text(section) == "Visible pairs: 524,800 of 1,048,576"
    section.store.open(Document(of_n(1025, p.Causal())))
    assert 1025 * 1025 > MOST_COUNTED and pairs_text(section).startswith("1,050,625 pairs; ")


MIXED: tuple[tuple[p.Mask, ...], ...] = (
    (p.AnyOf((p.Causal(), p.Global((3,)))),),
    (p.Window(1), p.AnyOf((p.Window(9), p.Painted(((0, 0),))))),
    (p.Prefix(2**31), p.Global((10**6,)), p.Documents((10**9,)), p.Window(2**31)),
    (p.Padding(()), p.Global(()), p.Documents(()), p.Painted(())),
    (p.AnyOf((p.Padding((0,)), p.Documents((4,)), p.Prefix(3))), p.Blocks(10**6, 2**31)),
)


@pytest.mark.parametrize(
    "masks", [*MIXED, *(e.layers[0].masks for e in SPREAD.values() if e.layers[0].masks)]
)
def test_no_document_and_no_switch_raises(
    qtbot: QtBot, section: MaskSection, masks: tuple[p.Mask, ...]
) -> None:
    refused: list[str] = []
    section.store.rejected.connect(lambda error: refused.append(str(error)))
    section.store.open(Document(of_n(N, *masks)))
    speak()
    assert section.store.experiment.layers[0].masks == masks
    for how in ("any", "all"):
        if find(section, Segmented, "mask_joining_segmented").isVisible():
            choose(qtbot, section, how)
        for family in FAMILIES:
            was_on = find(section, FamilyTile, f"{family.tag}_toggle").value()
            assert switch(qtbot, section, family.tag).value() != was_on
            seen = visible_pairs(section.store.attention)
            assert pairs_text(section) == f"Visible pairs: {seen} of 144"
            assert seen == N * N - int(np.sum(grid(section.store.experiment.layers[0].masks)))
    assert refused == []


def test_the_language_is_switched_live(section: MaskSection) -> None:
    set_language("zh_CN")
    speak()
    chinese = find(section, FamilyTile, "causal_toggle").text()
    set_language("en")
    speak()
    assert chinese != find(section, FamilyTile, "causal_toggle").text() == "causal"


# --- what blocks -----------------------------------------------------------------------------------


def test_a_number_is_added_to_blocked_scores(qtbot: QtBot, section: MaskSection) -> None:
    kind = find(section, Segmented, "mask_bias_segmented")
    assert kind.value() == "infinite" and not find(section, DragNumber, "mask_bias_field").isVisible()
    qtbot.mouseClick(find_in(kind, "segment_added"), Qt.MouseButton.LeftButton)
    assert section.store.experiment.layers[0].mask_bias == -1e4
    empty = find_in(find(section, Segmented, "fully_masked_row_segmented"), "segment_nan")
    assert not empty.isEnabled() and "no row is fully masked" in empty.toolTip()
    type_number(qtbot, section, "mask_bias_field", "-12.5")
    assert section.store.experiment.layers[0].mask_bias == -12.5
    placement = find(section, Segmented, "mask_placement_segmented")
    qtbot.mouseClick(find_in(placement, "segment_after_softmax"), Qt.MouseButton.LeftButton)
    assert not find_in(kind, "segment_infinite").isEnabled()
    qtbot.mouseClick(find_in(placement, "segment_before_softmax"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(find_in(kind, "segment_infinite"), Qt.MouseButton.LeftButton)
    assert section.store.experiment.layers[0].mask_bias is None and empty.isEnabled()


LOADED = np.where(np.tri(N) > 0, np.arange(float(N)), -np.inf)
FILES: dict[str, Callable[[Path], object]] = {
    "array.npy": lambda path: np.save(path, LOADED[None, None]),
    "rows.csv": lambda path: np.savetxt(path, LOADED, delimiter=","),
    "rows.txt": lambda path: np.savetxt(path, LOADED),
    "labelled.csv": lambda path: path.write_bytes(table_bytes(Table(("a",) * N, ("b",) * N, LOADED), "csv")),
}


def test_the_additive_mask_is_edited_in_its_grid_pasted_and_loaded(
    section: MaskSection, tmp_path: Path, qtbot: QtBot
) -> None:
    store, grid = section.store, section.additive.grid
    assert section.additive.isHidden()
    find(section, QAbstractButton, "additive_mask_toggle").click()
    assert section.additive.isVisibleTo(section) and section.present(store.document) == "+ M"
    grid.set_current_cell(2, 1)
    grid.open_editor("-inf")
    qtbot.keyClick(grid.findChild(QLineEdit, "number_editor"), Qt.Key.Key_Return)
    grid.pasted.emit(0, 0, parse_block("1\t−∞\n0,5\t-1", takes_minus_infinity=True))
    table = table_of(store.attention, 0)
    assert table[2, 1] == -np.inf and table[:2, :2].tolist() == [[1, -np.inf], [0.5, -1]]
    for name, write in FILES.items():
        write(tmp_path / name)
        section.additive.load(tmp_path / name)
        np.testing.assert_array_equal(table_of(store.attention, 0), LOADED, err_msg=name)
    rejected: list[Exception] = []
    store.rejected.connect(rejected.append)
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    section.additive.load(tmp_path / "words.csv")
    assert str(rejected[0]).startswith("words.csv: Row 1, column 1: The value must be a number")
    find(section, QAbstractButton, "additive_mask_toggle").click()
    assert store.attention.additive_mask is None
    find(section, QAbstractButton, "additive_mask_toggle").click()
    np.testing.assert_array_equal(table_of(store.attention, 0), LOADED)
