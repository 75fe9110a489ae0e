"""The player: one frozen record, and the events that change it.

`event.on(player, step)` is pure: it returns the player after the event, and the decoding step of the view.
The store keeps the present player and emits `player_changed`; the step belongs to the view, which is saved.
`playback.py` provides the clock.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.compute.full_pass import UncachedStep
    from attnviz.errors import Message

STEPS_PER_SECOND = 1.5
"""At speed 1."""

END = sys.maxsize
"""Past the last step of every decoding: `GoTo(END)` shows the last one."""

SHORTEST_SECONDS = 0.016
"""Between two steps: about one frame of a screen."""


@dataclass(frozen=True)
class Player:
    """The decoding to play, whether it plays, and its speed. Neither saved nor undone."""

    decoded: Decoded | None = None
    """The cached decoding of the present trace's experiment; None without one."""
    is_playing: bool = False
    is_awaited: bool = False
    """Whether it plays as soon as a decoding arrives."""
    is_due: bool = False
    """Whether a decoding is on its way while none is shown."""
    problem: Message | None = None
    """Why none is, if the last one failed."""
    speed: float = 1.0
    follows: bool = True
    """Whether the panels show the tokens up to the step."""
    visits: int = 0
    """Number of steps that were wanted: after an edit, the same one again shows its tokens, too."""
    viewers: frozenset[str] = frozenset()
    """Names of the panels in sight that show the decoding; without one, nothing is decoded."""
    measurers: frozenset[str] = frozenset()
    """Those of them that show the step without a cache as well."""
    uncached: Mapping[int, UncachedStep | str] = field(default_factory=dict)
    """Steps of the decoding without a cache, by the last step of their pass, or why one is missing."""

    @property
    def n_steps(self) -> int:
        """Number of steps; 0 without a decoding."""
        return 0 if self.decoded is None else len(self.decoded.decoding.steps)

    def measured(self, step: int) -> UncachedStep | str | None:
        """The pass without a cache for `step`, why it is missing, or None where it was not computed."""
        return None if self.decoded is None else self.uncached.get(self._pass(step))

    def unmeasured(self, step: int) -> int | None:
        """The last step of the pass that is still to be measured for `step`; None without one."""
        is_wanted = self.measurers and self.n_steps and not self.is_playing
        return self._pass(step) if is_wanted and self.measured(step) is None else None

    def _pass(self, step: int) -> int:
        assert self.decoded is not None
        return self.decoded.decoding.fed_together(self.nearest(step)).stop - 1

    @property
    def interval(self) -> float:
        """Seconds from one step to the next."""
        return max(SHORTEST_SECONDS, 1 / (STEPS_PER_SECOND * self.speed))

    def nearest(self, step: int) -> int:
        """The existing step nearest to `step`; 0 without one."""
        return max(0, min(step, self.n_steps - 1))


Shown = tuple[Player, int]
"""The player and the decoding step that the view shows."""


class Event(Protocol):
    """Something that happens to the player."""

    def on(self, player: Player, step: int) -> Shown:
        """The player and the step after it happened at `step`."""


@dataclass(frozen=True)
class Toggle:
    """Play, or pause; from the end, play again from the start. Without a decoding, play the next one."""

    def on(self, player: Player, step: int) -> Shown:
        if player.is_playing:
            return replace(player, is_playing=False), step
        if player.decoded is None:
            return replace(player, is_awaited=not player.is_awaited), step
        return _begin(player, step)


@dataclass(frozen=True)
class Pause:
    """Stay at this step."""

    def on(self, player: Player, step: int) -> Shown:
        return replace(player, is_playing=False), step


@dataclass(frozen=True)
class Tick:
    """It is time for the next step. While the next decoding is made, play waits for it."""

    def on(self, player: Player, step: int) -> Shown:
        if not player.is_playing or not player.n_steps:
            return player, step
        there = player.nearest(player.nearest(step) + 1)
        return replace(player, is_playing=there < player.n_steps - 1), there


@dataclass(frozen=True)
class GoTo:
    """Show one step, or the nearest; without a decoding, stay."""

    step: int

    def on(self, player: Player, step: int) -> Shown:
        if not player.n_steps:
            return player, step
        return replace(player, visits=player.visits + 1), player.nearest(self.step)


@dataclass(frozen=True)
class GoBy:
    """Some steps forward or back."""

    steps: int

    def on(self, player: Player, step: int) -> Shown:
        return GoTo(player.nearest(step) + self.steps).on(player, step)


@dataclass(frozen=True)
class Pace:
    """Another speed, as a multiple of `STEPS_PER_SECOND`."""

    speed: float

    def on(self, player: Player, step: int) -> Shown:
        return replace(player, speed=self.speed), step


@dataclass(frozen=True)
class Follow:
    """Show the tokens up to the step in the panels, or the document's."""

    follows: bool

    def on(self, player: Player, step: int) -> Shown:
        return replace(player, follows=self.follows), step


@dataclass(frozen=True)
class Arrive:
    """A decoding arrived, or the previous one is outdated (None). Playback continues in the next."""

    decoded: Decoded | None

    def on(self, player: Player, step: int) -> Shown:
        is_same = self.decoded is player.decoded
        is_due = player.is_due and self.decoded is None
        uncached = player.uncached if is_same else {}
        there = replace(player, decoded=self.decoded, is_due=is_due, uncached=uncached)
        if self.decoded is None or not player.is_awaited:
            return there, step
        return _begin(replace(there, is_awaited=False), step)


@dataclass(frozen=True)
class Expect:
    """A decoding is on its way, or none is any longer: it failed or was cancelled."""

    is_due: bool
    problem: Message | None = None

    def on(self, player: Player, step: int) -> Shown:
        return replace(player, is_due=self.is_due, problem=self.problem), step


@dataclass(frozen=True)
class Measure:
    """A step of `decoded` was computed without a cache, or a sentence says why it was not."""

    decoded: Decoded
    index: int
    found: UncachedStep | str

    def on(self, player: Player, step: int) -> Shown:
        if self.decoded is not player.decoded:
            return player, step
        return replace(player, uncached={**player.uncached, self.index: self.found}), step


@dataclass(frozen=True)
class Watch:
    """A panel that shows the decoding came into sight or left it.

    With `measures`, it shows the step without a cache as well.
    """

    panel: str
    is_seen: bool
    measures: bool = False

    def on(self, player: Player, step: int) -> Shown:
        me = frozenset((self.panel,))
        viewers = player.viewers | me if self.is_seen else player.viewers - me
        is_measuring = self.is_seen and self.measures
        measurers = player.measurers | me if is_measuring else player.measurers - me
        return replace(player, viewers=viewers, measurers=measurers), step


def _begin(player: Player, step: int) -> Shown:
    """Play from here, or from the start where this is the end; one step has nothing to play.

    The prompt is read in one pass: the first step to play is the one that generates.
    """
    last = player.n_steps - 1
    if player.decoded is None or last < 1:
        return player, step
    here = 0 if player.nearest(step) == last else player.nearest(step)
    first = player.decoded.decoding.fed_together(here).stop - 1
    return replace(player, is_playing=True), first
