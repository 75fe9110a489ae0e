"""Every panel reads score-shaped stages in windows, and paints what it paints of an array."""

from __future__ import annotations

from typing import Any

import pytest
from desk import Desk, MakeDesk, picture, pixels
from experiments import block, small
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QWidget
from refusing import SIDE, refuse_whole

from attnviz.gui.panels.table import PANELS
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Causal, Heads, Rope, SeededVectors
from attnviz.model.spec.view import Cell, View

N = SIDE + 16
WORDS = "the cat sat on a mat".split()
LONG = set_n_layers(
    small(
        tokens=tuple(WORDS[i % len(WORDS)] for i in range(N)),
        vectors=SeededVectors(N, 6, 7),
        heads=Heads(2, 2, 4),
        position=Rope(),
        masks=(Causal(),),
        block=block("pre"),
        dtype="float32",
    ),
    2,
)
VIEW = View(stage="weights", head=1, query=70, locked=Cell("weights", 70, 3, 1))
VIEWS: tuple[dict[str, Any], ...] = (
    {},
    {"picture": "mean"},
    {"picture": "lines"},
    {"stage": "scaled", "orientation": "queries_as_columns"},
    {"quantity": "gradient"},
)
TIMED = "counters"
"""The panel that says how long a run took."""


def colors(panel: QWidget) -> list[bytes]:
    """The colour of each cell of each map."""
    return [heat._scene.indices.tobytes() for heat in panel.findChildren(HeatMap)]


def at_rest(desk: Desk, panel: str) -> bytes:
    """The picture of a panel without the focus, once its layout is at rest: Qt tells some sizes later."""
    focused, found = QApplication.focusWidget(), [b""]
    if focused is not None:
        focused.clearFocus()

    def is_same() -> bool:
        found.append(pixels(picture(desk.window.panels[panel]).copy()).tobytes())
        return found[-1] == found[-2]

    desk.qtbot.waitUntil(is_same)
    return found[-1]


def painted(desk: Desk) -> dict[str, Any]:
    """The picture of each panel in the first view, and of its maps in all."""
    desk.window.complete()
    desk.window.commands["pin"].trigger()
    desk.settle()
    found: dict[str, Any] = {}
    for row in PANELS:
        desk.go(row.workspaces[0])
        desk.window.workspaces.enlarge(row.id)  # as large in one window as in another
        dock, room = desk.window.docks[row.id], desk.window.size() * 0.9
        desk.qtbot.waitUntil(lambda dock=dock, room=room: dock.size().boundedTo(room) == room)
        desk.settle()
        found[row.id] = None if row.id == TIMED else at_rest(desk, row.id)
        desk.window.workspaces.give_back()
    desk.window.workspaces.reset()  # the tabs of the last time say what is seen
    for view in VIEWS:
        desk.store.look(**{name: getattr(replace(VIEW, **view), name) for name in VIEW.__struct_fields__})
        desk.settle()
        found[str(view)] = [colors(desk.window.panels[row.id]) for row in PANELS]
    return found


def test_every_panel_reads_windows_alone(make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document(LONG, VIEW)
    whole = painted(make_desk(document))
    refused = refuse_whole(monkeypatch)
    again = painted(make_desk(document))
    assert not refused
    assert [id_ for id_ in whole if again[id_] != whole[id_]] == []
