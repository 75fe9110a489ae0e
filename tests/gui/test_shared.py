"""The window that tests share: whatever one of them changes is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from desk import Desk, Shared
from PySide6.QtWidgets import QApplication

from attnviz.gui.settings import Settings
from attnviz.model.edit.paths import putting


def narrow(desk: Desk) -> None:
    desk.window.resize(1400, 900)
    QApplication.processEvents()


CHANGES: dict[str, tuple[Callable[[Desk], object], set[str]]] = {
    "nothing": (lambda desk: desk.map.grab(), set()),
    "edit": (lambda desk: desk.store.edit_here(putting("temperature"), 2.0), {"document", "history"}),
    "look": (lambda desk: desk.store.look(stage="scores"), {"view"}),
    "settings": (lambda desk: desk.window.settings.__setitem__("motion", False), {"settings"}),
    "hidden panel": (lambda desk: desk.window.docks["tokens"].hide(), {"layout"}),
    "size": (narrow, {"layout"}),
    "workspace": (lambda desk: desk.go("generate"), {"workspace", "layout", "settings"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_named(desk: Desk, settings: Settings, change: str) -> None:
    shared = Shared(desk, settings._store)
    act, wanted = CHANGES[change]
    act(desk)
    desk.settle()
    changes = set(shared.changes())
    assert changes >= wanted and bool(changes) == bool(wanted)  # an edit may move what lies below it
    shared.__dict__.clear()  # as `Desk.leave`: it holds nothing of the window


@pytest.mark.reads
@pytest.mark.parametrize("time", [1, 2])
def test_the_window_is_opened_once(desk: Desk, time: int) -> None:
    assert desk.window.property("times") == (None if time == 1 else 1)
    desk.window.setProperty("times", time)
