"""Workspaces in the window: what stands where, what a person moved, what Space does."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QAction, QHoverEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QMainWindow, QTabBar, QToolButton, QWidget

from attnviz.gui.context.menu import ContextMenus
from attnviz.gui.context.target import Target
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.settings import Settings
from attnviz.gui.window.lessons import SHELF
from attnviz.gui.window.lessons import WORKSPACE as LEARN
from attnviz.gui.window.window import Window
from attnviz.gui.workspaces.arrangement import stacks
from attnviz.gui.workspaces.more import Corner
from attnviz.gui.workspaces.switcher import LAYOUT_VERSION, SETTLED_MS, TAB_PX
from attnviz.gui.workspaces.table import MOST_TABS, WORKSPACES, WorkspaceRow
from attnviz.i18n import LANGUAGES

MOST_IN_VIEW = 5
ONE_LINE = 40
"""Height of a panel that is folded to a line."""


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk("toy-attention")
    made.window.resize(1280, 800)
    made.go("compare")
    made.go("explore")
    return made


def in_view(desk: Desk) -> set[str]:
    return {id_ for id_, dock in desk.window.docks.items() if not dock.visibleRegion().isEmpty()}


def test_a_workspace_shows_the_first_panel_of_each_of_its_places(desk: Desk) -> None:
    tabs = desk.find(QTabBar, "workspace_tabs")
    for index, row in enumerate(WORKSPACES):
        desk.go(row.id)
        here = [stack for stack in stacks(row.arrangement(1280)) if not stack.closed]
        first = {stack.panels[0] for stack in here}
        first = {id_ for id_ in first if PANEL_BY_ID[id_].has_content(desk.store.experiment)}
        wanted = set(SHELF) if row.id == LEARN else first  # the steps of a lesson open other places
        lines = {stack.panels[0] for stack in here if stack.size <= ONE_LINE}
        assert in_view(desk) == wanted and len(wanted - lines) <= MOST_IN_VIEW, row.id
        assert tabs.currentIndex() == index, row.id


@pytest.mark.parametrize("size", [(1024, 640), (1280, 800), (1920, 1080), (2560, 1440)])
def test_panels_lie_in_the_window_beside_one_another(desk: Desk, size: tuple[int, int]) -> None:
    desk.window.resize(*size)
    for row in WORKSPACES:
        desk.go(row.id)
        desk.qtbot.wait(20)
        assert (desk.window.width(), desk.window.height()) == size, row.id
        places = [desk.window.docks[id_].geometry() for id_ in in_view(desk)]
        for index, place in enumerate(places):
            assert desk.window.rect().contains(place), row.id
            assert not any(place.intersects(other) for other in places[index + 1 :]), row.id


def test_the_map_has_half_of_the_window(desk: Desk) -> None:
    stage = desk.window.docks["stage"]
    desk.window.resize(1920, 1080)
    desk.qtbot.waitUntil(lambda: stage.width() >= 0.4 * 1920 and stage.height() >= 0.6 * 1080)


def test_the_map_of_the_story_is_large_and_square_in_the_first_size(desk: Desk) -> None:
    """13 tokens, a caption of two lines, 1280 × 800: at least 400 px in both directions."""
    desk.window.documents.open_first("stories-en", desk.settle)
    desk.qtbot.waitUntil(lambda: len(desk.store.experiment.tokens) == 13)
    desk.settle()
    desk.qtbot.waitUntil(lambda: desk.map.layout_shown.plot.height() >= 400)
    geometry = desk.map.layout_shown
    assert geometry.plot.width() >= 400 and geometry.across_step == geometry.down_step == 1
    assert geometry.cell_w <= 1.5 * geometry.cell_h
    assert desk.window.docks["inspector"].width() >= 212


def tab_bars(desk: Desk) -> list[QTabBar]:
    window = desk.window
    return [bar for bar in window.findChildren(QTabBar) if bar.parent() is window and bar.isVisible()]


def test_the_tabs_and_the_keys_switch(desk: Desk) -> None:
    tabs = desk.find(QTabBar, "workspace_tabs")
    tabs.setCurrentIndex(2)
    assert desk.window.workspaces.present.id == "generate"
    desk.press_key(Qt.Key.Key_5, Qt.KeyboardModifier.ControlModifier)
    assert desk.window.workspaces.present.id == "model" and tabs.currentIndex() == 4


@pytest.mark.parametrize("width", [1000, 1280])
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_another_theme_moves_no_tab(
    make_desk: MakeDesk, settings: Settings, language: str, width: int
) -> None:
    settings["language"] = language
    desk = make_desk("toy-attention")
    desk.window.resize(width, 700)
    tabs = desk.find(QTabBar, "workspace_tabs")

    def places() -> list[QRect]:
        QApplication.processEvents()
        return [tabs.geometry(), *map(tabs.tabRect, range(tabs.count()))]

    for row in WORKSPACES:
        desk.go(row.id)
        before = places()
        desk.window.commands["dark"].trigger()
        assert places() == before, row.id


def test_the_focus_of_a_hidden_panel_does_not_go_to_the_tabs(desk: Desk) -> None:
    tabs = desk.find(QTabBar, "workspace_tabs")
    desk.window.leave()
    for number in (Qt.Key.Key_4, Qt.Key.Key_2):
        desk.press_key(number, Qt.KeyboardModifier.ControlModifier)
        assert not tabs.hasFocus()
    tabs.setFocus(Qt.FocusReason.TabFocusReason)
    tabs.setCurrentIndex(3)
    assert tabs.hasFocus(), "arrows walk on in the tabs"


def test_a_switch_computes_nothing_and_keeps_the_document(desk: Desk) -> None:
    trace, document = desk.store.trace, desk.store.document
    for row in WORKSPACES:
        desk.go(row.id)
    assert desk.store.trace is trace and desk.store.document is document


@pytest.mark.parametrize("row", WORKSPACES, ids=lambda row: row.id)
def test_no_separator_of_another_arrangement_stays_under_the_pointer(desk: Desk, row: WorkspaceRow) -> None:
    """Qt keeps the path to it and follows the path at the next key: it crashes where docks have left it."""
    window = desk.window
    desk.go("explore" if row.id != "explore" else "model")
    edge = window.docks["stage"].geometry().left() - 2
    at = QPointF(edge, window.docks["stage"].geometry().center().y())
    assert window.isSeparator(at.toPoint())  # type: ignore[attr-defined]
    QApplication.sendEvent(window, QHoverEvent(QEvent.Type.HoverMove, at, at, QPointF(-1, -1)))
    assert window.cursor().shape() == Qt.CursorShape.SplitHCursor
    window.workspaces.switch(row.id)
    assert window.cursor().shape() == Qt.CursorShape.ArrowCursor
    QTest.keyClick(window, Qt.Key.Key_Shift)


@pytest.mark.parametrize("how", ["switch", "reset", "enlarge", "give_back"])
def test_a_panel_that_the_mouse_drags_is_released_first(desk: Desk, how: str) -> None:
    """Qt holds a gap open for it: the program ended where the docks were arranged anew meanwhile."""
    desk.go("generate")
    workspaces, dock = desk.window.workspaces, desk.window.docks["text"]
    if how == "give_back":
        workspaces.enlarge("text")
        dock.show_title(True)
    bar = dock.titleBarWidget()
    QTest.mousePress(bar, Qt.MouseButton.LeftButton, pos=QPoint(6, bar.height() // 2))
    for step in range(1, 8):
        QTest.mouseMove(bar, QPoint(6 + 12 * step, bar.height() // 2 + 9 * step))
    assert QWidget.mouseGrabber() is dock  # dragged
    {
        "switch": lambda: workspaces.switch("explore"),
        "reset": workspaces.reset,
        "enlarge": lambda: workspaces.enlarge("stage"),
        "give_back": workspaces.give_back,
    }[how]()
    assert QWidget.mouseGrabber() is None
    workspaces.reset()
    assert not dock.isFloating()


def test_what_a_person_moved_stays_in_its_workspace(desk: Desk, settings: Settings) -> None:
    desk.window.docks["heads"].toggleViewAction().trigger()
    desk.go("generate")
    assert "heads" in in_view(desk)
    desk.go("explore")
    assert "heads" not in in_view(desk)
    assert settings.layout("explore") != b"" and settings.layout("generate") == b""
    desk.window.commands["reset_layout"].trigger()
    QApplication.processEvents()
    assert "heads" in in_view(desk) and settings.layout("explore") == b""


def test_a_panel_outside_the_arrangement_opens_as_a_tab_of_the_drawer(desk: Desk) -> None:
    desk.window.docks["architecture"].toggleViewAction().trigger()
    docks = desk.window.docks
    assert docks["architecture"] in desk.window.tabifiedDockWidgets(docks["inspector"])


def test_a_panel_behind_a_tab_is_torn_off_and_comes_back(desk: Desk) -> None:
    dock = desk.window.docks["plane"]
    title = dock.titleBarWidget()
    (name,) = title.findChildren(QLabel)
    desk.window.presentation.tear_off("plane")
    QApplication.processEvents()
    assert dock.isFloating() and dock.isVisible() and dock.width() > 100
    assert name.isVisible() and name.text() == "PLANE", "its title is what a person drags"
    QTest.mouseDClick(title, Qt.MouseButton.LeftButton, pos=title.rect().center())
    QApplication.processEvents()
    assert not dock.isFloating() and desk.window.docks["inspector"] in desk.window.tabifiedDockWidgets(dock)
    assert name.isHidden()
    desk.window.presentation.tear_off("plane")
    desk.window.workspaces.reset()
    assert not dock.isFloating() and desk.window.docks["inspector"] in desk.window.tabifiedDockWidgets(dock)


def test_a_floating_panel_is_told_that_it_is_in_sight(desk: Desk) -> None:
    dock = desk.window.docks["plane"]
    dock.setFloating(True)  # as a mouse does that drags it away
    desk.qtbot.waitUntil(lambda: "plane" in desk.window.panels and desk.window.panels["plane"].is_seen)
    assert dock.isFloating() and dock.isVisible()


def test_the_workspace_is_remembered(desk: Desk, make_desk: MakeDesk) -> None:
    desk.go("compare")
    desk.close()
    assert make_desk("toy-attention").window.workspaces.present.id == "compare"


def test_play_goes_where_the_player_is(desk: Desk) -> None:
    desk.store.open(desk.store.document)
    desk.press_key(Qt.Key.Key_Space)
    assert desk.window.workspaces.present.id == "generate" and "text" in in_view(desk)


@pytest.mark.parametrize("size", [(1024, 640), (1280, 800), (1920, 1080)])
def test_a_column_has_one_width_whichever_tab_is_in_front(desk: Desk, size: tuple[int, int]) -> None:
    desk.window.resize(*size)
    desk.go("explore")
    docks = desk.window.docks
    desk.qtbot.wait(SETTLED_MS)
    width, place = docks["inspector"].width(), docks["stage"].geometry()
    for panel in ("plane", "matrices", "axes", "cost", "gradients", "claims", "failures", "inspector"):
        desk.window.workspaces.choose_here(panel)
        desk.qtbot.wait(SETTLED_MS)
        assert docks[panel].is_in_sight and docks[panel].front == panel
        assert (docks[panel].width(), docks["stage"].geometry()) == (width, place), panel


def test_a_wide_panel_has_its_width_on_request_until_another_is_in_front(desk: Desk) -> None:
    desk.go("compare")
    workspaces = desk.window.workspaces
    workspaces.show_panel("cost")
    dock = desk.window.docks["cost"]
    assert workspaces.present.id == "explore" and dock.is_in_sight
    desk.qtbot.wait(SETTLED_MS)
    usual = dock.width()
    assert usual < PANEL_BY_ID["cost"].width

    def toggle(offered: str) -> None:
        menu = desk.window.findChild(ContextMenus).menu(Target(panel="cost"))
        entry = menu.findChild(QAction, "context_widen")
        assert entry.text() == offered
        entry.trigger()

    toggle("Full width")
    desk.qtbot.waitUntil(lambda: dock.width() >= PANEL_BY_ID["cost"].width)
    workspaces.show_panel("plane")
    desk.qtbot.waitUntil(lambda: desk.window.docks["plane"].width() == usual)
    workspaces.show_panel("cost")
    desk.qtbot.waitUntil(lambda: dock.width() >= PANEL_BY_ID["cost"].width)
    toggle("Usual width")
    desk.qtbot.waitUntil(lambda: dock.width() == usual)


def corner_of(desk: Desk, panel: str) -> Corner:
    """The buttons beside the tabs of the place of a panel."""
    dock = desk.window.docks[panel]
    corners = desk.window.findChildren(Corner)
    desk.qtbot.waitUntil(lambda: any(one.isVisible() and one.dock is dock for one in corners))
    return next(one for one in corners if one.isVisible() and one.dock is dock)


def test_a_tab_and_a_click_enlarge_its_panel_and_another_click_returns(desk: Desk) -> None:
    desk.go("explore")
    bar = next(bar for bar in tab_bars(desk) if "Cost" in map(bar.tabText, range(bar.count())))
    place = next(index for index in range(bar.count()) if bar.tabText(index) == "Cost")
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(place).center())
    corner = corner_of(desk, "cost")
    desk.click(corner.enlarge)
    workspaces, dock = desk.window.workspaces, desk.window.docks["cost"]
    assert workspaces.enlarged == "cost"
    desk.qtbot.waitUntil(lambda: in_view(desk) == {"cost"} and not corner.isVisible())
    assert dock.enlarge.accessibleName() == "Restore the panel"
    desk.click(dock.enlarge)
    assert workspaces.enlarged == ""
    desk.qtbot.waitUntil(lambda: corner.isVisible() and dock.is_in_sight)


def test_every_row_of_tabs_offers_to_enlarge_what_is_in_front(desk: Desk) -> None:
    for workspace in ("explore", "compare", "model", "generate"):
        desk.go(workspace)
        desk.qtbot.wait(SETTLED_MS)
        corners = [one for one in desk.window.findChildren(Corner) if one.isVisible()]
        assert len(corners) == len(tab_bars(desk)) >= 1
        for corner in corners:
            assert corner.dock is not None and corner.dock.is_in_sight
            assert corner.geometry().right() == corner.dock.geometry().right()
    desk.go("learn")
    desk.qtbot.wait(SETTLED_MS)
    assert not any(one.isVisible() for one in desk.window.findChildren(Corner))


@pytest.mark.parametrize("workspace", ["explore", LEARN])
def test_a_double_click_on_a_tab_enlarges_its_panel(desk: Desk, workspace: str) -> None:
    desk.go(workspace)
    if workspace == LEARN:
        desk.window.workspaces.show_only(("lesson", "stage", "tokens", "vectors"))

    def found() -> list[tuple[QTabBar, QPoint]]:
        bars = ((bar, index) for bar in tab_bars(desk) for index in range(bar.count()))
        return [(bar, bar.tabRect(index).center()) for bar, index in bars if bar.tabText(index) == "Vectors"]

    desk.qtbot.waitUntil(lambda: bool(found()))
    desk.qtbot.wait(SETTLED_MS)
    ((bar, at),) = found()
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(bar, Qt.MouseButton.LeftButton, pos=at)
    desk.qtbot.waitUntil(lambda: in_view(desk) == {"vectors"})
    desk.press_key(Qt.Key.Key_Escape)
    desk.qtbot.waitUntil(lambda: desk.window.docks["stage"].is_in_sight)


def test_the_tabs_of_each_workspace_are_those_of_the_last_time(desk: Desk, make_desk: MakeDesk) -> None:
    workspaces = desk.window.workspaces
    workspaces.show_panel("mechanism")
    workspaces.show_panel("axes")
    workspaces.choose_here("failures")
    workspaces.show_panel("plane")
    desk.go("model")
    workspaces.show_panel("patching")
    desk.go("explore")
    docks = desk.window.docks

    def is_as_left(window: Window) -> bool:
        docks = window.docks
        seen = all(docks[id_].is_in_sight for id_ in ("mechanism", "plane"))
        return seen and window.workspaces.guests == [docks["failures"]]

    desk.qtbot.waitUntil(lambda: is_as_left(desk.window))
    assert (docks["matrices"].front, docks["claims"].front) == ("axes", "failures")
    desk.close()
    later = make_desk("toy-attention")
    later.window.resize(1280, 800)
    later.qtbot.waitUntil(lambda: is_as_left(later.window))
    assert later.window.docks["matrices"].front == "axes"
    later.go("model")
    later.qtbot.waitUntil(lambda: later.window.docks["patching"].is_in_sight)
    assert later.window.docks["circuits"].front == "patching"
    later.window.commands["reset_layout"].trigger()
    later.qtbot.waitUntil(lambda: later.window.docks["lens"].is_in_sight)
    assert later.window.docks["circuits"].front == "circuits"


def test_a_layout_of_before_the_tabs_were_merged_is_restored(desk: Desk, settings: Settings) -> None:
    """Its docks of panels that now stand within others have no place any more."""
    other = QMainWindow()
    for name in ("tokens", "stage", "gradients", "axes", "inspector"):
        dock = QDockWidget(other)
        dock.setObjectName(f"{name}_dock")
        other.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    settings.set_layout("explore", bytes(other.saveState(LAYOUT_VERSION).data()))
    desk.go("compare")
    desk.go("explore")
    desk.qtbot.waitUntil(lambda: {"tokens", "stage", "inspector"} <= in_view(desk))
    desk.window.workspaces.show_panel("gradients")
    desk.qtbot.waitUntil(lambda: desk.window.panels["gradients"].is_seen)


def test_tabs_and_more_stand_over_the_panels_also_after_learn(desk: Desk) -> None:
    desk.go("learn")
    desk.qtbot.wait(700)  # until Qt has hidden the bars that have one tab
    desk.go("explore")
    more = desk.find(QToolButton, "more_button")
    desk.qtbot.waitUntil(more.isVisible)
    bars = desk.window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert [bar.isVisible() for bar in bars if bar.count() > 1] == [True, True]


def test_one_panel_at_a_time_has_the_place_under_more(desk: Desk) -> None:
    docks, workspaces = desk.window.docks, desk.window.workspaces
    drawer = docks["inspector"]
    for panel in ("failures", "lens", "grid"):
        workspaces.choose_here(panel)
        QApplication.processEvents()
        assert workspaces.guests == [docks[panel]] and docks[panel].is_in_sight
        tabs = [dock for dock in (drawer, *desk.window.tabifiedDockWidgets(drawer)) if not dock.isHidden()]
        assert len(tabs) == MOST_TABS - 1  # and More
    assert workspaces.present.id == "explore"
    desk.qtbot.waitUntil(desk.find(QToolButton, "more_close").isVisible)
    desk.click(desk.find(QToolButton, "more_close"))
    desk.qtbot.waitUntil(lambda: drawer.is_in_sight or docks["cost"].is_in_sight)
    assert workspaces.guests == []


@pytest.mark.parametrize("language", [language.code for language in LANGUAGES])
def test_the_names_of_the_tabs_and_more_fit_beside_one_another(
    make_desk: MakeDesk, settings: Settings, language: str
) -> None:
    settings["language"] = language
    desk = make_desk("toy-attention")
    for width in (1000, 1280, 1920):
        desk.window.resize(width, 800)
        for workspace in ("compare", "model", "generate", "explore"):
            desk.go(workspace)
            more = desk.find(QWidget, "more_box")
            desk.qtbot.waitUntil(more.isVisible)
            desk.qtbot.wait(SETTLED_MS)
            for bar in tab_bars(desk):
                last = bar.mapTo(desk.window, bar.tabRect(bar.count() - 1).bottomRight())
                rooms = [one.x() for one in desk.window.findChildren(Corner) if one.isVisible()]
                rooms = [x for x in rooms if x >= bar.x()]
                assert last.x() < min(rooms), (width, workspace, bar.tabText(0))
                assert last.x() <= bar.x() + bar.width(), (width, workspace, bar.tabText(0))
                assert bar.shape() == QTabBar.Shape.RoundedNorth


@pytest.mark.parametrize("size", [(1024, 640), (1280, 800), (1920, 1080)])
@pytest.mark.parametrize("panels", [("lesson", "stage", "block"), ("lesson", "block")])
def test_learn_gives_the_block_its_width(desk: Desk, size: tuple[int, int], panels: tuple[str, ...]) -> None:
    desk.window.resize(*size)
    desk.go(LEARN)
    desk.window.workspaces.show_only(panels)
    block, lesson = desk.window.docks["block"], desk.window.docks["lesson"]
    desk.qtbot.waitUntil(lambda: block.width() >= PANEL_BY_ID["block"].width + TAB_PX)
    assert lesson.width() >= PANEL_BY_ID["lesson"].width


def test_learn_shows_a_student_no_engine_no_list_of_panels_and_no_range(desk: Desk) -> None:
    names = ("panels_button", "engine_button", "show_button", "more_box")
    parts = [desk.find(QWidget, name) for name in names]
    desk.go(LEARN)
    desk.settle()
    assert [part.objectName() for part in parts if part.isVisible()] == []
    behind_show = ("range_box", "side_button", "gradient_button")
    card = [desk.find(QWidget, name) for name in behind_show]
    assert not any(part.isVisible() for part in card)
    desk.store.look(stage="scores")
    desk.settle()
    assert [part.objectName() for part in parts if part.isVisible()] == []
    desk.go("explore")
    desk.qtbot.waitUntil(lambda: all(part.isVisible() for part in parts))
