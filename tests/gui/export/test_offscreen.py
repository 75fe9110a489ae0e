"""A panel without a screen is painted with all of its numbers, however busy the machine is."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import Any, cast

from desk import Desk
from PySide6.QtCore import QTimer

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.export.widget import framed, widget_bytes
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.offscreen import QUIET_S, Asked, _settle, panel_bytes
from attnviz.gui.panels.stage.header import StageHeader
from attnviz.gui.services.services import Schedulers


def test_a_round_of_events_that_takes_long_is_no_time_of_rest(qapp: Any) -> None:
    """A timer of the window begins a job; the timers before it hold up the events."""
    scheduler, done = cast("Any", SimpleNamespace(idle=True)), list[str]()

    def finish() -> None:
        scheduler.idle = True
        done.append("job")

    def begin() -> None:
        scheduler.idle = False
        QTimer.singleShot(20, finish)

    QTimer.singleShot(0, lambda: time.sleep(1.5 * QUIET_S))
    QTimer.singleShot(int(500 * QUIET_S), begin)
    _settle(Schedulers(*[scheduler] * 5))
    assert done == ["job"]


def texts(svg: bytes) -> set[str]:
    return {
        "".join(text.itertext()).strip()
        for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    }


def test_the_file_of_the_stage_has_no_controls_and_the_window_keeps_them(desk: Desk) -> None:
    header = desk.window.findChild(StageHeader)
    assert isinstance(header, StageHeader)
    before = header.grab().toImage()
    shown = texts(widget_bytes(framed(desk.window.panels["stage"]), LIGHT, "svg"))
    assert header.name.text() in shown
    assert shown.isdisjoint({"Map", "Mean", "Lines", "∂", "This head", "Each row", "All heads"})
    desk.settle()
    assert header.grab().toImage() == before


def test_a_small_panel_is_laid_out_in_its_size(qapp: Any) -> None:
    """Its caption has two lines in it, and one in the window."""
    document = load_preset("toy-attention")
    found = texts(panel_bytes(document, Asked("stage", size=(420, 400)), "svg"))
    assert {"vectors themselves.", "Four tokens, three numbers each"} <= found
