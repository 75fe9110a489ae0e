"""The pass without a cache for the step that the player rests on: made in the worker, the newest wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.compute.uncached import UncachedStep
    from attnviz.gui.panels.decoding.panel import DecodingPanel

KEY = "uncached"


class UncachedLive(QObject):
    """Answers where the panel rests. An edit ends a pass under way: its decoding is not to wait."""

    def __init__(
        self, panel: DecodingPanel, store: Store, scheduler: Scheduler, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        self._store = store
        self._generation = 0
        self._asked: tuple[Decoded, int, int, Experiment] | None = None
        """The pending request: decoding, step, generation and the document's experiment."""
        panel.rested.connect(self._on_rested)
        store.changed.connect(self._on_changed)
        store.traced.connect(self._on_trace)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.experiment != new.experiment:
            self._generation += 1

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        """Ask again where an edit ended the pass, and was taken back: the decoding is the same."""
        if self._asked is None or self._asked[2] == self._generation:
            return
        decoded, index, _generation, experiment = self._asked
        if self._store.player.decoded is not decoded:
            self._asked = None  # the decoding is gone: nothing of it is kept
        elif self._store.experiment == experiment:
            self._on_rested(decoded, index)

    @Slot(object, int)
    def _on_rested(self, decoded: Decoded, index: int) -> None:
        generation = self._generation
        self._asked = decoded, index, generation, self._store.experiment

        def job(token: CancelToken) -> UncachedStep:
            from attnviz.compute.uncached import uncached_step

            def check() -> None:
                token.check()
                if generation != self._generation:
                    raise Cancelled

            return uncached_step(decoded.decoding, index, Progress(check, token.report), GUI_CORES)

        def done(step: UncachedStep) -> None:
            self._asked = None
            self._panel.show_uncached(decoded, index, step)

        def failed(error: BaseException) -> None:
            self._asked = None
            self._panel.show_uncached(decoded, index, failure_message(error).text())
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, done, failed, key=KEY)
