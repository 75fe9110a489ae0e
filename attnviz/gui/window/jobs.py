"""The running job in the status line: its title, its progress, and the button that cancels it."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from attnviz.compute.scheduler import Busy, Scheduler
from attnviz.gui.job import Job
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.table import PANELS
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.button import Button
from attnviz.i18n import N_, _

SHOWN_AFTER_S = 0.5
"""A job that is done sooner is not announced."""

LOOK_MS = 100
"""Interval at which the line polls the workers while one of them is busy."""

BAR_WIDTH, BAR_HEIGHT = 96, 8
PARTS = 1000


JOBS: tuple[Job, ...] = (
    Job("run", N_("Computing")),
    Job("warm", N_("Computing")),
    Job("idle", N_("Giving memory back")),
    Job("decode", N_("Decoding")),
    Job("gradient", N_("Computing the gradient")),
    Job("follow", N_("Computing")),
    Job("uncached", N_("Computing without a cache")),
    Job("file", N_("Opening")),
    Job("story", N_("Opening")),
    Job("save", N_("Saving")),
    Job("export", N_("Exporting")),
    Job("copy", N_("Copying")),
    Job("preview", N_("Drawing the preview")),
    Job("import", N_("Importing")),
    Job("pictures", N_("Drawing thumbnails")),
    Job("recent_days", N_("Reading recent documents")),
)
"""Every kind of job that no panel asks for."""

JOB_BY_KEY = {job.key: job for job in (*JOBS, *(job for row in PANELS for job in row.asks or ()))}


class JobLine(QWidget):
    """Shows the job that has run longest, once it has run for `SHOWN_AFTER_S`."""

    def __init__(self, schedulers: tuple[Scheduler, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("job_line")
        self._schedulers = schedulers
        self._shown: tuple[Scheduler, str] | None = None
        self._title, self._bar, self._cancel = QLabel(), QProgressBar(), Button()
        self._title.setObjectName("job_title")
        says(self._bar, id="job_bar", name=N_("Completed share of the job"))
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(BAR_WIDTH, BAR_HEIGHT)
        says(self._cancel, N_("Cancel"), id="job_cancel", tip=N_("Cancel this job (Esc)"))
        self._cancel.setFlat(True)
        self._cancel.setAutoDefault(False)
        self._cancel.clicked.connect(self.cancel)
        in_row(self, self._title, self._bar, self._cancel, spacing=GRID)
        # As low as a line of text, so that the status line keeps its height.
        self.setMaximumHeight(self.fontMetrics().height())
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._look)
        for scheduler in schedulers:
            scheduler.submitted = self._on_submitted
        self.hide()

    @property
    def is_shown(self) -> bool:
        """True if a job is announced, which `cancel` would cancel."""
        return self._shown is not None

    @Slot()
    def cancel(self) -> None:
        """Cancel the shown job; its owner is informed at once."""
        if self._shown is not None:
            scheduler, key = self._shown
            scheduler.stop(key)
            self._look()

    def retranslate(self) -> None:
        self._look()

    def _on_submitted(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _look(self) -> None:
        busy = [(scheduler, job) for scheduler in self._schedulers if (job := scheduler.busy())]
        if not busy and all(scheduler.idle for scheduler in self._schedulers):
            self._timer.stop()
        longest = max(busy, key=lambda pair: pair[1].seconds, default=None)
        if longest is None or longest[1].seconds < SHOWN_AFTER_S:
            self._shown = None
            self.hide()
            return
        self._shown = longest[0], longest[1].key
        self._show(longest[1])

    def _show(self, busy: Busy) -> None:
        title = _(JOB_BY_KEY[busy.key].title)
        if busy.share is None:
            self._bar.setRange(0, 0)  # moves to and fro
            self._title.setText(_("{job}… {seconds} s").format(job=title, seconds=int(busy.seconds)))
        else:
            self._bar.setRange(0, PARTS)
            self._bar.setValue(round(PARTS * busy.share))
            self._title.setText(_("{job}… {percent} %").format(job=title, percent=int(100 * busy.share)))
        self.show()
