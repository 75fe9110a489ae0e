"""The decoding of the document: computed in the worker whenever a trace has arrived.

It is compared there with the full causal pass of the same tokens, so that the panel can show *equal* with the
greatest difference. `freshness.py` defines when one is computed, and how long an older one stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.errors import Message
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live import freshness
from attnviz.gui.live.clock import Clock, WallClock
from attnviz.gui.live.freshness import Freshness
from attnviz.gui.live.subject import Subject
from attnviz.gui.live.trace import GUI_CORES, Live
from attnviz.gui.player import Expect, Player
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.model.spec.experiment import Experiment
    from attnviz.model.trace import Trace

KEY = "decode"


class DecodeLive(QObject):
    """Decodes the experiment of every new trace while a panel that shows the decoding is visible."""

    failed = Signal(object)

    def __init__(
        self,
        store: Store,
        live: Live,
        scheduler: Scheduler,
        parent: QObject | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._live, self._scheduler = store, live, scheduler
        self._clock: Clock = WallClock(self) if clock is None else clock
        self._fresh = Freshness()
        store.traced.connect(self._on_trace)
        store.changed.connect(self._on_changed)
        store.opened.connect(self._on_opened)
        store.player_changed.connect(self._on_player)
        live.failed.connect(self._on_run_failed)

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        """Decode for the panels in sight; without one, nothing is decoded."""
        if bool(old.viewers) == bool(new.viewers):
            return
        self._become(replace(self._fresh, is_watched=bool(new.viewers)))
        trace = self._store.current_trace
        if trace is not None:
            self._on_trace(trace)

    def tick(self) -> None:
        """Run the due actions."""
        now, decode_at = self._clock.now(), self._fresh.decode_at
        self._become(freshness.expire(self._fresh, now))
        if decode_at is not None and decode_at <= now:
            self._become(replace(self._fresh, decode_at=None))
            self._decode()

    def _become(self, fresh: Freshness) -> None:
        """Change the state; a decoding that it no longer shows leaves the screen, for the next if one is
        due.
        """
        self._fresh = fresh
        if fresh.shown is None:
            if self._store.player.decoded is not None:
                self._store.set_decoded(None)
            self._store.play(Expect(fresh.is_watched and fresh.is_due, fresh.problem))
        self._clock.call_at(fresh.due, self.tick)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """Stop a running decoding of an older experiment, and free its thread."""
        if old.experiment != new.experiment:
            self._become(freshness.edit(self._fresh))

    @Slot(object)
    def _on_trace(self, trace: Trace) -> None:
        subject = self._subject(trace.experiment)
        self._become(freshness.want(self._fresh, subject, self._clock.now()))

    @Slot()
    def _on_opened(self) -> None:
        """Reuse nothing of the document before."""
        self._become(replace(self._fresh, earlier=None))

    def _subject(self, experiment: Experiment) -> Subject:
        return Subject(experiment, self._store.engine, self._store.device)

    def _decode(self) -> None:
        trace = self._store.current_trace
        if trace is None:
            return  # it is on its way
        subject = self._subject(trace.experiment)

        def done(decoded: Decoded) -> None:
            self._become(freshness.finish(self._fresh, subject, decoded))
            self._store.set_decoded(decoded)

        job = self._job(subject)
        self._become(freshness.begin(self._fresh))
        self._scheduler.submit(job, done, self._on_failed, key=KEY)

    def _job(self, subject: Subject) -> Callable[[CancelToken], Decoded]:
        """The worker's job; it ends with its generation."""
        generation, earlier = self._fresh.generation, self._fresh.earlier

        def job(token: CancelToken) -> Decoded:
            from attnviz.compute.decoding import decode_and_compare

            def check() -> None:
                token.check()
                if generation != self._fresh.generation:
                    raise Cancelled

            progress = Progress(check, token.report)
            return decode_and_compare(
                subject.experiment, subject.engine, subject.device, progress, GUI_CORES, earlier
            )

        return job

    @Slot(object)
    def _on_run_failed(self, error: Message) -> None:
        """Await no decoding of numbers that do not come, and show none of earlier ones."""
        self._become(freshness.stop(freshness.clear(self._fresh), error))

    def _on_failed(self, error: BaseException) -> None:
        problem = failure_message(error)
        self._become(freshness.stop(freshness.forget(self._fresh), problem))
        self.failed.emit(problem)
        if not is_expected(error):
            raise error
