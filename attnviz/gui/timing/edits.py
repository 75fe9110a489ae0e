"""From an edit to the end of the paint that shows it in every panel in sight."""

from __future__ import annotations

import time
from collections import defaultdict
from statistics import median
from typing import Any

from attnviz.compute import scheduler
from attnviz.gui.app import FirstFrame
from attnviz.gui.live.trace import KEY as RUN_KEY
from attnviz.gui.panels.compare.compare import KEY as COMPARE_KEY
from attnviz.gui.panels.panel import Panel
from attnviz.gui.timing.window import Frame, TimedWindow, now, platform, spin, wait
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.model.edit import edits
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import one_layer
from attnviz.model.spec.parts import Heads, SeededVectors
from attnviz.model.trace import Trace

AWAITED = (RUN_KEY, COMPARE_KEY, "grid")
"""Keys of the jobs whose numbers the panels in sight show: an edit is painted after the last of them."""


class Meter:
    """Measures the functions below from its making on, in this process.

    `run` are the CPU seconds of the worker's jobs since `clear`, `told` those of each panel.
    """

    def __init__(self) -> None:
        self.run: list[float] = []
        self.told: dict[str, list[float]] = {}
        answer, tell = scheduler._answer, Panel._tell

        def answered(ticket: Any) -> Any:
            started = time.thread_time()
            try:
                return answer(ticket)
            finally:
                if ticket.key in AWAITED:
                    self.run.append(time.thread_time() - started)

        def told(panel: Panel) -> None:
            started = time.thread_time()
            tell(panel)
            seconds = time.thread_time() - started
            self.told.setdefault(panel.objectName().removesuffix("_panel"), []).append(seconds)

        setattr(scheduler, "_answer", answered)  # noqa: B010
        setattr(Panel, "_tell", told)  # noqa: B010

    def clear(self) -> None:
        """Begin anew."""
        self.run.clear()
        self.told.clear()


PAUSE_S = 0.02
"""Between a paint and the next edit: as in a drag, the decoding of the last edit may still be running."""
WARM_UP = 5


def document(n: int, heads: int, d_head: int) -> Document:
    """Self-attention over explicit vectors, so that a cell can be edited."""
    seeded = one_layer(
        tuple(f"t{i}" for i in range(n)), SeededVectors(n, heads * d_head), heads=Heads(heads, heads, d_head)
    )
    return Document(edits.set_vector_cell(seeded, 0, 0, 0.5))


def measure_edits(n: int, heads: int, d_head: int, count: int) -> dict[str, Any]:
    """Seconds of `count` edits of a cell of the vectors in each workspace, one after the other.

    `cpu` is the CPU time of the window's thread and of the worker's jobs. `parts` are the CPU seconds of each
    panel until it asks for its paint, and of painting all of them.
    """
    timed = TimedWindow(document(n, heads, d_head))
    window = timed.window
    FirstFrame(window, window.start)
    wait(lambda: window.store.trace)
    window.commands["pin"].trigger()  # without a state to compare with, Compare has nothing to paint
    bench = _Bench(timed)
    workspaces: list[dict[str, Any]] = []
    for workspace in WORKSPACES:
        window.workspaces.switch(workspace.id)
        spin(0.2)
        workspaces.append({"workspace": workspace.id, **bench.measure(count)})
    timed.close()
    return {"workspaces": workspaces, "platform": platform()}


class _Bench:
    """Edits one window and waits for its paint."""

    def __init__(self, timed: TimedWindow) -> None:
        self._timed, self._window, self._meter = timed, timed.window, Meter()
        self._arrived: Frame | None = None
        self._count = 0
        self._window.store.traced.connect(self._on_trace)

    def measure(self, count: int) -> dict[str, Any]:
        """The seconds of each edit after the first ones."""
        found: dict[str, list[float]] = defaultdict(list)
        panels: dict[str, list[float]] = defaultdict(list)
        for index in range(WARM_UP + count):
            spin(PAUSE_S)
            times = self._edit()
            if index >= WARM_UP:
                for name, seconds in times.items():
                    found[name].append(seconds)
                for name, told in self._meter.told.items():
                    panels[name].append(sum(told))
        parts = {name: median(seconds) for name, seconds in panels.items()}
        parts["painting"] = median(found.pop("painting"))
        return {**found, "parts": parts}

    def _edit(self) -> dict[str, float]:
        store = self._window.store
        self._count += 1
        self._meter.clear()
        self._arrived = None
        begun = now()
        store.edit(
            edits.set_vector_cell, self._count % store.experiment.n_queries, 0, self._count / 100 + 0.01
        )
        arrived = wait(lambda: self._arrived)
        wait(self._is_answered)
        shown = self._timed.last_frame()
        assert arrived is not None
        return {
            "seconds": shown.at - begun.at,
            "cpu": shown.cpu - begun.cpu + sum(self._meter.run),
            "seconds_to_trace": arrived.at - begun.at,
            "painting": sum(frame.painting for frame in self._timed.frames),
        }

    def _is_answered(self) -> bool:
        """True if no job is left whose numbers the panels in sight show."""
        schedulers = self._window.services.schedulers
        return not any(one.is_busy(key) for one in schedulers for key in AWAITED)

    def _on_trace(self, trace: Trace) -> None:
        if trace.experiment is self._window.store.experiment:
            self._arrived = now()
            self._timed.frames.clear()
