"""Names of heads: given by a right click, kept with the model, shown and found."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.context.menu import ROWS
from attnviz.gui.context.target import target_at
from attnviz.gui.panels.grid.grid import GridPanel
from attnviz.gui.panels.heads.picture import HeadPicture
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.layers import remove_layer, set_n_layers
from attnviz.study.heads.names import model_key

INDUCTION = ("layers.2.self", 1)


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    desk = make_desk(load_preset("stories-induction"))
    desk.go("model")
    desk.settle()
    desk.qtbot.waitUntil(lambda: len(grid(desk).tiles) == 16)
    return desk


def grid(desk: Desk) -> GridPanel:
    found = desk.window.panels["grid"]
    assert isinstance(found, GridPanel)
    return found


def name(desk: Desk, text: str) -> None:
    """Right-click the head in the grid, choose the entry, type, press Enter."""
    canvas = grid(desk).canvas
    target = target_at(desk.window.surface, canvas, canvas.grid.rect(0, 2, 1).center())
    row = next(row for row in ROWS if row.id == "name_head")
    assert (target.site, target.head) == INDUCTION and row.applies(desk.window.surface, target)
    row.run(desk.window.surface, target)
    line = desk.find(DocumentLine, "head_name")
    assert line.hasFocus()
    line.clear()
    QTest.keyClicks(line, text)
    QTest.keyClick(line, Qt.Key.Key_Return)


def test_a_name_is_shown_found_and_kept_with_the_model(desk: Desk, settings: Settings) -> None:
    name(desk, "induction of colours")
    experiment = desk.store.experiment
    assert settings.head_names(model_key(experiment)) == {"layers.2.self:1": "induction of colours"}
    line = desk.find(DocumentLine, "head_name")
    assert line.text() == "induction of colours"
    desk.store.look(site="layers.0.self", head=0)
    assert not line.text()
    search = desk.find(DocumentLine, "grid_search")
    search.setText("COLOURS")
    assert grid(desk).canvas.scores == {(0, 2, 1): 1.0}
    assert "induction of colours" in desk.find(ElidedLabel, "grid_said").text()
    QTest.keyClick(search, Qt.Key.Key_Return)
    assert (desk.store.document.site, desk.store.document.view.head) == INDUCTION
    search.setText("red box")
    desk.qtbot.waitUntil(lambda: len(grid(desk).canvas.scores) == 16)


@pytest.mark.parametrize("text", ["copies ", "  "])
def test_a_name_that_ends_with_a_space_is_kept_when_another_head_is_selected(desk: Desk, text: str) -> None:
    line = desk.find(DocumentLine, "head_name")
    site, head = desk.store.document.site, desk.store.document.view.head
    line.setFocus()
    QTest.keyClicks(line, text)
    desk.store.look(head=head + 1)
    assert desk.store.head_names.name(desk.store.experiment, site, head) == text.strip()
    assert not line.text()


def test_the_name_follows_the_model_not_the_text(desk: Desk, make_desk: MakeDesk) -> None:
    name(desk, "copies")
    other = make_desk(load_preset("stories-name"))
    names = other.store.head_names
    assert names.name(other.store.experiment, *INDUCTION) == "copies"
    names.rename(other.store.experiment, *INDUCTION, "")
    assert names.named(other.store.experiment) == {}


def test_a_name_that_is_being_written_stays_with_its_head(desk: Desk) -> None:
    name(desk, "copies")
    QTest.keyClicks(desk.find(DocumentLine, "head_name"), " colours")
    desk.store.look(site="layers.0.self", head=0)
    names = desk.store.head_names.named(desk.store.experiment)
    assert names == {INDUCTION: "copies colours"}


def test_the_key_of_a_model(desk: Desk) -> None:
    first, name_, toy = (
        load_preset(id_).experiment for id_ in ("stories-induction", "stories-name", "toy-attention")
    )
    assert model_key(first) == model_key(name_) != model_key(toy)
    assert model_key(set_tokens(first, first.tokens[:5])) == model_key(first)
    hotter = replace(first, layers=(replace(first.layers[0], temperature=2.0), *first.layers[1:]))
    assert model_key(hotter) == model_key(first)
    assert model_key(remove_layer(first, "layers.3.self")) != model_key(first)


def test_the_strip_shows_the_name(desk: Desk) -> None:
    name(desk, "copies")
    desk.bring("heads")
    pictures = desk.window.panels["heads"].findChildren(HeadPicture)
    assert [picture.accessibleName() for picture in pictures if "copies" in picture.accessibleName()]


def test_a_search_by_name_outlives_fewer_layers(desk: Desk) -> None:
    name(desk, "copies")
    desk.find(DocumentLine, "grid_search").setText("copies")
    desk.store.edit(set_n_layers, 1)
    desk.settle()
    assert grid(desk).canvas.scores == {}
