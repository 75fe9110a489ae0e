"""The first failing stage of a run, searched in the worker; the newest request wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import is_expected
from attnviz.gui.live.trace import GUI_CORES

if TYPE_CHECKING:
    from attnviz.gui.panels.failures import Broken, FailuresPanel
    from attnviz.model.trace import Trace
    from attnviz.study.failures.checks import Finding

KEY = "failures"


class FailuresLive(QObject):
    """Answers the panel's requests."""

    def __init__(self, panel: FailuresPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        panel.asked.connect(self._on_asked)

    @Slot(object, object)
    def _on_asked(self, trace: Trace | None, broken: Broken | None) -> None:
        """Look through another run; None stops."""
        if trace is None or broken is None:
            self._scheduler.stop(KEY)
            return

        def job(token: CancelToken) -> Finding | None:
            from attnviz.study.failures.running import first_failure

            return first_failure(trace, broken.failure, broken.before, GUI_CORES, token.progress)

        self._scheduler.submit(job, self._panel.show_finding, self._on_failed, key=KEY)

    def _on_failed(self, error: BaseException) -> None:
        if not is_expected(error):
            raise error
