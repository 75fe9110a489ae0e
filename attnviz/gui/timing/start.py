"""From the start of the program to its first frame, and to the frame with numbers."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

from attnviz.gui.app import FirstFrame, fill, first_document
from attnviz.gui.timing.window import TimedWindow, platform, wait

HEAVY = {"torch", "matplotlib", "matplotlib.pyplot", "pyqtgraph"}
"""Modules that the first frame must not wait for."""


def measure_start() -> dict[str, Any]:
    """When the first frame was complete, and the first one with numbers, on the clock `time.time`.

    `first_cpu` and `filled_cpu` are the CPU seconds of the process until then, imports included.
    """
    timed = TimedWindow(first_document(None))
    window = timed.window
    FirstFrame(window, partial(fill, window, None))
    wait(lambda: timed.frames)
    first = timed.frames[0].at, time.process_time()
    modules = sorted(HEAVY & set(sys.modules))
    wait(lambda: window.store.trace)
    timed.frames.clear()
    wait(lambda: timed.frames)
    filled = timed.last_frame().at, time.process_time()
    timed.close()
    offset = time.time() - time.perf_counter()
    return {
        "first_frame": first[0] + offset,
        "first_cpu": first[1],
        "filled": filled[0] + offset,
        "filled_cpu": filled[1],
        "imported": modules,
        "platform": platform(),
    }
