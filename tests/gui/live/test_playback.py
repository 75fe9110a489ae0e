"""The player ticks at its pace, on a clock that is set by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from clock import HandClock
from pytestqt.qtbot import QtBot

from attnviz.gui.live.playback import Playback
from attnviz.gui.player import GoTo, Pace, Toggle
from attnviz.gui.store import Store
from attnviz.model.io.presets import load_preset


class Bench:
    def __init__(self) -> None:
        self.store, self.clock = Store(load_preset("causal-decode")), HandClock()
        self.is_held = False
        self.playback = Playback(self.store, lambda: self.is_held, self.clock)
        decoding = SimpleNamespace(steps=range(9), fed_together=lambda step: range(step, step + 1))
        self.store.set_decoded(cast(Any, SimpleNamespace(decoding=decoding)))
        self.store.look(step=0)

    @property
    def step(self) -> int:
        return self.store.document.view.step


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    return Bench()


def test_it_takes_a_step_each_interval_and_rests_at_the_end(bench: Bench) -> None:
    bench.store.play(Toggle())
    bench.clock.advance(0.65)
    assert bench.step == 0
    seen = []
    for _times in range(3):
        bench.clock.advance(2.0)
        seen.append(bench.step)
    assert seen == [3, 6, 8]
    assert not bench.store.player.is_playing and bench.clock.moment is None


def test_another_pace_counts_from_now(bench: Bench) -> None:
    bench.store.play(Toggle())
    bench.clock.advance(0.6)
    bench.store.play(Pace(10.0))
    bench.clock.advance(0.05)
    assert bench.step == 0
    bench.clock.advance(0.16)
    assert bench.step == 3


def test_the_time_of_painting_does_not_add_to_the_interval(bench: Bench) -> None:
    """A tick that comes 0.3 s late, as after a long paint, does not delay those that follow."""
    bench.store.play(Toggle())
    bench.clock.time = 2 / 3 + 0.3
    bench.playback.tick()
    assert bench.step == 1 and bench.clock.moment == pytest.approx(4 / 3)


def test_a_pause_stops_the_clock_and_a_jump_does_not(bench: Bench) -> None:
    bench.store.play(Toggle())
    bench.store.play(GoTo(5))
    bench.clock.advance(0.7)
    assert bench.step == 6
    bench.store.play(Toggle())
    assert bench.clock.moment is None
    bench.clock.advance(5.0)
    assert bench.step == 6


def test_while_a_token_is_edited_it_pauses_where_it_is(bench: Bench) -> None:
    bench.store.play(Toggle())
    bench.is_held = True
    bench.clock.advance(1.0)
    assert bench.step == 0 and not bench.store.player.is_playing and bench.clock.moment is None


def test_while_the_next_decoding_is_made_play_waits_for_it(bench: Bench) -> None:
    decoded = bench.store.player.decoded
    bench.store.play(Toggle())
    bench.clock.advance(0.7)
    bench.store.set_decoded(None)
    bench.clock.advance(10.0)
    assert bench.step == 1 and bench.store.player.is_playing
    bench.store.set_decoded(decoded)
    bench.clock.advance(0.7)
    assert bench.step == 2
