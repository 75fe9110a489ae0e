"""The window, measured in processes of its own: from an edit to its paint, and the first frame.

No Qt here: `attnviz.gui.timing` has the clock, and an empty window is a few lines of source.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache
from typing import Any

from attnviz.bench.cases import WINDOW_SIZES
from attnviz.bench.timing import percentile

EDITS = 80
STARTS = 7
QUICK_EDITS = 5
QUICK_STARTS = 1
PATIENCE_S = 180.0

EMPTY_WINDOW = """
import time
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
import pyqtgraph

class Window(QMainWindow):
    def event(self, event):
        done = super().event(event)
        if event.type() == QEvent.Type.UpdateRequest:
            print('{"first_frame": %r}' % time.time(), flush=True)
            QTimer.singleShot(0, app.quit)
        return done

app = QApplication([])
window = Window()
window.setCentralWidget(pyqtgraph.PlotWidget())
window.resize(1280, 800)
window.show()
app.exec()
"""
"""Reference of the first frame: a main window of the same size with one empty plot."""


def measure_window(quick: bool) -> dict[str, Any]:
    """Seconds from edit to paint for each size, and to the first frame of this window and an empty one.

    If the window cannot open (no Qt libraries), "failed" contains the reason and the rest is missing.
    """
    count = QUICK_EDITS if quick else EDITS
    try:
        return {
            "edits": [
                _edits(size.n, size.heads, size.d_head, count)
                for size in WINDOW_SIZES[: 1 if quick else None]
            ],
            "first_frame": _first_frame(QUICK_STARTS if quick else STARTS),
        }
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        return {"failed": lines[-1] if lines else type(error).__name__}


def _edits(n: int, heads: int, d_head: int, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "attnviz.gui.timing", "edits", *map(str, (n, heads, d_head, count))]
    found = _run(command)
    seconds = found["seconds"]
    return {
        "n": n,
        "heads": heads,
        "d_head": d_head,
        "p50": percentile(seconds, 0.5),
        "p95": percentile(seconds, 0.95),
        "p50_to_trace": percentile(found["seconds_to_trace"], 0.5),
        **found,
    }


def _first_frame(starts: int) -> dict[str, Any]:
    """Seconds from starting the process to its first complete frame, the two windows in turns."""
    ours = [sys.executable, "-m", "attnviz.gui.timing", "frame"]
    empty = [sys.executable, "-c", EMPTY_WINDOW]
    times: dict[str, list[float]] = {"attnviz": [], "empty": []}
    imported: list[str] = []
    for index in range(starts + 1):
        for name, command in (("attnviz", ours), ("empty", empty)):
            started = time.time()
            found = _run(command)
            imported = found.get("imported", imported)
            if index:  # the first start reads the disk and compiles
                times[name].append(found["first_frame"] - started)
    ratio = statistics.median(a / b for a, b in zip(times["attnviz"], times["empty"], strict=True))
    return {
        "ratio": ratio,
        "median": {k: statistics.median(v) for k, v in times.items()},
        "ratio_of_minima": min(times["attnviz"]) / min(times["empty"]),
        "imported": imported,
        "seconds": times,
    }


def _run(command: list[str]) -> Any:
    """The JSON on the last line of what `command` prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=True, env=_environment()
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


@cache
def _bytecode() -> tempfile.TemporaryDirectory[str]:
    """Folder for the bytecode of the measured processes, until this one ends."""
    return tempfile.TemporaryDirectory(prefix="attnviz-bench-", ignore_cleanup_errors=True)


def _environment() -> dict[str, str]:
    """This process's environment; offscreen without a display.

    With its own folder for bytecode: as in an installed program, each start finds the bytecode of the first
    one, wherever the source lies and whether or not Python may write there.
    """
    found = dict(os.environ, PYTHONPYCACHEPREFIX=_bytecode().name)
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    has_screen = sys.platform in ("win32", "darwin") or "DISPLAY" in found or "WAYLAND_DISPLAY" in found
    if not has_screen:
        found.setdefault("QT_QPA_PLATFORM", "offscreen")
    return found
