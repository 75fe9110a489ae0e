"""CPU time of what an edit causes: the jobs of the worker, and what each panel does with its numbers."""

from __future__ import annotations

import time
from typing import Any

from attnviz.compute import scheduler
from attnviz.gui.live.trace import KEY as RUN_KEY
from attnviz.gui.panels.compare.compare import KEY as COMPARE_KEY
from attnviz.gui.panels.panel import Panel

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
