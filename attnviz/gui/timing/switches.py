"""From the choice of a workspace to the end of the paint that shows it."""

from __future__ import annotations

from typing import Any

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.app import FirstFrame
from attnviz.gui.timing.window import close, last_frame, make_window, now, spin, wait
from attnviz.gui.workspaces.table import WORKSPACES

DOCUMENT = "stories-en"
PAUSE_S = 0.4
"""Between two switches: the decoding that a workspace needs is complete."""


def measure_switches(count: int) -> dict[str, Any]:
    """Seconds and CPU seconds of `count` switches to each workspace from the one before it.

    The first round is left out: panels are laid out for the first time in it.
    """
    window = make_window(load_preset(DOCUMENT))
    FirstFrame(window, window.start)
    wait(lambda: window.store.trace)
    found: dict[str, dict[str, list[float]]] = {row.id: {"seconds": [], "cpu": []} for row in WORKSPACES}
    for index in range(count + 1):
        for row in (*WORKSPACES[1:], WORKSPACES[0]):
            spin(PAUSE_S)
            window.frames.clear()
            begun = now()
            window.workspaces.switch(row.id)
            shown = last_frame(window)
            if index:
                found[row.id]["seconds"].append(shown.at - begun.at)
                found[row.id]["cpu"].append(shown.cpu - begun.cpu)
    close(window)
    return found
