"""The logit lens of the document, computed in the worker; the newest request wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.grid import KEY as GRID_KEY
from attnviz.gui.live.subject import Subject

if TYPE_CHECKING:
    from attnviz.gui.panels.lens.panel import LensPanel
    from attnviz.study.lens import Lens

KEY = "lens"

TURN_MS = 50
"""Milliseconds after which a lens asks again whether the grid is complete."""


class LensLive(QObject):
    """Answers the panel's requests."""

    def __init__(self, panel: LensPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        self._asked: Subject | None = None
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._turn.timeout.connect(self._begin)
        panel.asked.connect(self._on_asked)

    @Slot(object)
    def _on_asked(self, subject: Subject | None) -> None:
        """Compute another lens; None stops."""
        self._asked = subject
        self._scheduler.stop(KEY)
        if subject is None:
            self._turn.stop()
        else:
            self._turn.start(0)

    @Slot()
    def _begin(self) -> None:
        """Compute it, after the grid beside it: a lens of a large model takes the worker for seconds."""
        subject = self._asked
        if subject is None:
            return
        if self._scheduler.is_busy(GRID_KEY):
            self._turn.start(TURN_MS)
            return
        self._asked = None

        def job(token: CancelToken) -> tuple[Subject, Lens]:
            from attnviz.study.lens import logit_lens

            return subject, logit_lens(
                subject.experiment, engine=subject.engine, device=subject.device, check=token.progress
            )

        def failed(error: BaseException) -> None:
            if self._asked is None:  # else the next request waits, perhaps for the same lens
                self._panel.show_problem(subject, failure_message(error).text())
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, self._panel.show_lens, failed, key=KEY)
