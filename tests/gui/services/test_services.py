"""The services of a window lead to no widget, whichever way one goes from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import FrozenInstanceError, fields
from types import FunctionType, MethodType
from typing import Any

import pytest
from desk import Desk, MakeDesk
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QWidget

from attnviz.gui.dialogs.dialog import Dialog
from attnviz.gui.services.services import Services

OBSERVERS = {"submitted"}
"""Attributes that hold who hears of a change, as a connected signal does: nobody reads them."""


def neighbours(thing: Any) -> Iterator[tuple[str, Any]]:
    """The objects that an object holds, with their names; for an object of Qt its parent as well."""
    if isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in thing.items())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from ((f"[{index}]", value) for index, value in enumerate(thing))
    elif isinstance(thing, MethodType):
        yield "__self__", thing.__self__
    elif isinstance(thing, FunctionType):
        yield from (("closure", cell.cell_contents) for cell in thing.__closure__ or ())
    elif type(thing).__module__.startswith("attnviz"):
        slots = {name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())}
        names = (slots | set(getattr(thing, "__dict__", ()))) - OBSERVERS
        yield from ((name, getattr(thing, name)) for name in names if hasattr(thing, name))
        if isinstance(thing, QObject):
            yield "parent()", thing.parent()


def ways_to_widgets(services: Services) -> list[str]:
    seen, found, ahead = set[int](), list[str](), [("services", services)]
    kept: list[Any] = []  # so that no id is used twice
    while ahead:
        way, thing = ahead.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        kept.append(thing)
        if isinstance(thing, QWidget):
            found.append(way)
        else:
            ahead.extend((f"{way}.{name}", next_) for name, next_ in neighbours(thing))
    return found


def test_no_service_is_a_widget_or_leads_to_one(desk: Desk) -> None:
    services = desk.window.services
    assert ways_to_widgets(services) == []
    assert services.store is desk.store and services.settings is desk.window.settings
    names = {field.name for field in fields(services)}
    assert names == {"store", "schedulers", "documents", "settings", "status"}
    with pytest.raises(FrozenInstanceError):
        services.store = desk.store  # type: ignore[misc]


def test_the_search_finds_a_widget(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.window.services.documents.said_to = desk.window.status.say  # type: ignore[attr-defined]
    assert ways_to_widgets(desk.window.services) == ["services.documents.said_to.__self__"]
    del desk.window.services.documents.said_to  # type: ignore[attr-defined]


def test_every_panel_gets_the_services_of_its_window(desk: Desk) -> None:
    desk.window.complete()
    assert all(panel.services is desk.window.services for panel in desk.window.panels.values())


@pytest.mark.parametrize("command", ["about", "shortcuts", "preferences", "import_model", "survey"])
def test_every_dialog_gets_the_services_of_its_window(
    desk: Desk, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Dialog] = []

    def close(dialog: Dialog) -> int:
        shown.append(dialog)
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(Dialog, "exec", close)
    monkeypatch.setattr("attnviz.gui.dialogs.survey.check_survey", lambda *_model: None)
    desk.window.commands[command].trigger()
    (dialog,) = shown
    assert type(dialog).__init__.__code__.co_varnames[:3] == ("self", "window", "services")
    assert dialog.services is desk.window.services and dialog.parent() is desk.window
    assert dialog.objectName().endswith("_dialog") and dialog.windowTitle()


def test_a_sentence_of_the_status_stands_in_the_status_line(desk: Desk) -> None:
    status = desk.window.services.status
    status.say("written")
    assert desk.window.status.message() == "written"
    status.warn(ValueError("it is full"))
    assert desk.window.status.message() == "it is full"
    status.clear()
    assert desk.window.status.message() == ""
