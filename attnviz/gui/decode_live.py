"""The decoding that belongs to the document: made in the worker whenever a trace has arrived.

It is compared there with the full causal pass of the same tokens, so that the panel can say *equal*
with the greatest difference beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.engines.decode import Decoding, parity
from attnviz.gui.live import Live
from attnviz.gui.store import Store
from attnviz.model.experiment import Experiment
from attnviz.model.trace import Trace

KEY = "decode"


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoding and the greatest absolute difference of each stage from the full pass."""

    decoding: Decoding
    differences: dict[str, float]

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
        store.traced.connect(self._on_trace)

    @Slot(bool)
    def set_watched(self, is_watched: bool) -> None:
        """Whether the decoding panel is on the screen; hidden, nothing is decoded."""
        self._is_watched = is_watched
        if self._store.trace is not None:
            self._on_trace(self._store.trace)

    @Slot(object)
    def _on_trace(self, trace: Trace) -> None:
        if not self._is_watched or trace.experiment == self._decoded_for:
            return
        experiment, engine, device = trace.experiment, self._live.engine, self._live.device

        def job(token: CancelToken) -> Decoded:
            decoding = execute_decoding(experiment, None, engine, device, check=token.check)
            full = execute(decoding.experiment, engine, device, check=token.check)
            return Decoded(decoding, parity(decoding, full))

        def done(decoded: Decoded) -> None:
            self._decoded_for = experiment
            self._store.set_decoded(decoded)

        self._scheduler.submit(job, done, self._on_failed, key=KEY)

    def _on_failed(self, error: BaseException) -> None:
        if not isinstance(error, ValueError | RuntimeError | MemoryError):
            raise error
        self._store.set_decoded(None)
        self.failed.emit(str(error))
