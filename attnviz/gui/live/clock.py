"""Time for what happens later: a clock that is read, and that calls back once at a moment."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Slot


class Clock(Protocol):
    """Whoever waits has a clock of its own; in tests, one that is set by hand."""

    def now(self) -> float:
        """Seconds since some moment."""

    def call_at(self, moment: float | None, call: Callable[[], None]) -> None:
        """Call once at a moment, in the place of any call that was to come; None: no call comes."""


class WallClock(QObject):
    """The time of the machine; calls come from the event loop."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._call: Callable[[], None] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    def now(self) -> float:
        return time.monotonic()

    def call_at(self, moment: float | None, call: Callable[[], None]) -> None:
        self._call = None if moment is None else call
        if moment is None:
            self._timer.stop()
        else:
            self._timer.start(max(0, math.ceil(1000 * (moment - self.now()))))

    @Slot()
    def _on_timeout(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()
