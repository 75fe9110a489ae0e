"""Memory at rest: some time after the last numbers, what the next run can do without is given back."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.core.heap import trim
from attnviz.engines.on_device import rest
from attnviz.gui.player import Player
from attnviz.gui.store import Store
from attnviz.model.io.files import matrices
from attnviz.model.spec.experiment import Experiment

KEY = "idle"

IDLE_MS = 10_000
"""Time without new numbers after which the window rests. The next decoding converts the vocabulary of a large
model anew, which takes a fraction of a second.
"""


class IdleLive(QObject):
    """Gives memory back in the worker, once after each run that rests."""

    def __init__(self, store: Store, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._scheduler = store, scheduler
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(IDLE_MS)
        self._timer.timeout.connect(self._on_idle)
        store.traced.connect(self._on_trace)
        store.player_changed.connect(self._on_player)

    def stop(self) -> None:
        """Give nothing back any longer: the window closes."""
        self._timer.stop()

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        self._timer.start()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        """A decoding converts what each of its steps uses."""
        if old.decoded is not new.decoded:
            self._timer.start()

    @Slot()
    def _on_idle(self) -> None:
        if self._scheduler.idle:
            give_back = partial(_give_back, self._store.experiment)
            self._scheduler.submit(give_back, _forget, _forget, key=KEY)
        else:
            self._timer.start()


def _give_back(present: Experiment, token: CancelToken) -> None:
    """Documents to which undo returns convert their matrices again when they are computed."""
    rest([matrix for _name, matrix in matrices(present)])
    trim()


def _forget(answer: object) -> None:
    """An answer that nobody waits for."""
