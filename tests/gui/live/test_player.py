"""The player as values: (player, step) before, an event, (player, step) after."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from attnviz.gui.player import END, Arrive, Event, Expect, GoBy, GoTo, Pace, Pause, Player, Tick, Toggle


def alone(step: int) -> range:
    """No step has a prefill."""
    return range(step, step + 1)


def decoded(n_steps: int) -> Any:
    """All that the player reads of a decoding."""
    return cast(Any, SimpleNamespace(decoding=SimpleNamespace(steps=range(n_steps), fed_together=alone)))


FIVE, ONE = decoded(5), decoded(1)
NONE, RESTS, PLAYS = Player(), Player(FIVE), Player(FIVE, is_playing=True)
AWAITS = Player(is_awaited=True)
DUE = Player(is_due=True)

CASES: list[tuple[Player, int, Event, Player, int]] = [
    (RESTS, 2, Toggle(), PLAYS, 2),
    (RESTS, 4, Toggle(), PLAYS, 0),  # from the end, again from the start
    (RESTS, 9, Toggle(), PLAYS, 0),  # a step past the end of a file is the last one
    (PLAYS, 2, Toggle(), RESTS, 2),
    (PLAYS, 4, Toggle(), RESTS, 4),
    (NONE, 3, Toggle(), AWAITS, 3),
    (AWAITS, 3, Toggle(), NONE, 3),
    (Player(is_playing=True), 3, Toggle(), NONE, 3),  # its next decoding is on its way
    (Player(ONE), 0, Toggle(), Player(ONE), 0),  # one step has nothing to play
    (PLAYS, 2, Pause(), RESTS, 2),
    (NONE, 2, Pause(), NONE, 2),
    (PLAYS, 0, Tick(), PLAYS, 1),
    (PLAYS, 2, Tick(), PLAYS, 3),
    (PLAYS, 3, Tick(), RESTS, 4),  # the last step ends it
    (PLAYS, 7, Tick(), RESTS, 4),
    (RESTS, 2, Tick(), RESTS, 2),
    (Player(is_playing=True), 2, Tick(), Player(is_playing=True), 2),
    (RESTS, 0, GoTo(3), RESTS, 3),
    (RESTS, 0, GoTo(-1), RESTS, 0),
    (RESTS, 0, GoTo(END), RESTS, 4),
    (NONE, 3, GoTo(END), NONE, 3),
    (RESTS, 1, GoBy(2), RESTS, 3),
    (RESTS, 9, GoBy(-1), RESTS, 3),
    (RESTS, 0, GoBy(-1), RESTS, 0),
    (NONE, 3, GoBy(1), NONE, 3),
    (RESTS, 1, Pace(4.0), Player(FIVE, speed=4.0), 1),
    (NONE, 1, Arrive(FIVE), RESTS, 1),
    (RESTS, 1, Arrive(None), NONE, 1),
    (PLAYS, 1, Arrive(ONE), Player(ONE, is_playing=True), 1),  # play goes on in the next
    (PLAYS, 1, Arrive(None), Player(is_playing=True), 1),
    (AWAITS, 1, Arrive(FIVE), PLAYS, 1),
    (AWAITS, 4, Arrive(FIVE), PLAYS, 0),
    (AWAITS, 1, Arrive(None), AWAITS, 1),
    (AWAITS, 0, Arrive(ONE), Player(ONE), 0),
    (NONE, 3, Expect(True), DUE, 3),
    (DUE, 3, Expect(False), NONE, 3),  # it failed or was cancelled
    (DUE, 1, Arrive(FIVE), RESTS, 1),
    (DUE, 1, Arrive(None), DUE, 1),
    (DUE, 3, Toggle(), Player(is_awaited=True, is_due=True), 3),
]


@pytest.mark.parametrize(("player", "step", "event", "after", "there"), CASES)
def test_an_event_gives_another_player_and_step(
    player: Player, step: int, event: Event, after: Player, there: int
) -> None:
    found, at = event.on(player, step)
    assert (replace(found, visits=0), at) == (after, there)
    is_visit = isinstance(event, GoTo | GoBy) and bool(player.n_steps)
    assert found.visits == player.visits + is_visit


@pytest.mark.parametrize(("speed", "seconds"), [(0.25, 8 / 3), (1.0, 2 / 3), (16.0, 1 / 24), (100.0, 0.016)])
def test_the_interval_is_two_thirds_of_a_second_over_the_speed(speed: float, seconds: float) -> None:
    assert Player(speed=speed).interval == pytest.approx(seconds)
