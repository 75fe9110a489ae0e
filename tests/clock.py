"""A clock that is set by hand: what waits for it is called when the test says that time has passed."""

from __future__ import annotations

from collections.abc import Callable


class HandClock:
    """Stands still until `advance`; calls what is due on the way, each at its own moment."""

    def __init__(self) -> None:
        self.time = 0.0
        self.moment: float | None = None
        self._call: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.time

    def call_at(self, moment: float | None, call: Callable[[], None]) -> None:
        self.moment, self._call = moment, call

    def advance(self, seconds: float) -> None:
        end = self.time + seconds
        while self.moment is not None and self.moment <= end:
            self.time, self.moment = max(self.time, self.moment), None
            self._call()
        self.time = end
