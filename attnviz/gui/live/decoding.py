"""The decoding that belongs to the document: made in the worker whenever a trace has arrived.

It is compared there with the full causal pass of the same tokens, so that the panel can say *equal*
with the greatest difference beside it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES, Live
from attnviz.gui.store import Store
from attnviz.i18n import current_language
from attnviz.model.edit.generation import differs_in_writing, writing_of
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.engines.decode.run import Decoding
    from attnviz.model.trace import Trace

KEY = "decode"

QUICK_SECONDS = 0.01
"""A decoding as quick as this follows a drag; a slower one waits for the hand to rest."""

REST_MS = 120

STALE_SECONDS = 0.25
"""Where the last decoding took longer than this, it leaves the screen as soon as it is out of date."""

OVERDUE_MS = 300
"""So long one that is out of date may stay while the next is made."""

SAMPLED_OVERDUE_MS = 1500
"""The same where only the drawing has changed: the distributions that are drawn from are still right."""


class DecodeLive(QObject):
    """Decodes the experiment of every new trace, while somebody looks."""

    failed = Signal(object)

    def __init__(self, store: Store, live: Live, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._live, self._scheduler = store, live, scheduler
        self._is_watched = True
        self._decoded_for: tuple[Experiment, str, str, str] | None = None
        self._last: Decoding | None = None
        self._seconds = 0.0
        self._took = 0.0
        self._generation = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._decode)
        self._overdue = QTimer(self)
        self._overdue.setSingleShot(True)
        self._overdue.timeout.connect(self._on_overdue)
        store.traced.connect(self._on_trace)
        store.changed.connect(self._on_changed)
        store.opened.connect(self._on_opened)

    @Slot(bool)
    def set_watched(self, is_watched: bool) -> None:
        """Whether the decoding panel is on the screen; hidden, nothing is decoded."""
        self._is_watched = is_watched
        if self._store.trace is not None:
            self._on_trace(self._store.trace)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """A newer experiment makes a decoding that is under way worthless: let its thread go."""
        if old.experiment != new.experiment:
            self._generation += 1
            self._timer.stop()
            if not self._is_watched:
                self._let_go()

    @Slot(object)
    def _on_trace(self, trace: Trace) -> None:
        wanted = trace.experiment, self._live.engine, self._live.device, current_language()
        if not self._is_watched:
            return
        if wanted == self._decoded_for:  # an edit that was taken back before its decoding began
            self._overdue.stop()
            self._timer.stop()
            return
        is_quick = self._seconds <= QUICK_SECONDS
        is_stale = self._decoded_for is None or not _differs_in_drawing(
            self._decoded_for[0], trace.experiment
        )
        if self._took > STALE_SECONDS and is_stale:
            self._on_overdue()  # for so long, an older decoding would pass for this one
        self._overdue.start(OVERDUE_MS if is_stale else SAMPLED_OVERDUE_MS)
        self._timer.start(0 if is_quick else REST_MS)

    @Slot()
    def _on_overdue(self) -> None:
        """Show none; what was there is made again when it is wanted, of steps that are all there."""
        self._decoded_for = None
        if self._store.decoded_now is not None:
            self._store.set_decoded(None)

    def _let_go(self) -> None:
        """Keep nothing of a decoding that no newer one takes the place of: its model may be closed."""
        self._last = None
        self._on_overdue()

    @Slot()
    def _on_opened(self) -> None:
        """Reuse nothing of the document before."""
        self._last = None

    @Slot()
    def _decode(self) -> None:
        trace = self._store.trace
        if trace is None or trace.experiment != self._store.experiment:
            return  # the next trace is on its way
        experiment, engine, device = trace.experiment, self._live.engine, self._live.device
        generation, earlier, language = self._generation, self._last, current_language()

        def job(token: CancelToken) -> Decoded:
            from attnviz.compute.decoding import decode_and_compare

            def check() -> None:
                token.check()
                if generation != self._generation:
                    raise Cancelled

            progress = Progress(check, token.report)
            return decode_and_compare(experiment, engine, device, progress, GUI_CORES, earlier)

        def done(decoded: Decoded) -> None:
            self._decoded_for = experiment, engine, device, language
            self._seconds = self._took = decoded.seconds
            self._last = decoded.decoding
            self._overdue.stop()
            self._store.set_decoded(decoded)

        # Slow until it is done: one that every edit cancels would otherwise count as quick for ever.
        self._seconds = math.inf
        self._scheduler.submit(job, done, self._on_failed, key=KEY)

    def _on_failed(self, error: BaseException) -> None:
        self._overdue.stop()
        self._let_go()
        self.failed.emit(failure_message(error))
        if not is_expected(error):
            raise error


def _differs_in_drawing(one: Experiment, other: Experiment) -> bool:
    """Whether how the next token is drawn is all that may differ: every distribution is as it was."""
    return differs_in_writing(one, other) and writing_of(one).cache == writing_of(other).cache
