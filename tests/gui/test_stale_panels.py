"""A run that fails: the panels that keep earlier numbers fade, and say why as long as that is so."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from desk import Desk, MakeDesk, count_color, picture, pixels
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel

from attnviz.errors import InputError, Message
from attnviz.gui.live import trace as live
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.table import PANELS
from attnviz.gui.widgets.panel_dock import Veil
from attnviz.model.edit.paths import putting
from attnviz.model.trace import Trace

REASON = "A run must fit in 1.0 GiB; got 64.0 GiB."


def refuse(*_of: object, **_more: object) -> Trace:
    raise InputError(Message("A run must fit in {most}; got {size}.", most="1.0 GiB", size="64.0 GiB"))


def reasons(desk: Desk) -> dict[str, str]:
    """The reason over each panel in sight."""
    veils = {id_: dock.findChild(Veil) for id_, dock in desk.window.docks.items() if dock.is_in_sight}
    return {id_: veil.reason for id_, veil in veils.items() if veil is not None and veil.isVisible()}


def darkness(desk: Desk) -> float:
    """The mean difference of the map from the ground of its panel."""
    return float(np.abs(pixels(picture(desk.window.docks["stage"])) - 252).mean())


def test_the_reason_stays_over_the_pictures_until_new_numbers_arrive(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = darkness(desk)
    with monkeypatch.context() as patch:
        patch.setattr(live, "execute", refuse)
        desk.store.edit_attention(putting("temperature"), 2.0)
        desk.qtbot.waitUntil(lambda: bool(reasons(desk)))
    desk.window.status.clear()  # its sentence stays for some seconds
    assert set(reasons(desk)) == {"pipeline", "stage", "heads", "inspector"}
    assert set(reasons(desk).values()) == {REASON}
    veil = desk.window.docks["stage"].findChild(Veil)
    assert veil.card().isValid() and veil.card().width() < veil.width()
    assert darkness(desk) < 0.6 * before
    assert count_color(picture(desk.window.docks["stage"]), LIGHT.error, tolerance=0) > 50
    desk.bring("plane")
    assert reasons(desk)["plane"] == REASON, "a panel that comes to the front says it, too"
    desk.store.undo()
    desk.settle()
    assert reasons(desk) == {} and darkness(desk) == pytest.approx(before, rel=0.05)


def test_a_slow_run_says_so_over_the_pictures_and_nothing_of_them_is_exported(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, goes_on = make_desk(inline=False), threading.Event()
    computed = live.execute

    def slow(*given: Any, **named: Any) -> Trace:
        goes_on.wait(30.0)
        return computed(*given, **named)

    monkeypatch.setattr(live, "execute", slow)
    desk.window.documents.open_preset("alibi-window")
    desk.qtbot.waitUntil(lambda: bool(reasons(desk)))
    assert set(reasons(desk)) == {"pipeline", "stage", "heads", "inspector"}
    assert all("of an earlier state" in reason for reason in reasons(desk).values())
    dock = desk.window.docks["stage"]
    assert not count_color(picture(dock), LIGHT.error, tolerance=0), "nothing is wrong"
    ids = ("export_figure", "export_panel", "copy_picture", "copy_table")
    for command in (*(desk.window.commands[id_] for id_ in ids), desk.export_entry("page")):
        QGuiApplication.clipboard().setText("of before")
        desk.window.status.clear()
        command.trigger()
        assert desk.said().startswith("An export needs the numbers of this document"), command.text()
        assert QGuiApplication.clipboard().text() == "of before", command.text()
    goes_on.set()
    desk.settle()
    assert reasons(desk) == {}
    desk.window.commands["copy_picture"].trigger()
    assert QGuiApplication.clipboard().mimeData().hasImage()


def test_the_panels_of_the_decoding_show_the_reason_and_no_earlier_text(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk("causal-decode")
    desk.settle_decoding()
    desk.go("generate")
    with monkeypatch.context() as patch:
        patch.setattr(live, "execute", refuse)
        desk.store.edit_attention(putting("temperature"), 2.0)
        desk.qtbot.waitUntil(lambda: desk.store.player.problem is not None)
    QApplication.processEvents()
    assert desk.store.player.decoded is None
    says = [label.text() for label in desk.window.panels["next"].findChildren(QLabel) if label.isVisible()]
    assert REASON in says
    desk.store.undo()
    desk.settle_decoding()
    assert desk.store.player.problem is None


def test_what_a_person_edits_never_fades() -> None:
    edited = {"tokens", "vectors", "mechanism", "sampling", "cache", "text", "lesson"}
    assert not edited & {row.id for row in PANELS if row.computed}
