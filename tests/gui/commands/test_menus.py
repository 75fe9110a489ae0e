"""The command surface: every row of `ACTIONS` is in its menu, runs, and has a key of its own."""

from __future__ import annotations

from collections import Counter

import pytest
from desk import Desk
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QMenu, QScrollArea, QToolButton

from attnviz.gui.commands.actions import ACTIONS, MENUS
from attnviz.gui.commands.menus import PLAIN_KEYS
from attnviz.gui.window.handlers import Handlers
from attnviz.model.spec.parts import SeededVectors


def test_the_table_is_consistent() -> None:
    assert len({row.id for row in ACTIONS}) == len(ACTIONS)
    menus = {id_ for id_, _title in MENUS}
    assert all(row.menu in menus or row.menu == "" for row in ACTIONS)
    keys = Counter(QKeySequence(key).toString() for row in ACTIONS for key in row.shortcuts)
    assert "" not in keys and [key for key, count in keys.items() if count > 1] == []
    assert all(callable(getattr(Handlers, f"on_{row.run or row.id}")) for row in ACTIONS)


@pytest.mark.reads
def test_every_row_stands_in_its_menu_with_its_keys(desk: Desk) -> None:
    for row in ACTIONS:
        (action,) = desk.window.findChildren(QAction, f"action_{row.id}")
        assert action.isCheckable() == row.checkable
        shown = [key.toString() for key in action.shortcuts()]
        assert shown == [QKeySequence(key).toString() for key in row.shortcuts if key not in PLAIN_KEYS]
        if row.icon:  # one that stands in a menu alone is drawn when that opens
            desk.find(QMenu, f"menu_{row.menu}").aboutToShow.emit()
            assert not action.icon().isNull(), row.id
        if row.menu:
            assert action in desk.find(QMenu, f"menu_{row.menu}").actions()
            assert action.text().replace("&", "").split("\t")[0] != ""


@pytest.mark.reads
def test_titles_have_an_accelerator_of_their_own(desk: Desk) -> None:
    letters = [desk.find(QMenu, f"menu_{id_}").title().split("&")[1][0].lower() for id_, _title in MENUS]
    assert len(set(letters)) == len(letters)


def test_undo_and_redo_are_there_when_there_is_something(desk: Desk) -> None:
    undo, redo = desk.window.commands["undo"], desk.window.commands["redo"]
    assert not undo.isEnabled() and not redo.isEnabled()
    desk.press_key(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    assert isinstance(desk.store.experiment.vectors, SeededVectors)
    assert undo.isEnabled() and not redo.isEnabled()
    undo.trigger()
    assert not undo.isEnabled() and redo.isEnabled()
    desk.press_key(Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert isinstance(desk.store.experiment.vectors, SeededVectors)


def test_the_view_menu_offers_the_chooser_in_place_of_a_list_of_panels(desk: Desk) -> None:
    menu = desk.find(QMenu, "menu_view")
    panels = {dock.toggleViewAction() for dock in desk.window.docks.values()}
    assert desk.window.commands["panels"] in menu.actions()
    for part in (menu, *menu.findChildren(QMenu)):
        assert panels.isdisjoint(part.actions())


@pytest.mark.reads
def test_dialogs_open_and_list_the_keys(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def record(dialog: QDialog) -> int:
        shown.append(dialog.objectName())
        assert dialog.windowTitle() != ""
        dialog.grab()
        for area in dialog.findChildren(QScrollArea):
            assert area.horizontalScrollBar().maximum() == 0, "no line is wider than the dialog"
        return 0

    monkeypatch.setattr(QDialog, "exec", record)
    for id_ in ("shortcuts", "about", "preferences"):
        desk.window.commands[id_].trigger()
    assert len(shown) == 3 and all(shown)


def test_the_engine_menu_says_why_an_engine_is_not_there(desk: Desk) -> None:
    menu = desk.window.top_bar.findChildren(QMenu)[-1]
    for candidate in desk.window.top_bar.findChildren(QMenu):
        candidate.aboutToShow.emit()
        if any("NumPy" in action.text() for action in candidate.actions()):
            menu = candidate
    assert [a.isChecked() for a in menu.actions() if "NumPy" in a.text()] == [True], "one device, one entry"
    for action in menu.actions():
        assert action.isEnabled() or action.toolTip() != "" or action.isSeparator()


def test_the_engine_menu_chooses_the_precision_that_the_button_names(desk: Desk) -> None:
    button = desk.find(QToolButton, "engine_button")

    def entry(dtype: str) -> QAction:
        button.menu().aboutToShow.emit()
        return next(action for action in button.menu().actions() if action.text() == dtype)

    assert entry(desk.store.experiment.dtype).isChecked() and not entry("bfloat16").isEnabled()
    assert "NumPy" in entry("bfloat16").toolTip()
    other = "float64" if desk.store.experiment.dtype == "float32" else "float32"
    entry(other).trigger()
    desk.settle()
    assert desk.store.experiment.dtype == other and entry(other).isChecked() and other in button.text()
