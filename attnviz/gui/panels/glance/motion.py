"""The way of the sum from a query that hears itself alone to its row of weights, in time."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from attnviz.gui.live.clock import Clock, WallClock

FRAME_S = 0.016
FIRST_S = 4.0
"""Length of the first play, and of one that a person starts."""
WORD_S = 1.2
"""Length of the play for a new word."""
REST = 0.08
"""Parts of the time at both ends in which nothing moves."""


def eased(share: float) -> float:
    """The part of the way after a share of the time: it starts and ends slowly."""
    share = min(1.0, max(0.0, (share - REST) / (1.0 - 2 * REST)))
    return share * share * (3.0 - 2.0 * share)


class Motion(QObject):
    """Plays from 0 to 1; `moved` carries each part, `ended` says that it plays no longer."""

    moved = Signal(float)
    ended = Signal()

    def __init__(self, clock: Clock | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clock: Clock = WallClock(self) if clock is None else clock
        self._began, self._length, self._passed = 0.0, FIRST_S, 0.0
        self.is_playing = False

    def play(self, seconds: float) -> None:
        """Play from the beginning."""
        self._length, self._passed = seconds, 0.0
        self._go()

    def toggle(self) -> None:
        """Pause, or go on; from the end, play from the beginning."""
        if self.is_playing:
            self.stop()
        elif 0.0 < self._passed < self._length:
            self._go()
        else:
            self.play(FIRST_S)

    def stop(self) -> None:
        """Stay at this part."""
        if self.is_playing:
            self._passed = self._clock.now() - self._began
            self._end()

    def forget(self) -> None:
        """Play from the beginning next time."""
        self.stop()
        self._passed = 0.0

    def _go(self) -> None:
        self.is_playing = True
        self._began = self._clock.now() - self._passed
        self._tick()

    def _tick(self) -> None:
        self._passed = self._clock.now() - self._began
        share = self._passed / self._length
        self.moved.emit(eased(share))
        if not self.is_playing:
            return
        if share >= 1.0:
            self._end()
        else:
            self._clock.call_at(self._clock.now() + FRAME_S, self._tick)

    def _end(self) -> None:
        self.is_playing = False
        self._clock.call_at(None, self._tick)
        self.ended.emit()
