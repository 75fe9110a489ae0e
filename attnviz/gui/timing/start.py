"""From the start of the program to its first frame, and to the frame with numbers."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

from attnviz.gui.app import FirstFrame, fill, first_document
from attnviz.gui.timing.window import close, last_frame, make_window, platform, wait

HEAVY = {"torch", "matplotlib", "matplotlib.pyplot", "pyqtgraph"}
"""Modules that the first frame must not wait for."""


def measure_start() -> dict[str, Any]:
    """When the first frame was complete, and the first one with numbers, on the clock `time.time`.

    `first_cpu` and `filled_cpu` are the CPU seconds of the process until then, imports included.
    """
    window = make_window(first_document(None))
    FirstFrame(window, partial(fill, window, None))
    wait(lambda: window.frames)
    first = window.frames[0].at, time.process_time()
    modules = sorted(HEAVY & set(sys.modules))
    wait(lambda: window.store.trace)
    window.frames.clear()
    wait(lambda: window.frames)
    filled = last_frame(window).at, time.process_time()
    close(window)
    offset = time.time() - time.perf_counter()
    return {
        "first_frame": first[0] + offset,
        "first_cpu": first[1],
        "filled": filled[0] + offset,
        "filled_cpu": filled[1],
        "imported": modules,
        "platform": platform(),
    }
