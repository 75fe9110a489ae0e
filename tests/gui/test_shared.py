"""The window that tests share: whatever one of them changes is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from desk import Desk, Shared
from PySide6.QtWidgets import QApplication

from attnviz.gui.context.target import Target
from attnviz.gui.help.help import HelpCard
from attnviz.gui.settings import Settings
from attnviz.model.edit.paths import putting


def narrow(desk: Desk) -> None:
    desk.window.resize(1400, 900)
    QApplication.processEvents()


WINDOWS: set[int] = set()
"""Those that `test_the_window_is_opened_once` has met."""

CHANGES: dict[str, tuple[Callable[[Desk], object], set[str]]] = {
    "nothing": (lambda desk: desk.map.grab(), set()),
    "edit": (lambda desk: desk.store.edit_here(putting("temperature"), 2.0), {"document", "history"}),
    "look": (lambda desk: desk.store.look(stage="scores"), {"view"}),
    "settings": (lambda desk: desk.window.settings.__setitem__("motion", False), {"settings"}),
    "hidden panel": (lambda desk: desk.window.docks["tokens"].hide(), {"layout"}),
    "size": (narrow, {"layout"}),
    "card": (
        lambda desk: desk.window.handlers.what_is_this.explain(Target(stage="scores")),
        {"what lies over it"},
    ),
    "workspace": (lambda desk: desk.go("generate"), {"workspace", "layout"}),
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
    WINDOWS.add(desk.window.winId())
    assert len(WINDOWS) == 1


@pytest.mark.reads
@pytest.mark.parametrize("time", [1, 2])
def test_a_card_is_closed_after_its_test(desk: Desk, time: int) -> None:
    card = desk.find(HelpCard, "help_card")
    assert not card.isVisible()
    desk.window.handlers.what_is_this.explain(Target(stage="scores"))
    assert card.isVisible()
