"""CPU time of what an edit causes: the run in the worker, and what each panel does with its numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from attnviz.gui.live import trace as live_trace
from attnviz.gui.panels.panel import Panel


class Meter:
    """Measures the functions below from its making on, in this process.

    `run` are the CPU seconds of the worker since `clear`, `told` those of each panel.
    """

    def __init__(self) -> None:
        self.run: list[float] = []
        self.told: dict[str, list[float]] = {}
        for name in ("execute", "warm"):
            setattr(live_trace, name, self._measured(getattr(live_trace, name)))
        tell = Panel._tell

        def told(panel: Panel) -> None:
            started = time.thread_time()
            tell(panel)
            seconds = time.thread_time() - started
            self.told.setdefault(panel.objectName().removesuffix("_panel"), []).append(seconds)

        setattr(Panel, "_tell", told)  # noqa: B010

    def clear(self) -> None:
        """Begin anew."""
        self.run.clear()
        self.told.clear()

    def _measured(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*args: Any, **named: Any) -> Any:
            started = time.thread_time()
            try:
                return function(*args, **named)
            finally:
                self.run.append(time.thread_time() - started)

        return measured
