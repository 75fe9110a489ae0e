"""The decoding that belongs to the document: made in the worker whenever a trace has arrived.

It is compared there with the full causal pass of the same tokens, so that the panel can say *equal*
with the greatest difference beside it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.engines.decode import Decoding, parity
from attnviz.gui.live import GUI_CORES, Live
from attnviz.gui.store import Store
from attnviz.model.document import Document
from attnviz.model.experiment import Experiment
from attnviz.model.trace import Trace

KEY = "decode"

QUICK_SECONDS = 0.01
"""A decoding as quick as this follows a drag; a slower one waits for the hand to rest."""

REST_MS = 120


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoding, the greatest absolute difference of each stage from the full pass, and its time."""

    decoding: Decoding
    differences: dict[str, float]
    seconds: float

    @property
    def worst(self) -> float:
        """The greatest difference of all stages."""
        return max(self.differences.values(), default=0.0)


class DecodeLive(QObject):
    """Decodes the experiment of every new trace, while somebody looks."""

    failed = Signal(str)

    def __init__(self, store: Store, live: Live, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._live, self._scheduler = store, live, scheduler
        self._is_watched = True
        self._decoded_for: Experiment | None = None
        self._seconds = 0.0
        self._generation = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._decode)
        store.traced.connect(self._on_trace)
        store.changed.connect(self._on_changed)

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

    @Slot(object)
    def _on_trace(self, trace: Trace) -> None:
        if self._is_watched and trace.experiment != self._decoded_for:
            self._timer.start(0 if self._seconds <= QUICK_SECONDS else REST_MS)

    @Slot()
    def _decode(self) -> None:
        trace = self._store.trace
        if trace is None or trace.experiment != self._store.experiment:
            return  # the next trace is on its way
        experiment, engine, device = trace.experiment, self._live.engine, self._live.device
        generation = self._generation

        def job(token: CancelToken) -> Decoded:
            started = time.perf_counter()

            def check() -> None:
                token.check()
                if generation != self._generation:
                    raise Cancelled

            decoding = execute_decoding(experiment, None, engine, device, check=check, reserve=GUI_CORES)
            full = execute(decoding.experiment, engine, device, check=check, reserve=GUI_CORES)
            differences = parity(decoding, full)
            return Decoded(decoding, differences, time.perf_counter() - started)

        def done(decoded: Decoded) -> None:
            self._decoded_for, self._seconds = experiment, decoded.seconds
            self._store.set_decoded(decoded)

        self._scheduler.submit(job, done, self._on_failed, key=KEY)

    def _on_failed(self, error: BaseException) -> None:
        if not isinstance(error, ValueError | RuntimeError | MemoryError):
            raise error
        self._store.set_decoded(None)
        self.failed.emit(str(error))
