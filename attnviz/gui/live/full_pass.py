"""The pass without a cache for the step that the player rests on: computed in the worker, the newest wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.player import Measure, Player
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.compute.full_pass import UncachedStep

KEY = "uncached"

REST_MS = 250
"""Time that the player rests at a step before the pass without a cache runs for it."""


class UncachedLive(QObject):
    """Measures each step once, where the player rests and a panel shows it.

    An edit ends a pass under way: its decoding is not to wait.
    """

    def __init__(self, store: Store, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scheduler, self._store = scheduler, store
        self._generation = 0
        self._asked: tuple[Decoded, int, int, Experiment] | None = None
        """The pending request: decoding, step, generation and the document's experiment."""
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._on_rest)
        store.player_changed.connect(self._on_player)
        store.changed.connect(self._on_changed)
        store.traced.connect(self._on_trace)

    @property
    def is_waiting(self) -> bool:
        """True while the player rests and the pass has not begun."""
        return self._rest.isActive()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        self._wait_for_rest()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.experiment != new.experiment:
            self._generation += 1
        if old.view.step != new.view.step:
            self._wait_for_rest()

    def _wait_for_rest(self) -> None:
        """Begin to wait anew, where the step without a cache is wanted and missing."""
        self._rest.stop()
        if self._store.player.unmeasured(self._store.document.view.step) is not None:
            self._rest.start()

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        """Ask again where an edit ended the pass, and was taken back: the decoding is the same."""
        if self._asked is None or self._asked[2] == self._generation:
            return
        decoded, index, _generation, experiment = self._asked
        if self._store.player.decoded is not decoded:
            self._asked = None  # the decoding is gone: nothing of it is kept
        elif self._store.experiment == experiment:
            self._measure(decoded, index)

    @Slot()
    def _on_rest(self) -> None:
        player = self._store.player
        index = player.unmeasured(self._store.document.view.step)
        if player.decoded is not None and index is not None:
            self._measure(player.decoded, index)

    def _measure(self, decoded: Decoded, index: int) -> None:
        generation = self._generation
        self._asked = decoded, index, generation, self._store.experiment

        def job(token: CancelToken) -> UncachedStep:
            from attnviz.compute.full_pass import uncached_step

            def check() -> None:
                token.check()
                if generation != self._generation:
                    raise Cancelled

            return uncached_step(decoded.decoding, index, Progress(check, token.report), GUI_CORES)

        def done(step: UncachedStep) -> None:
            self._asked = None
            self._store.play(Measure(decoded, index, step))

        def failed(error: BaseException) -> None:
            self._asked = None
            self._store.play(Measure(decoded, index, failure_message(error).text()))
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, done, failed, key=KEY)
