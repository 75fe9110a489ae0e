"""The window, measured in processes of its own: edits, workspaces and the start.

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

from attnviz.bench.cases import WINDOW_SIZES, Size
from attnviz.bench.timing import paired_ratio, percentile

EDITS = 80
STARTS = 7
SWITCHES = 8
QUICK_EDITS = 5
QUICK_STARTS = 1
QUICK_SWITCHES = 1
PATIENCE_S = 180.0

TIMING = (sys.executable, "-m", "attnviz.gui.timing")

EMPTY_WINDOW = """
import time
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
import pyqtgraph

class Window(QMainWindow):
    def event(self, event):
        done = super().event(event)
        if event.type() == QEvent.Type.UpdateRequest:
            print('{"first_frame": %r, "first_cpu": %r}' % (time.time(), time.process_time()), flush=True)
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
    """Seconds from edit to paint for each size and workspace, between workspaces, and of the start.

    Each with the CPU seconds, which other programs do not lengthen much. If the window cannot open (no Qt
    libraries), "failed" contains the reason and the rest is missing.
    """
    sizes = WINDOW_SIZES[: 1 if quick else None]
    try:
        return {
            "edits": [case for size in sizes for case in _edits(size, QUICK_EDITS if quick else EDITS)],
            "switches": _switches(QUICK_SWITCHES if quick else SWITCHES),
            "start": _start(QUICK_STARTS if quick else STARTS),
        }
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        return {"failed": lines[-1] if lines else type(error).__name__}


def _edits(size: Size, count: int) -> list[dict[str, Any]]:
    output = _run([*TIMING, "edits", *map(str, (size.n, size.heads, size.d_head, count))])
    return [
        {
            "n": size.n,
            "heads": size.heads,
            "d_head": size.d_head,
            "platform": output["platform"],
            "p50": percentile(case["seconds"], 0.5),
            "p95": percentile(case["seconds"], 0.95),
            "p95_cpu": percentile(case["cpu"], 0.95),
            "p50_to_trace": percentile(case["seconds_to_trace"], 0.5),
            **case,
        }
        for case in output["workspaces"]
    ]


def _switches(count: int) -> list[dict[str, Any]]:
    """The slowest switch to each workspace."""
    output = _run([*TIMING, "switches", str(count)])
    return [
        {"workspace": id_, "most": max(times["seconds"]), "most_cpu": max(times["cpu"]), **times}
        for id_, times in output.items()
    ]


def _start(starts: int) -> dict[str, Any]:
    """Seconds from starting the process to its first complete frame, the two windows in turns.

    And from there to the frame with numbers.
    """
    ours, empty = [*TIMING, "start"], [sys.executable, "-c", EMPTY_WINDOW]
    frames: dict[str, list[float]] = {"attnviz": [], "empty": []}
    cpu: dict[str, list[float]] = {"attnviz": [], "empty": []}
    filled: dict[str, list[float]] = {"seconds": [], "cpu": []}
    imported: list[str] = []
    for index in range(starts + 1):
        for name, command in (("attnviz", ours), ("empty", empty)):
            started = time.time()
            output = _run(command)
            imported = output.get("imported", imported)
            if index:  # the first start reads the disk and compiles
                frames[name].append(output["first_frame"] - started)
                cpu[name].append(output["first_cpu"])
            if index and name == "attnviz":
                filled["seconds"].append(output["filled"] - output["first_frame"])
                filled["cpu"].append(output["filled_cpu"] - output["first_cpu"])
    return {
        "ratio": _ratio(frames),
        "ratio_cpu": _ratio(cpu),
        "median": {name: statistics.median(seconds) for name, seconds in frames.items()},
        "filled": {name: statistics.median(seconds) for name, seconds in filled.items()},
        "imported": imported,
        "seconds": frames,
        "cpu": cpu,
    }


def _ratio(times: dict[str, list[float]]) -> float:
    return paired_ratio(times["attnviz"], times["empty"])


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
    environment = dict(os.environ, PYTHONPYCACHEPREFIX=_bytecode().name)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    has_screen = (
        sys.platform in ("win32", "darwin") or "DISPLAY" in environment or "WAYLAND_DISPLAY" in environment
    )
    if not has_screen:
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    return environment
