"""Space plays everywhere but in texts and controls, one Tab stop per table, commands from the prompt."""

from __future__ import annotations

from functools import partial

import pytest
import shiboken6
from desk import Desk
from player_hands import player
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QWidget

from attnviz.gui.commands.actions import ACTIONS
from attnviz.gui.commands.menus import PLAIN_KEYS
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import Availability
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.numbers.view import GridView
from attnviz.gui.window.focus import CONTROLS, TEXTS
from attnviz.gui.workspaces.table import WORKSPACES

TEXT_KEYS = {"Ctrl+Right", "Ctrl+Left", "Ctrl+Home", "Space", "?", *"1234F"}
"""Shortcuts that mean something to a line of text: a word further, its beginning, the blank, a character."""


def line(desk: Desk) -> DocumentText:
    return desk.find(DocumentText, "token_line")


def type_in(desk: Desk, text: str) -> None:
    line(desk).setFocus()
    QTest.keyClick(line(desk), Qt.Key.Key_End)
    desk.type_text(line(desk), text)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape])
def test_after_the_prompt_space_plays(desk: Desk, key: Qt.Key) -> None:
    type_in(desk, " again")
    desk.press_key(key)
    assert desk.window.focusWidget() is desk.map
    assert desk.store.experiment.tokens == ("a", "fluffy", "blue", "creature", "again")
    desk.settle_decoding()
    desk.press_key(Qt.Key.Key_Space)
    assert player(desk).is_playing
    assert desk.store.experiment.tokens[-1] == "again" and line(desk).text().endswith("again")


def test_escape_in_the_prompt_keeps_the_locked_cell(desk: Desk) -> None:
    desk.click(desk.map, desk.map.cell_center(1, 0))
    locked = desk.store.document.view.locked
    assert locked is not None
    line(desk).setFocus()
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.store.document.view.locked == locked
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.store.document.view.locked is None


def test_space_is_typed_into_text(desk: Desk) -> None:
    desk.settle_decoding()
    type_in(desk, "")
    desk.press_key(Qt.Key.Key_Space)
    assert line(desk).text() == "a fluffy blue creature " and not player(desk).is_playing


def test_space_plays_from_every_place_that_is_no_control(desk: Desk) -> None:
    desk.settle_decoding()
    before, seen = desk.store.document, 0
    for workspace in ("explore", "generate"):
        seen += play_from_all(desk, workspace)
    assert desk.store.experiment == before.experiment and seen > 20


def play_from_all(desk: Desk, workspace: str) -> int:
    """Press Space on every control of a workspace; how many it has."""
    desk.go(workspace)
    before, widgets = desk.store.document, desk.window.findChildren(QWidget)
    able = [w for w in widgets if w.isVisible() and w.isEnabled()]
    stops = [
        w
        for w in able
        if w.focusPolicy() & Qt.FocusPolicy.TabFocus and not isinstance(w, (*TEXTS, *CONTROLS))
    ]
    for widget in stops:
        desk.go(workspace)
        if not shiboken6.isValid(widget):  # each workspace creates its bars of tabs
            continue
        was_playing = player(desk).is_playing
        widget.setFocus()
        QTest.keyClick(QApplication.focusWidget() or desk.window, Qt.Key.Key_Space)
        assert player(desk).is_playing != was_playing, widget.objectName()
        assert desk.store.experiment == before.experiment, widget.objectName()
    return len(stops)


def test_enter_presses_a_control_too(desk: Desk) -> None:
    before = desk.store.experiment
    tile = desk.find(QAbstractButton, "causal_toggle")
    tile.setFocus()
    desk.press_key(Qt.Key.Key_Return)
    assert desk.store.experiment.layers[0].masks != before.layers[0].masks
    combo = next(c for c in desk.window.findChildren(Combo) if c.isVisible() and c.isEnabled())
    combo.setFocus()
    desk.press_key(Qt.Key.Key_Return)
    popup = combo.view().window()
    assert popup.isVisible()
    combo.hidePopup()


def test_every_command_works_from_the_prompt(desk: Desk) -> None:
    done: list[str] = []
    for row in ACTIONS:
        action: QAction = desk.window.commands[row.id]
        action.triggered.disconnect()
        action.triggered.connect(partial(lambda id_, checked=False: done.append(id_), row.id))
        action.setEnabled(True)
    type_in(desk, "")
    wanted = []
    for row in ACTIONS:
        for key in row.shortcuts:
            if key not in PLAIN_KEYS and key not in TEXT_KEYS:
                combination = QKeySequence(key)[0]
                QTest.keyClick(line(desk), combination.key(), combination.keyboardModifiers())
                wanted.append(row.id)
    assert done == wanted and len(wanted) > 25


def test_no_control_types_the_key_of_a_command(desk: Desk) -> None:
    """Ctrl+1 is a workspace, and no 1 in the selected number."""
    window, done = desk.window, []
    keys = [
        key
        for row in ACTIONS
        for key in row.shortcuts
        if key.startswith(("Ctrl+", "Alt+")) and len(key.rpartition("+")[2] or "+") == 1
    ]
    for row in ACTIONS:
        window.commands[row.id].triggered.disconnect()
        window.commands[row.id].triggered.connect(lambda *_of, id_=row.id: done.append(id_))
        window.commands[row.id].setEnabled(True)
    seen: set[type[QWidget]] = set()
    for workspace in ("explore", "generate"):
        desk.go(workspace)
        if workspace == "explore":
            desk.bring("vectors")
        desk.open_side()
        for widget in window.findChildren(QWidget):
            is_able = shiboken6.isValid(widget) and widget.isVisible() and widget.isEnabled()
            if not (is_able and isinstance(widget, Availability)) or type(widget) in seen:
                continue
            seen.add(type(widget))
            before = desk.store.document
            for key in keys:
                done.clear()
                widget.setFocus()
                if isinstance(widget, NumberGrid):
                    widget.set_current_cell(0, 1)
                combination = QKeySequence(key)[0]
                QTest.keyClick(widget, combination.key(), combination.keyboardModifiers())
                is_clipboard = isinstance(widget, NumberGrid) and key in ("Ctrl+C", "Ctrl+V", "Ctrl+A")
                assert done or is_clipboard, f"{type(widget).__name__} {widget.objectName()} takes {key}"
                editor = widget.findChild(QLineEdit, "number_editor")
                assert editor is None or not editor.isVisible(), key
            assert desk.store.document is before, widget.objectName()
    assert {NumberGrid, TokenChips, DragNumber} <= seen


def test_tab_leaves_every_table_at_once(desk: Desk) -> None:
    desk.bring("vectors")
    tables = [grid for grid in desk.window.findChildren(GridView) if grid.isVisible()]
    assert desk.vectors in tables
    for table in tables:
        for key, modifier in (
            (Qt.Key.Key_Tab, Qt.KeyboardModifier.NoModifier),
            (Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier),
        ):
            table.setFocus()
            table.set_current_cell(0, 1)
            QTest.keyClick(table, key, modifier)
            assert not table.hasFocus(), table.objectName()


def test_arrows_walk_inside_a_table_and_tab_goes_on_while_one_types(desk: Desk) -> None:
    desk.bring("vectors")
    grid: NumberGrid = desk.vectors
    grid.setFocus()
    last = grid.values().shape[1] - 1
    grid.set_current_cell(0, last - 1)
    QTest.keyClick(grid, Qt.Key.Key_Right)
    assert grid.current_cell() == (0, last)
    QTest.keyClick(grid, Qt.Key.Key_5)
    editor = grid.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    QTest.keyClick(editor, Qt.Key.Key_Tab)
    assert grid.current_cell() == (1, 0) and grid.hasFocus()


def walk_by_tab(desk: Desk) -> list[QWidget]:
    """The stops of Tab, from the first of the window until it comes back there."""
    desk.window.setFocus()
    walked: list[QWidget] = []
    for _press in range(200):
        QTest.keyClick(QApplication.focusWidget() or desk.window, Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        assert focused is not None
        if walked and focused is walked[0]:
            return walked
        if not walked or focused is not walked[-1]:
            walked.append(focused)
    pytest.fail(f"Tab does not come back: {[one.objectName() for one in walked[-20:]]}")


@pytest.mark.parametrize("workspace", [row.id for row in WORKSPACES])
def test_tab_comes_back_in_every_workspace(desk: Desk, workspace: str) -> None:
    desk.window.resize(1280, 800)
    desk.window.workspaces.switch(workspace)
    desk.settle()
    walked = walk_by_tab(desk)
    assert len(walked) == len(set(walked)) > 10
    assert [one.objectName() for one in walked if not one.isVisible()] == []


def test_tab_goes_through_what_is_in_sight(desk: Desk) -> None:
    desk.window.resize(1280, 800)
    desk.settle()
    walked = walk_by_tab(desk)
    docks = [next((d for d in desk.window.docks.values() if d.isAncestorOf(one)), None) for one in walked]
    assert all(dock is None or not dock.visibleRegion().isEmpty() for dock in docks)
    outside = [one for one, dock in zip(walked, docks, strict=True) if dock is None]
    assert len(outside) > 5 and not [one for one in outside if one.visibleRegion().isEmpty()]
    behind = [
        dock for dock in desk.window.docks.values() if dock.isVisible() and dock.visibleRegion().isEmpty()
    ]
    assert behind, "a panel behind a tab is what Tab passes"


def test_four_keys_choose_the_picture_and_one_the_first_token(desk: Desk) -> None:
    desk.store.look(locked=None, stage="weights")
    for key, shown in (
        (Qt.Key.Key_1, "arcs"),
        (Qt.Key.Key_3, "mean"),
        (Qt.Key.Key_4, "lines"),
        (Qt.Key.Key_2, "map"),
    ):
        desk.press_key(key)
        assert desk.store.document.view.picture == shown
    for is_off in (True, False):
        desk.press_key(Qt.Key.Key_F)
        assert desk.map.content.is_first_off == is_off
