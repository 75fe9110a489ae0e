"""A panel without a screen is painted when its numbers are there, however busy the machine is."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

from PySide6.QtCore import QTimer

from attnviz.gui.export.offscreen import QUIET_S, _settle


def test_a_round_of_events_that_takes_long_is_no_time_of_rest(qapp: Any) -> None:
    """A timer of the window begins a job; the timers before it hold up the events."""
    scheduler, done = SimpleNamespace(idle=True), list[str]()

    def finish() -> None:
        scheduler.idle = True
        done.append("job")

    def begin() -> None:
        scheduler.idle = False
        QTimer.singleShot(20, finish)

    QTimer.singleShot(0, lambda: time.sleep(1.5 * QUIET_S))
    QTimer.singleShot(int(500 * QUIET_S), begin)
    _settle(cast("Any", SimpleNamespace(scheduler=scheduler, decode_scheduler=scheduler)))
    assert done == ["job"]
