"""The comparison that the Compare tab asks for: made in the worker, the newest wins.

A comparison under way is finished and shown before the next begins, so that a drag has pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES, Live, execute
from attnviz.model.errors.titles import in_words

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared
    from attnviz.gui.panels.compare import Asked, ComparePanel
    from attnviz.model.spec.experiment import Experiment
    from attnviz.model.trace import Trace

KEY = "compare"


class CompareLive(QObject):
    """Answers the panel's requests, with the engine of the window."""

    def __init__(
        self, panel: ComparePanel, live: Live, scheduler: Scheduler, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._panel, self._live, self._scheduler = panel, live, scheduler
        self._next: Asked | None = None
        panel.asked.connect(self._on_asked)
        panel.store.opened.connect(self._on_opened)

    @Slot(object)
    def _on_asked(self, asked: Asked) -> None:
        self._next = asked
        if not self._scheduler.is_busy(KEY):
            self._begin()

    @Slot()
    def _on_opened(self) -> None:
        """Drop the pending request of the previous document."""
        self._next = None

    def _begin(self) -> None:
        asked, self._next = self._next, None
        if asked is None:
            return
        engine, device = self._live.engine, self._live.device

        def job(token: CancelToken) -> Compared:
            from attnviz.engines.why_not import compare

            def run(experiment: Experiment) -> Trace:
                return execute(experiment, engine, device, check=token.progress, reserve=GUI_CORES)

            return compare(asked.row, asked.experiment, asked.site, asked.head, asked.seed, run)

        self._scheduler.submit(job, self._on_done, self._on_failed, key=KEY)

    def _on_done(self, compared: Compared) -> None:
        self._panel.show_compared(compared)
        self._begin()

    def _on_failed(self, error: BaseException) -> None:
        self._panel.show_reason(in_words(failure_message(error)))
        self._begin()
        if not is_expected(error):
            raise error
