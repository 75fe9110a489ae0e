"""The current panel: the last one clicked, by tab, title or body, or chosen by name; commands mean it."""

from __future__ import annotations

import pytest
from desk import Desk, color_in, picture
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QTabBar, QWidget

from attnviz.gui.export.dialog import ExportDialog
from attnviz.gui.palette.providers import all_entries
from attnviz.gui.widgets.numbers.drag import DragNumber

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = CONTROL | Qt.KeyboardModifier.ShiftModifier
ENTER = Qt.Key.Key_Return


def press(desk: Desk, widget: QWidget, at: QPoint | None = None) -> None:
    """Click as the system does: into the window, at a point of a widget."""
    handle = next(one for one in QGuiApplication.topLevelWindows() if one.objectName() == "windowWindow")
    place = widget.mapTo(desk.window, widget.rect().center() if at is None else at)
    QTest.mouseClick(handle, Qt.MouseButton.LeftButton, pos=place)
    QApplication.processEvents()
    QApplication.processEvents()


def press_tab(desk: Desk, panel: str) -> None:
    title = desk.window.docks[panel].windowTitle()
    for bar in desk.window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        for index in range(bar.count()):
            if bar.isVisible() and bar.tabText(index) == title:
                press(desk, bar, bar.tabRect(index).center())
                return
    raise AssertionError(panel)


def choose(desk: Desk, panel: str) -> None:
    """The panel's line in the palette."""
    next(entry for entry in all_entries(desk.window.surface) if entry.key == f"panel:{panel}").run()
    QApplication.processEvents()


def press_body(desk: Desk, panel: str) -> None:
    """A text of the panel, which takes no focus."""
    labels = desk.window.panels[panel].findChildren(QLabel)
    press(desk, next(label for label in labels if not label.visibleRegion().isEmpty()))


def frame_color(desk: Desk, panel: str) -> str:
    dock = desk.window.docks[panel]
    return color_in(picture(dock), QPoint(0, dock.height() // 2)).name()


def press_title(desk: Desk, panel: str) -> None:
    """The title of a panel that stands alone in its place."""
    desk.go("generate")
    press(desk, desk.window.docks[panel].titleBarWidget())


WAYS = {
    "tab": (press_tab, "cost"),
    "palette": (choose, "block"),
    "body": (press_body, "tokens"),
    "title": (press_title, "text"),
}


@pytest.mark.parametrize("way", WAYS)
def test_commands_mean_the_panel_that_was_clicked_or_chosen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    act, panel = WAYS[way]
    offered: list[str] = []

    def stand(dialog: QDialog) -> int:
        assert isinstance(dialog, ExportDialog)
        offered.append(dialog.choice.text("panel"))
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(QDialog, "exec", stand)
    desk.map.setFocus()
    act(desk, panel)
    assert desk.window.current.id == panel
    assert frame_color(desk, panel) == desk.theme.muted and frame_color(desk, "stage") == desk.theme.line
    desk.press_key(Qt.Key.Key_E, SHIFT)
    assert offered == [panel]
    desk.press_key(ENTER, CONTROL)
    assert desk.window.workspaces.enlarged == panel
    desk.press_key(ENTER, CONTROL)
    desk.press_key(ENTER, SHIFT)
    QApplication.processEvents()
    torn = [id_ for id_, dock in desk.window.docks.items() if dock.isFloating()]
    assert torn == [panel]
    desk.press_key(ENTER, SHIFT)
    QApplication.processEvents()
    assert not any(dock.isFloating() for dock in desk.window.docks.values())
    assert desk.window.docks[panel].is_in_sight, "it stands in front of its tabs again"


def test_in_a_number_the_keys_of_the_panel_are_the_windows(desk: Desk) -> None:
    press_tab(desk, "cost")
    number = desk.window.panels["cost"].findChildren(DragNumber)[0]
    number.setFocus()
    desk.press_key(ENTER, CONTROL)
    assert desk.window.workspaces.enlarged == "cost" and number.findChild(QWidget, "number_editor") is None


def test_a_panel_torn_off_has_the_frame_of_a_window_whose_button_returns_it(desk: Desk) -> None:
    dock = desk.window.docks["inspector"]
    desk.window.presentation.tear_off("inspector")
    QApplication.processEvents()
    kind = Qt.WindowType
    assert dock.isFloating() and dock.isVisible()
    assert not dock.windowFlags() & kind.FramelessWindowHint
    assert dock.windowFlags() & kind.WindowCloseButtonHint
    assert dock.windowFlags() & kind.WindowType_Mask == kind.Tool, "the window's shortcuts work in it"
    dock.close()
    QApplication.processEvents()
    assert not dock.isFloating() and dock.is_in_sight


def test_a_panel_torn_off_shows_new_numbers_on_a_screen_to_the_left(desk: Desk) -> None:
    """Its coordinates are negative there, where Qt says of whatever is shown that it is hidden."""
    dock, panel = desk.window.docks["inspector"], desk.window.panels["inspector"]
    desk.window.presentation.tear_off("inspector")
    dock.move(-1600, -900)
    desk.settle()
    dock.hide()  # as another scale does
    dock.show()
    desk.settle()
    assert dock.isFloating() and dock.x() < 0 and panel.is_seen


def test_without_its_panel_a_workspace_has_its_main_one(desk: Desk) -> None:
    press_tab(desk, "cost")
    desk.go("compare")
    assert desk.window.current.id == "compare"
    desk.go("explore")
    desk.bring("cost")
    assert desk.window.current.id == "cost"
    press_tab(desk, "plane")
    assert desk.window.current.id == "plane"


def test_a_menu_of_panels_chooses_the_one_that_it_shows(desk: Desk) -> None:
    shown = desk.window.docks["matrices"].toggleViewAction()
    shown.trigger()  # it closes the panel among its tabs
    shown.trigger()
    QApplication.processEvents()
    assert desk.window.docks["matrices"].is_in_sight and desk.window.current.id == "matrices"
