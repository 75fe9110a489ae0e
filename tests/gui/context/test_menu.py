"""The right-click menu: which rows apply to which target, and what they do."""

from __future__ import annotations

import numpy as np
from desk import Desk, MakeDesk
from experiments import byte_level_names
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.context.menu import ROWS, ContextMenus
from attnviz.gui.context.target import FINDERS, Target
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.i18n import LANGUAGES, set_language
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Padding, SeededVectors
from attnviz.model.spec.pieces import Pieces
from attnviz.model.spec.view import Cell
from attnviz.model.spec.vocabulary import Vocabulary


def right_click(desk: Desk, widget: QWidget, at: QPointF | QPoint) -> QMenu:
    """The menu that opens at a point of a widget."""
    point = QPointF(at).toPoint()
    place = widget.mapToGlobal(point)
    QApplication.sendEvent(widget, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, place))
    menus = [menu for menu in desk.window.findChildren(QMenu, "context_menu") if menu.isVisible()]
    assert len(menus) == 1
    return menus[0]


def choose(menu: QMenu, id_: str) -> None:
    action = next(action for action in menu.actions() if action.objectName() == f"context_{id_}")
    menu.close()
    action.trigger()


def ids(menu: QMenu) -> set[str]:
    return {action.objectName().removeprefix("context_") for action in menu.actions() if action.objectName()}


def test_a_cell_gives_its_value_in_full_precision(desk: Desk) -> None:
    menu = right_click(desk, desk.map, desk.map.cell_center(2, 1))
    assert {"copy_value", "explain", "lock", "switch_head", "export", "copy_picture"} <= ids(menu)
    choose(menu, "copy_value")
    shown = desk.store.site.window("weights", 0)[2, 1]
    assert float(QGuiApplication.clipboard().text()) == shown


def test_a_head_is_pinned_as_a(desk: Desk) -> None:
    tile = desk.find(Thumbnail, "head_2")
    choose(right_click(desk, tile, tile.rect().center()), "pin")
    pinned = desk.window.panels["compare"].pinning.pinned
    assert pinned is not None and pinned.document.view.head == desk.store.document.view.head == 2


def test_a_cell_is_locked_explained_and_unlocked(desk: Desk) -> None:
    choose(right_click(desk, desk.map, desk.map.cell_center(2, 1)), "lock")
    assert desk.store.document.view.locked == Cell("weights", 2, 1, 0)
    menu = right_click(desk, desk.map, desk.map.cell_center(2, 1))
    choose(menu, "lock")
    assert desk.store.document.view.locked is None
    choose(right_click(desk, desk.map, desk.map.cell_center(3, 0)), "explain")
    assert desk.store.document.view.locked == Cell("weights", 3, 0, 0)
    assert desk.window.panels["inspector"].is_seen


def test_a_masked_cell_of_the_map_has_a_menu_too(desk: Desk) -> None:
    assert "lock" in ids(right_click(desk, desk.map, desk.map.cell_center(0, 3)))


def test_a_number_of_the_inspector_is_a_cell(desk: Desk) -> None:
    desk.click(desk.map, desk.map.cell_center(2, 1))
    page = desk.find(ExplanationPage, "inspector_page")
    desk.qtbot.waitUntil(lambda: "scores" in page.toPlainText())
    sources = {page.source_at(QPoint(x, y)) for x in range(0, 400, 4) for y in range(0, 120, 4)} - {None}
    source = next(cell for cell in sources if cell is not None and cell.stage != "weights")
    choose(right_click(desk, page.viewport(), page.place_of(source)), "copy_value")
    value = desk.store.site.window(source.stage, source.head)[source.row, source.column]
    assert float(QGuiApplication.clipboard().text()) == value
    choose(right_click(desk, page.viewport(), page.place_of(source)), "explain")
    assert desk.store.document.view.locked == replace(source, site="")


def test_a_stage_is_shown(desk: Desk) -> None:
    tiles = desk.window.panels["pipeline"].findChildren(Thumbnail)
    tile = next(t for t in tiles if not t.visibleRegion().isEmpty() and not t.isChecked())
    menu = right_click(desk, tile, tile.rect().center())
    assert "copy_value" not in ids(menu)
    choose(menu, "show_stage")
    assert desk.store.document.view.stage == tile.property("stage")
    QApplication.processEvents()
    assert "show_stage" not in ids(right_click(desk, tile, tile.rect().center()))


def test_a_head_is_switched_off_and_on(desk: Desk) -> None:
    tile = desk.find(Thumbnail, "head_2")
    choose(right_click(desk, tile, tile.rect().center()), "switch_head")
    assert desk.store.attention.heads.off == (2,)
    choose(right_click(desk, tile, tile.rect().center()), "switch_head")
    assert desk.store.attention.heads.off == ()
    choose(right_click(desk, tile, tile.rect().center()), "show_head")
    assert desk.store.document.view.head == 2


def test_a_token_is_copied_selected_and_made_padding(desk: Desk) -> None:
    chips = desk.find(TokenChips, "token_chips")
    at = chips.chip_rect(1).center()
    choose(right_click(desk, chips.viewport(), at), "copy_token")
    assert QGuiApplication.clipboard().text() == "fluffy"
    choose(right_click(desk, chips.viewport(), at), "select_query")
    assert desk.store.document.view.query == 1
    choose(right_click(desk, chips.viewport(), at), "padding")
    assert Padding((1,)) in desk.store.attention.masks


def test_a_token_of_a_byte_level_model_is_copied_as_its_text(make_desk: MakeDesk) -> None:
    names = byte_level_names("Ġthe")
    vocabulary = Vocabulary(names, Matrix(np.zeros((257, 2))), pieces=Pieces("byte_level"))
    desk = make_desk(Document(Experiment(("Ġthe", "a"), SeededVectors(2, 2, 0), vocabulary=vocabulary)))
    chips = desk.find(TokenChips, "token_chips")
    menu = right_click(desk, chips.viewport(), chips.chip_rect(0).center())
    named = [action.text() for action in menu.actions() if action.objectName() == "context_copy_token"]
    assert named == ["Copy “␣the”"]
    choose(menu, "copy_token")
    assert QGuiApplication.clipboard().text() == " the"


def test_a_cell_lets_its_query_refer_to_its_key(desk: Desk) -> None:
    def refer() -> str:
        """Choose the entry, and return its text."""
        menu = right_click(desk, desk.map, desk.map.cell_center(3, 1))
        text = next(one.text() for one in menu.actions() if one.objectName() == "context_refer")
        choose(menu, "refer")
        desk.settle()
        return text

    assert refer() == "Let “creature” refer to “fluffy”"
    assert desk.store.experiment.references == ((3, 1),)
    assert refer() == "Remove the reference of “creature” to “fluffy”"
    assert desk.store.experiment.references == ()
    desk.store.undo()
    assert desk.store.experiment.references == ((3, 1),)
    assert "refer" not in ids(right_click(desk, desk.map, desk.map.cell_center(2, 2)))  # itself


OF_SITE = {
    "decoder.0.self": True,
    "decoder.0.cross": False,
    "encoder.0.self": False,
    "layers.0.self": False,  # no site of the document
}


def test_only_tokens_of_one_text_refer_to_each_other(make_desk: MakeDesk) -> None:
    desk = make_desk("encoder-decoder")
    for site, applies in OF_SITE.items():
        for stage, of_stage in (("weights", applies), ("q", False)):
            menu = desk.window.findChild(ContextMenus).menu(Target(cell=Cell(stage, 2, 1, 0, site)))
            assert ("refer" in ids(menu)) == of_stage, (site, stage)
            menu.deleteLater()


def test_every_panel_has_a_menu(desk: Desk) -> None:
    for id_ in PANEL_BY_ID:  # not only those that have been made
        desk.window.workspaces.show_panel(id_)
        panel = desk.window.panels[id_]  # made now, if its place had no pixels yet
        QApplication.processEvents()
        menu = desk.window.findChild(ContextMenus).menu(Target(panel=id_))
        assert "export_panel" in ids(menu)
        menu.deleteLater()
        assert panel.isVisible()


def test_a_panel_is_enlarged(desk: Desk) -> None:
    choose(right_click(desk, desk.map, QPoint(2, 2)), "enlarge")
    assert desk.window.workspaces.enlarged == "stage"
    choose(right_click(desk, desk.map, QPoint(2, 2)), "enlarge")
    assert desk.window.workspaces.enlarged == ""


def test_the_menu_key_takes_the_cell_of_the_cursor(desk: Desk) -> None:
    desk.map.setFocus(Qt.FocusReason.TabFocusReason)
    desk.press_key(Qt.Key.Key_Down)
    assert desk.map.current_cell is not None
    row, column = desk.map.current_cell
    event = QContextMenuEvent(
        QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), desk.map.mapToGlobal(QPoint(5, 5))
    )
    QApplication.sendEvent(desk.map, event)
    menu = next(menu for menu in desk.window.findChildren(QMenu, "context_menu") if menu.isVisible())
    choose(menu, "lock")
    assert desk.store.document.view.locked == Cell("weights", row, column, 0)


def test_every_row_applies_to_something_and_has_words(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-en"))  # a language model has all rows
    targets = (
        Target("stage", Cell("weights", 1, 0, 1), "weights", 1),
        Target("pipeline", stage="scaled"),
        Target("heads", head=1),
        Target("tokens", token=1),
        Target("cost"),
    )
    for language in LANGUAGES:
        set_language(language.code)
        for row in ROWS:
            fitting = [target for target in targets if row.applies(desk.window.surface, target)]
            assert fitting, row.id
            assert all(row.text(desk.window.surface, target) for target in fitting)
    assert len(FINDERS) >= 5
