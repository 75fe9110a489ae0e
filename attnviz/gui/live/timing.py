"""The three implementations of attention, timed in the worker when a person wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import is_expected

if TYPE_CHECKING:
    from attnviz.bench.cases import Size
    from attnviz.bench.implementations import Timed
    from attnviz.gui.panels.cost.panel import CostPanel

KEY = "timed"


class TimedLive(QObject):
    """Answers the cost panel's requests."""

    def __init__(self, panel: CostPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        panel.measure_wanted.connect(self._on_wanted)

    @Slot(object)
    def _on_wanted(self, size: Size) -> None:
        def job(token: CancelToken) -> tuple[Size, tuple[Timed, ...]]:
            from attnviz.bench.implementations import timed

            return size, timed(size, token.progress)

        self._scheduler.submit(job, self._on_done, self._on_failed, key=KEY)

    def _on_done(self, found: tuple[Size, tuple[Timed, ...]]) -> None:
        self._panel.show_timed(*found)

    def _on_failed(self, error: BaseException) -> None:
        if not is_expected(error):
            raise error
