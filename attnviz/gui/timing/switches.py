"""From the choice of a workspace to the end of the paint that shows it."""

from __future__ import annotations

from typing import Any

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.app import FirstFrame
from attnviz.gui.timing.window import TimedWindow, now, spin, wait
from attnviz.gui.workspaces.table import WORKSPACES

DOCUMENT = "stories-en"
PAUSE_S = 0.4
"""Between two switches: the decoding that a workspace needs is complete."""


def measure_switches(count: int) -> dict[str, Any]:
    """Seconds and CPU seconds of `count` switches to each workspace from the one before it.

    The first round is left out: panels are laid out for the first time in it.
    """
    timed = TimedWindow(load_preset(DOCUMENT))
    window = timed.window
    FirstFrame(window, window.start)
    wait(lambda: window.store.trace)
    times: dict[str, dict[str, list[float]]] = {row.id: {"seconds": [], "cpu": []} for row in WORKSPACES}
    for index in range(count + 1):
        for row in (*WORKSPACES[1:], WORKSPACES[0]):
            spin(PAUSE_S)
            timed.frames.clear()
            begun = now()
            window.workspaces.switch(row.id)
            shown = timed.last_frame()
            if index:
                times[row.id]["seconds"].append(shown.at - begun.at)
                times[row.id]["cpu"].append(shown.cpu - begun.cpu)
    timed.close()
    return times
