"""Every number of a document's view is shown, or refused with one sentence, however large."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from desk import MakeDesk
from draw import Drawn
from msgspec import to_builtins

from attnviz.errors import InputError
from attnviz.gui.panels.table import PANELS
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.model.io.files import loads
from attnviz.model.io.json_text import write
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, View

NUMBERS = (0, -1, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**63, 1e308)
MOST = 2**24
PICTURES = ("map", "lines")


def with_numbers(view: Any, number: float) -> list[tuple[str, Any]]:
    """The view with each of its whole numbers replaced, by the path of the number."""
    found: list[tuple[str, Any]] = []

    def walk(part: Any, path: str, put: Any) -> None:
        if isinstance(part, bool):
            return
        if isinstance(part, int):
            found.append((path, put(number)))
        elif isinstance(part, dict | list | tuple):
            for key, inner in part.items() if isinstance(part, dict) else enumerate(part):
                walk(inner, f"{path}.{key}", lambda new, key=key, part=part: put(_with(part, key, new)))

    walk(view, "view", lambda new: new)
    return found


def _with(part: Any, key: Any, new: Any) -> Any:
    copy = part.copy() if isinstance(part, dict) else list(part)
    copy[key] = new
    return copy


DOCUMENT = json.loads(write(load_preset("causal-decode"), {}))
VIEW = to_builtins(View(locked=Cell("weights", 0, 0), keys=(0, 1)))
PATHS = [path for path, _view in with_numbers(VIEW, 0)]


def test_the_paths_are_all_numbers_of_a_view() -> None:
    assert PATHS == [
        *(f"view.{name}" for name in ("head", "query", "step", "plane.0", "plane.1")),
        *(f"view.locked.{name}" for name in ("row", "column", "head")),
        *("view.keys.0", "view.keys.1"),
    ]


def read(view: Any, picture: str) -> Document:
    return loads(json.dumps({**DOCUMENT, "view": {**view, "picture": picture}}))


@pytest.mark.parametrize("number", [number for number in NUMBERS if not 0 <= number <= MOST])
def test_a_number_past_the_range_of_a_view_is_refused(number: float) -> None:
    for path, view in with_numbers(VIEW, number):
        for picture in PICTURES:
            with pytest.raises(InputError) as refused:
                read(view, picture)
            wanted = f" must be a whole number from 0 to 16,777,216; got {number}."
            assert str(refused.value).endswith(wanted), path


@pytest.mark.parametrize("number", [number for number in NUMBERS if 0 <= number <= MOST])
def test_a_number_of_a_view_is_shown(make_desk: MakeDesk, drawn: Drawn, number: float) -> None:
    desk = make_desk("half-each")
    views = dict(with_numbers(VIEW, number))
    for path, picture, workspace in drawn(
        list(itertools.product(PATHS, PICTURES, [row.id for row in WORKSPACES]))
    ):
        document = read(views[path], picture)
        if document != desk.store.document:
            desk.store.open(document)
            desk.settle()
        desk.go(workspace)


def test_every_panel_shows_a_view_past_the_ends_of_its_document(make_desk: MakeDesk) -> None:
    view = VIEW
    for path in PATHS:
        view = dict(with_numbers(view, MOST))[path]
    desk = make_desk(loads(json.dumps({**DOCUMENT, "view": view})))
    for panel in PANELS:
        desk.bring(panel.id)
        desk.settle()
    desk.go("generate")
    desk.settle_decoding()
