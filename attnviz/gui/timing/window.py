"""The window's own clock: from an edit to the end of the paint that shows it, and to the first frame.

Run as a program of its own, `python -m attnviz.gui.timing edits N HEADS D_HEAD COUNT` or `… frame`, so that
who measures needs no Qt and every measurement starts afresh. The answer is one line of JSON on stdout.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, QSettings, QTimer
from PySide6.QtWidgets import QAbstractButton, QWidget

from attnviz.gui.app import SWITCH_SECONDS, FirstFrame, make_application
from attnviz.gui.documents import FIRST_PRESET
from attnviz.gui.look import look
from attnviz.gui.settings import Settings
from attnviz.gui.window import Window
from attnviz.model.edit import edits
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.parts import Heads, SeededVectors
from attnviz.model.trace import Trace

PATIENCE_S = 30.0
"""Longest wait for one paint; a window that needs longer is broken."""
PAUSE_S = 0.02
"""Between a paint and the next edit: as in a drag, the decoding of the last edit may still be running."""
WARM_UP = 5


class TimedWindow(Window):
    """Notes when a frame is complete: Qt answers `UpdateRequest` by painting all requested widgets."""

    def __init__(self, document: Document, settings: Settings) -> None:
        self.frames: list[tuple[float, frozenset[str]]] = []
        self._painted: set[str] = set()
        super().__init__(document, settings)

    def start(self) -> None:
        super().start()
        self.watch = _Watch(self._painted)
        self.watch.watch("stage", _map_of(self))
        for name in ("pipeline", "heads"):
            for thumbnail in self.panels[name].findChildren(QAbstractButton):
                self.watch.watch(name, thumbnail)

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.UpdateRequest:
            self.frames.append((time.perf_counter(), frozenset(self._painted)))
            self._painted.clear()
        return done


class _Watch(QObject):
    """Writes down which of the watched widgets have been asked to paint."""

    def __init__(self, painted: set[str]) -> None:
        super().__init__()
        self._painted = painted

    def watch(self, name: str, widget: QObject) -> None:
        widget.setProperty("timed_as", name)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._painted.add(watched.property("timed_as"))
        return False


def _map_of(window: Window) -> QObject:
    found = window.panels["stage"].findChild(QWidget, "stage_map")
    assert found is not None
    return found


def document(n: int, heads: int, d_head: int) -> Document:
    """Self-attention over explicit vectors, so that a cell can be edited."""
    seeded = one_layer(
        tuple(f"t{i}" for i in range(n)), SeededVectors(n, heads * d_head), heads=Heads(heads, heads, d_head)
    )
    return Document(edits.set_vector_cell(seeded, 0, 0, 0.5))


def measure_edits(n: int, heads: int, d_head: int, count: int) -> dict[str, Any]:
    """Seconds of `count` edits of a cell of the vectors, one after the other."""
    window = _open(document(n, heads, d_head))
    for thumbnail in window.panels["pipeline"].findChildren(QAbstractButton):
        window.watch.watch("pipeline", thumbnail)
    arrived: list[tuple[float, Experiment]] = []

    def on_trace(trace: Trace) -> None:
        arrived.append((time.perf_counter(), trace.experiment))

    window.store.traced.connect(on_trace)
    total, compute = [], []
    for index in range(WARM_UP + count):
        _spin(PAUSE_S)
        window.frames.clear()
        arrived.clear()
        started = time.perf_counter()
        window.store.edit(edits.set_vector_cell, index % n, 0, index / 100 + 0.01)
        shown = _wait(lambda: _shown(window, arrived))
        if index >= WARM_UP:
            total.append(shown - started)
            compute.append(arrived[-1][0] - started)
    _close(window)
    return {"seconds": total, "seconds_to_trace": compute, "platform": _platform()}


def _shown(window: TimedWindow, arrived: list[tuple[float, Experiment]]) -> float | None:
    """When the frame with the numbers of the present experiment was complete; None if it is not yet."""
    if not arrived or arrived[-1][1] is not window.store.experiment:
        return None
    since = arrived[-1][0]
    painted: set[str] = set()
    for when, widgets in window.frames:
        if when >= since:
            painted |= widgets
            if {"stage", "pipeline"} <= painted:
                return when
    return None


def measure_frame() -> dict[str, Any]:
    """When the first frame was complete, and the first one with numbers, on the clock `time.time`."""
    window = _open(load_preset(FIRST_PRESET))
    offset = time.time() - time.perf_counter()
    first = window.frames[0][0] + offset
    modules = sorted({"torch", "matplotlib", "matplotlib.pyplot"} & set(sys.modules))
    _close(window)
    return {"first_frame": first, "imported": modules, "platform": _platform()}


def _open(given: Document) -> TimedWindow:
    """The window as `app.main` opens it, but with settings that are nobody's, after its first trace."""
    sys.setswitchinterval(SWITCH_SECONDS)
    app = make_application(sys.argv[:1])
    folder = tempfile.mkdtemp(prefix="attnviz-bench-")
    settings = Settings(QSettings(str(Path(folder) / "none.ini"), QSettings.Format.IniFormat))
    look.apply(app, settings)
    window = TimedWindow(given, settings)
    look.apply(app, settings)
    window.show()
    FirstFrame(window, window.start)
    _wait(lambda: window.frames and window.store.trace)
    return window


def _wait(answer: Any) -> Any:
    """Run the event loop until `answer()` is true, and return it."""
    ticker = QTimer()
    ticker.start(1000)  # so that waiting for events ends, whatever happens
    until = time.perf_counter() + PATIENCE_S
    while not (found := answer()):
        if time.perf_counter() > until:
            raise TimeoutError("the window did not paint")
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    return found


def _spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        QCoreApplication.processEvents()
        time.sleep(0.001)


def _close(window: Window) -> None:
    window.bridge.close()
    window.scheduler.close()
    window.store.mark_saved(Path("bench"), window.store.document)
    window.close()


def _platform() -> str:
    from PySide6.QtGui import QGuiApplication

    return QGuiApplication.platformName()


if __name__ == "__main__":
    if sys.argv[1] == "frame":
        print(json.dumps(measure_frame()))
    else:
        print(json.dumps(measure_edits(*map(int, sys.argv[2:6]))))
