"""Panels in sight are made first; the others follow in pauses, or at once when something needs them."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

import pytest
from desk import WAIT_MS, Desk
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from attnviz.gui.look import look
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.panels.table import PANEL_BY_ID, PANELS
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.panel_dock import NarrowScroll
from attnviz.gui.window import making
from attnviz.gui.window.window import Window
from attnviz.model.io.presets import load_preset

ALL = {row.id for row in PANELS}


@pytest.fixture
def shown(qapp: QApplication, qtbot: QtBot, settings: Settings) -> Iterator[Desk]:
    """A window on the screen that has not begun."""
    load_fonts()
    look.apply(qapp, settings)
    window = Window(load_preset("causal-decode"), settings, inline=True)
    desk = Desk(qtbot, window)
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    QApplication.processEvents()
    try:
        yield desk
    finally:
        desk.leave()


@pytest.fixture
def begun(shown: Desk) -> Desk:
    """A window with the panels in sight, which makes others only when something needs them."""
    shown.window.begin(in_pauses=False)
    return shown


def in_sight(window: Window) -> set[str]:
    return {id_ for id_, dock in window.docks.items() if not dock.visibleRegion().isEmpty()}


def test_only_panels_in_sight_are_made_at_first_and_the_others_in_pauses(shown: Desk) -> None:
    window = shown.window
    with pytest.raises(KeyError):
        window.panels["stage"]  # the window has not begun
    window.begin()
    assert set(window.panels) == in_sight(window) and "stage" in window.panels
    scrolling = {id_ for id_, dock in window.docks.items() if dock.findChild(NarrowScroll) is not None}
    assert scrolling == {id_ for id_ in window.panels if PANEL_BY_ID[id_].width}
    shown.settle()
    assert shown.map.content.values.shape == window.store.shown_site.shape("weights")[1:]
    shown.qtbot.waitUntil(lambda: set(window.panels) == ALL, timeout=4 * WAIT_MS)
    assert window.complete()  # once more changes nothing
    assert set(window.panels) == ALL


def test_a_panel_that_comes_into_sight_while_others_are_made_is_made_once(desk: Desk) -> None:
    """As in a window that begins before the screen has shown it."""
    named = {f"{row.id}_panel": row.id for row in PANELS}
    made = [
        named[panel.objectName()]
        for panel in desk.window.findChildren(QWidget)
        if panel.objectName() in named
    ]
    assert "mechanism" in made and sorted(made) == sorted(desk.window.panels)


NEEDS = {
    "workspace": "compare",
    "tab": "cost",
    "pin": "compare",
    "find_setting": "mechanism",
}
"""Acts of a person, and the panel that each needs."""


@pytest.mark.parametrize("need", NEEDS)
def test_a_missing_panel_is_made_when_something_needs_it_and_others_wait(begun: Desk, need: str) -> None:
    window = begun.window
    assert NEEDS[need] not in window.panels
    if need == "workspace":
        begun.go("compare")
    elif need == "tab":
        begun.bring("cost")
    else:
        window.commands[need].trigger()
    assert window.panels.keys() >= in_sight(window)
    assert NEEDS[need] in window.panels and "cache" not in window.panels
    assert window.panels[NEEDS[need]].is_seen or need == "pin"
    begun.settle()


def test_a_panel_is_made_when_it_is_asked_for(begun: Desk) -> None:
    panels = begun.window.panels
    assert "lens" not in panels
    made = panels["lens"]
    assert made is panels["lens"] and begun.window.docks["lens"].isAncestorOf(made)
    assert begun.window.panels["compare"].pinning.pinned is None and "compare" in panels
    with pytest.raises(KeyError):
        panels["no such panel"]


def test_a_panel_that_is_made_later_shows_the_present_document(begun: Desk) -> None:
    window = begun.window
    begun.settle()
    window.store.look(stage="scores", head=0)
    window.complete()
    assert not window.panels["lens"].is_seen
    begun.go("model")
    assert window.panels["lens"].is_seen
    assert window.panels["grid"].isVisible()


def test_no_sources_of_modules_stay_in_memory(shown: Desk) -> None:
    """PySide6 reads those of all that is imported, and Python kept 130,000 lines of them."""
    linecache.getlines(making.__file__)
    shown.window.start()
    assert not linecache.cache
