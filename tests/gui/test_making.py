"""Panels in sight are made first; the others follow in pauses, or at once when something needs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from desk import WAIT_MS, Desk
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from attnviz.gui.look import look
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.panels.table import PANELS
from attnviz.gui.settings import Settings
from attnviz.gui.window import Window
from attnviz.model.io.presets import load_preset

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")

ALL = {row.id for row in PANELS}


@pytest.fixture
def begun(qapp: QApplication, qtbot: QtBot, settings: Settings) -> Iterator[Desk]:
    """A window with the panels in sight."""
    load_fonts()
    look.apply(qapp, settings)
    window = Window(load_preset("causal-decode"), settings, inline=True)
    desk = Desk(qtbot, window)
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    QApplication.processEvents()
    window.begin()
    try:
        yield desk
    finally:
        desk.leave()


def in_sight(window: Window) -> set[str]:
    return {id_ for id_, dock in window.docks.items() if not dock.visibleRegion().isEmpty()}


def test_only_panels_in_sight_are_made_at_first_and_the_others_in_pauses(begun: Desk) -> None:
    window = begun.window
    assert set(window.panels) == in_sight(window) and "stage" in window.panels
    begun.settle()
    assert begun.map.content.values.shape == window.store.shown_site.shape("weights")[1:]
    begun.qtbot.waitUntil(lambda: set(window.panels) == ALL, timeout=WAIT_MS)
    assert window.complete()  # once more changes nothing
    assert set(window.panels) == ALL


@pytest.mark.parametrize("need", ["workspace", "pin", "find_setting", "tab"])
def test_whatever_needs_a_missing_panel_has_all_of_them(begun: Desk, need: str) -> None:
    window = begun.window
    if need == "workspace":
        begun.go("compare")
    elif need == "tab":
        begun.bring("cost")
    else:
        window.commands[need].trigger()
    assert set(window.panels) == ALL
    panel = window.panels["compare" if need == "workspace" else "cost" if need == "tab" else "mechanism"]
    assert panel.is_seen or need == "pin"
    begun.settle()


def test_a_panel_that_is_made_later_shows_the_present_document(begun: Desk) -> None:
    window = begun.window
    begun.settle()
    window.store.look(stage="scores", head=0)
    window.complete()
    assert not window.panels["lens"].is_seen
    begun.go("model")
    assert window.panels["lens"].is_seen
    assert window.panels["grid"].isVisible()
