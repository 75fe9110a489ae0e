"""The live loop: the document changes, a run starts, its numbers arrive.

Simultaneous changes start one run, those during a short run start the next one; a newer run cancels a long
one, and a late result is dropped (see `compute/scheduler.py`). The worker also computes what the panels in
sight paint, so that the window only paints; what the others would paint follows once edits rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.core.color_maps import Kind, color_table
from attnviz.errors import Message
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.store import Store
from attnviz.model.edit.generation import differs_in_writing
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID

if TYPE_CHECKING:
    from attnviz.model.trace import SiteTrace, Trace

GUI_CORES = 1
"""Cores that a run leaves to the window."""

KEY = "run"

WARM_KEY = "warm"

REST_MS = 150
"""So long after the last run the worker computes what no panel in sight shows."""

LATE_MS = 500
"""A run longer than this is said to be under way, and the numbers on the screen to be of an earlier state."""

LATE = Message(
    "The numbers of this document are being computed; those on the screen are of an earlier state."
)

PATIENCE_SECONDS = 0.25
"""A run longer than this is cancelled for a newer one; a shorter one is shown first."""


class Live(QObject):
    """Runs the store's experiment whenever it changes, or another engine is chosen."""

    failed = Signal(object)
    """One sentence: why the present experiment has no numbers."""
    late = Signal(object)
    """One sentence: a run is slow, and numbers on the screen are not the present experiment's."""
    noticed = Signal(object)
    """One sentence that the run wants to be known, such as a fallback to NumPy."""

    def __init__(self, store: Store, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._scheduler = store, scheduler
        self._again, self._started = False, 0.0
        self._said: tuple[Message, ...] = ()
        """Notices of the numbers that are shown: they are said once."""
        self._is_chosen_anew = False
        """Whether no run has begun since an engine was chosen."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_rest)
        self._resting = QTimer(self)
        self._resting.setSingleShot(True)
        self._resting.setInterval(REST_MS)
        self._resting.timeout.connect(self._on_resting)
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(LATE_MS)
        self._late.timeout.connect(self._on_late)
        store.changed.connect(self._on_changed)
        store.engine_chosen.connect(self._on_chosen)

    @property
    def engine(self) -> str:
        """The chosen engine."""
        return self._store.engine

    @property
    def device(self) -> str:
        """Its device."""
        return self._store.device

    @Slot()
    def _on_chosen(self) -> None:
        self._said, self._is_chosen_anew = (), True
        self.run_now()

    @Slot()
    def run_now(self) -> None:
        """Start a run of the present experiment."""
        self._timer.stop()
        if self._is_behind():
            self._again = True  # the numbers on their way are shown first, so that a drag has pictures
            return
        self._again, self._started = False, time.monotonic()
        document, engine, device = self._store.document, self._store.engine, self._store.device
        pictured = self._store.pictured
        is_chosen_anew, self._is_chosen_anew = self._is_chosen_anew, False

        def job(token: CancelToken) -> Trace:
            if is_chosen_anew:
                try_devices_again()
            read_color_maps()
            trace = execute(document.experiment, engine, device, check=token.progress, reserve=GUI_CORES)
            warm(trace.shown(document.view.site), document.view, token.check, pictured)
            return trace

        self._resting.stop()
        self._scheduler.stop(WARM_KEY)
        if not self._late.isActive():
            self._late.start()
        self._scheduler.submit(job, self._on_done, self._on_failed, key=KEY)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.experiment is not new.experiment and not self._timer.isActive():
            self._timer.start(0)  # after what has happened at the same moment; the rest waits for `_again`

    @Slot()
    def _on_rest(self) -> None:
        """Run, unless the present numbers still apply: the generation changes none of them."""
        trace, experiment = self._store.trace, self._store.experiment
        is_idle = not self._is_chosen_anew and not self._scheduler.is_busy(KEY)
        if trace is not None and is_idle and differs_in_writing(trace.experiment, experiment):
            self._again = False
            self._store.set_trace(trace.under(experiment))
        else:
            self.run_now()

    def _is_behind(self) -> bool:
        """True if a young run is in progress; an old one is cancelled by the next instead."""
        young = time.monotonic() - self._started < PATIENCE_SECONDS
        return young and self._scheduler.is_busy(KEY)

    @Slot()
    def _on_late(self) -> None:
        self.late.emit(LATE)

    def _on_done(self, trace: Trace) -> None:
        self._late.stop()
        self._store.set_trace(trace)
        if self._again:
            self._timer.start(0)
        else:
            self._resting.start()
        before, self._said = self._said, trace.notices
        for notice in trace.notices:
            if notice not in before:
                self.noticed.emit(notice)

    @Slot()
    def _on_resting(self) -> None:
        """Compute what panels behind others would paint, and the other attentions, before they are shown."""
        trace, view = self._store.trace, self._store.document.view
        if trace is None or self._scheduler.is_busy(KEY):
            return

        def job(token: CancelToken) -> None:
            for name in trace.sites:
                warm(trace.site(name), view, token.check)

        self._scheduler.submit(job, _forget, _forget, key=WARM_KEY)

    def _on_failed(self, error: BaseException) -> None:
        self._late.stop()
        if self._again:
            self._timer.start(0)
        self.failed.emit(failure_message(error))  # first: the numbers on the screen are not the document's
        if not is_expected(error):
            raise error


def execute(
    experiment: Experiment, engine: str, device: str, check: Callable[[], None], reserve: int
) -> Trace:
    """`compute.execute.execute`, imported with the first run: the first frame does not wait for it."""
    from attnviz.compute.execute import execute as run

    return run(experiment, engine, device, check=check, reserve=reserve)


def try_devices_again() -> None:
    """`compute.execute.forget_lost_devices`, imported as late as the run."""
    from attnviz.compute.execute import forget_lost_devices

    forget_lost_devices()


def read_color_maps() -> None:
    """Read the colour maps of both themes: the first paint of numbers does not wait for them."""
    for kind in get_args(Kind):
        for is_dark in (False, True):
            color_table(kind, is_dark)


def warm(
    site: SiteTrace, view: View, check: Callable[[], None], stages: frozenset[str] | None = None
) -> None:
    """Compute the overviews of `stages` of one attention (None: of all), those of the heads of the selected
    stage, and its map.
    """
    from attnviz.compute.threads import limited_threads
    from attnviz.gui.widgets.heat.stages import prepare  # as late as the run: it takes the colour maps along

    experiment = site.experiment
    chosen = site.shown_stage(view.stage)
    with limited_threads(1):
        for stage in site.stages if stages is None else stages.intersection(site.stages):
            check()
            site.overview(stage, shown_head(experiment, view, stage))
        for head in () if STAGE_BY_ID[chosen].by_token else range(site.n_matrices(chosen)):
            check()
            site.overview(chosen, head)
        site.blocked()
        check()
        prepare(site, view, chosen)  # last: of a long run others took the place of its window


def _forget(answer: object) -> None:
    """An answer that nobody waits for: a failure shows again where the window computes the same."""
