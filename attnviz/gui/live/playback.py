"""Playback: what makes the player tick, at its own pace, until it pauses or is at the end."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from attnviz.gui.live.clock import Clock, WallClock
from attnviz.gui.player import Pause, Player, Tick
from attnviz.gui.store import Store


class Playback(QObject):
    """Ticks while the store's player plays. While `is_held()`, as when a token is being edited, it pauses."""

    def __init__(
        self,
        store: Store,
        is_held: Callable[[], bool],
        clock: Clock | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._is_held = store, is_held
        self._clock: Clock = WallClock(self) if clock is None else clock
        self._due = 0.0
        store.player_changed.connect(self._on_player)

    def tick(self) -> None:
        """Go one step on, or pause; then wait for the next tick."""
        self._store.play(Pause() if self._is_held() else Tick())
        if self._store.player.is_playing:
            # From when it was due, so that the time of painting does not add to the interval.
            self._wait_until(max(self._due + self._store.player.interval, self._clock.now()))

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        if not new.is_playing:
            self._clock.call_at(None, self.tick)
        elif (old.is_playing, old.interval) != (new.is_playing, new.interval):
            self._wait_until(self._clock.now() + new.interval)

    def _wait_until(self, moment: float) -> None:
        self._due = moment
        self._clock.call_at(moment, self.tick)
