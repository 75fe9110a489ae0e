"""The live decoding: made after the numbers, while somebody looks, and for no experiment that is gone."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clock import HandClock
from pointer import Log
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.compute import decoding as decoded_module
from attnviz.compute.scheduler import Scheduler, Stopped
from attnviz.engines.decode.decodable import causal_experiment
from attnviz.gui.bridge import Bridge
from attnviz.gui.live import trace as trace_module
from attnviz.gui.live.decoding import DecodeLive
from attnviz.gui.live.trace import Live
from attnviz.gui.player import Watch
from attnviz.gui.store import Store
from attnviz.model.edit import edits
from attnviz.model.io.presets import load_preset


class Bench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = Store(load_preset("causal-decode"))
        self.bridge = Bridge()
        self.schedulers = (Scheduler(self.bridge.post), Scheduler(self.bridge.post))
        self.live = Live(self.store, self.schedulers[0])
        self.decode = DecodeLive(self.store, self.live, self.schedulers[1])
        self.store.play(Watch("test", True))
        self.log = Log(self.decode, "failed")
        self.runs = 0
        plain = decoded_module.execute_decoding

        def counted(*args: Any, **named: Any) -> Any:
            self.runs += 1
            return plain(*args, **named)

        monkeypatch.setattr(decoded_module, "execute_decoding", counted)

    def settled(self) -> bool:
        decoded = self.store.player.decoded
        wanted = causal_experiment(self.store.experiment)
        return decoded is not None and decoded.decoding.experiment == wanted


@pytest.fixture
def bench(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(monkeypatch)
    made.live.run_now()
    qtbot.waitUntil(made.settled)
    yield made
    made.bridge.close()
    assert all(scheduler.close(2.0) for scheduler in made.schedulers)


def test_it_is_the_decoding_of_a_script_with_its_differences(bench: Bench) -> None:
    decoded = bench.store.player.decoded
    assert decoded is not None
    expected = attnviz.decode(bench.store.experiment)
    for mine, theirs in zip(decoded.decoding.steps, expected.steps, strict=True):
        np.testing.assert_array_equal(mine.weights, theirs.weights)
        np.testing.assert_array_equal(mine.probabilities, theirs.probabilities)
    assert decoded.worst == max(decoded.differences.values()) < 1e-4
    assert "weights" in decoded.differences


def test_many_edits_are_decoded_a_few_times_and_end_right(bench: Bench, qtbot: QtBot) -> None:
    bench.runs = 0
    for step in range(30):
        bench.store.edit(edits.set_vector_cell, 0, 0, float(step))
    qtbot.waitUntil(bench.settled)
    assert bench.runs <= 4


class HandBench:
    """No threads and no timers: runs and decodings are made at once, and time is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.decoded_in = HandClock(), 0.2
        self.store = Store(load_preset("causal-decode"))
        self.live = Live(self.store, Scheduler(_post_nothing, inline=True))
        self.decode = DecodeLive(
            self.store, self.live, Scheduler(_post_nothing, inline=True), clock=self.clock
        )
        self.store.play(Watch("test", True))
        plain = decoded_module.decode_and_compare

        def timed(*args: Any) -> Any:
            return replace(plain(*args), seconds=self.decoded_in)

        monkeypatch.setattr(decoded_module, "decode_and_compare", timed)
        self.live.run_now()
        self.clock.advance(0.0)

    def edit(self, value: float) -> None:
        self.store.edit(edits.set_vector_cell, 0, 0, value)
        self.live.run_now()

    def value(self) -> float | None:
        """The edited cell in the decoding that is shown; None where none is shown."""
        decoded = self.store.player.decoded
        return None if decoded is None else float(decoded.decoding.experiment.vectors.values.array[0, 0])


def _post_nothing(call: object) -> None:
    raise AssertionError("inline, nothing is posted")


@pytest.fixture
def by_hand(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> HandBench:
    return HandBench(monkeypatch)


def test_a_slow_decoding_waits_for_the_hand_to_rest(by_hand: HandBench) -> None:
    first = by_hand.value()
    for value in (1.0, 2.0, 3.0):
        by_hand.edit(value)
        by_hand.clock.advance(0.1)
        assert by_hand.value() == first
    by_hand.clock.advance(0.03)
    assert by_hand.value() == 3.0 and by_hand.clock.moment is None


def test_a_quick_decoding_follows_every_edit(by_hand: HandBench) -> None:
    by_hand.decoded_in = 0.002
    by_hand.edit(1.0)
    by_hand.clock.advance(0.2)
    for value in (2.0, 3.0, 4.0):
        by_hand.edit(value)
        by_hand.decode.tick()
        assert by_hand.value() == value


def test_a_decoding_leaves_the_screen_while_a_long_one_is_awaited(by_hand: HandBench) -> None:
    by_hand.decoded_in = 0.3
    by_hand.edit(1.0)
    by_hand.clock.advance(0.2)
    assert by_hand.value() == 1.0
    by_hand.edit(2.0)
    assert by_hand.value() is None
    by_hand.store.undo()
    by_hand.live.run_now()
    by_hand.clock.advance(0.2)
    assert by_hand.value() == 1.0


def test_one_is_due_until_it_arrives(by_hand: HandBench) -> None:
    """The old one is shown as long as it may be: then none is due in its place."""

    def state() -> tuple[float | None, bool]:
        return by_hand.value(), by_hand.store.player.is_due

    by_hand.decoded_in = 0.3
    by_hand.edit(1.0)
    by_hand.clock.advance(0.2)
    assert state() == (1.0, False)
    by_hand.store.edit(edits.set_vector_cell, 0, 0, 2.0)
    assert state() == (1.0, False)
    by_hand.live.run_now()
    assert state() == (None, True)
    by_hand.clock.advance(0.2)
    assert state() == (2.0, False)


def test_the_first_one_is_due_before_the_first_run(qtbot: QtBot) -> None:
    store = Store(load_preset("causal-decode"))
    live = Live(store, Scheduler(_post_nothing, inline=True))
    decode = DecodeLive(store, live, Scheduler(_post_nothing, inline=True), clock=HandClock())
    assert not store.player.is_due  # no panel in sight shows it
    store.play(Watch("test", True))
    assert store.player.is_due
    store.play(Watch("test", False))
    assert not store.player.is_due
    store.play(Watch("test", True))
    live.run_now()
    assert store.player.is_due and store.player.decoded is None
    decode.tick()
    assert not store.player.is_due and store.player.decoded is not None


@pytest.mark.parametrize("error", [ValueError("too large"), Stopped()])
@pytest.mark.parametrize("what", ["run", "decoding"])
def test_none_is_due_after_a_failure_or_a_cancellation(
    by_hand: HandBench, monkeypatch: pytest.MonkeyPatch, what: str, error: Exception
) -> None:
    """A panel that comes into sight later does not wait either."""

    def fail(*args: Any, **named: Any) -> Any:
        raise error

    by_hand.decoded_in = 0.3
    by_hand.edit(1.0)
    by_hand.clock.advance(0.2)
    by_hand.edit(2.0)
    assert by_hand.store.player.is_due
    module, name = {"run": (trace_module, "execute"), "decoding": (decoded_module, "decode_and_compare")}[
        what
    ]
    with monkeypatch.context() as patch:
        patch.setattr(module, name, fail)
        by_hand.edit(3.0)
        by_hand.clock.advance(0.2)
        assert (by_hand.value(), by_hand.store.player.is_due) == (None, False)
        by_hand.store.play(Watch("test", False))
        by_hand.store.play(Watch("test", True))
        by_hand.clock.advance(0.2)
        assert not by_hand.store.player.is_due
    by_hand.edit(4.0)
    assert by_hand.store.player.is_due
    by_hand.clock.advance(0.2)
    assert (by_hand.value(), by_hand.store.player.is_due) == (4.0, False)


def test_an_edit_that_is_taken_back_in_time_costs_no_decoding(
    by_hand: HandBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = by_hand.store.player.decoded
    by_hand.edit(5.0)
    by_hand.clock.advance(0.1)
    by_hand.store.undo()
    by_hand.live.run_now()
    by_hand.clock.advance(5.0)
    assert by_hand.store.player.decoded is shown


def test_while_the_next_trace_does_not_come_an_older_decoding_leaves(by_hand: HandBench) -> None:
    by_hand.edit(5.0)
    by_hand.store.edit(edits.set_vector_cell, 0, 0, 6.0)  # its numbers are still on their way
    assert by_hand.clock.moment == pytest.approx(0.3)
    by_hand.clock.advance(0.29)
    assert by_hand.value() is not None
    by_hand.clock.advance(0.02)
    assert by_hand.value() is None


def test_hidden_it_rests_and_seen_again_it_catches_up(bench: Bench, qtbot: QtBot) -> None:
    bench.store.play(Watch("test", False))
    bench.runs = 0
    bench.store.edit(edits.set_vector_cell, 0, 0, 5.0)
    qtbot.waitUntil(lambda: bench.store.trace.experiment == bench.store.experiment)  # type: ignore[union-attr]
    qtbot.wait(40)
    assert bench.runs == 0 and not bench.settled()
    bench.store.play(Watch("test", True))
    qtbot.waitUntil(bench.settled)


def test_the_same_experiment_is_not_decoded_twice(bench: Bench, qtbot: QtBot) -> None:
    bench.runs = 0
    bench.store.play(Watch("other", True))
    bench.live.run_now()
    qtbot.wait(60)
    assert bench.runs == 0


def edit_and_be_refused(bench: Bench, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit whose decoding is refused in one sentence."""

    def refuse(*args: Any, **named: Any) -> Any:
        raise ValueError("too large")

    with monkeypatch.context() as patch:
        patch.setattr(decoded_module, "execute_decoding", refuse)
        bench.store.edit(edits.set_vector_cell, 0, 0, 6.0)
        qtbot.waitUntil(lambda: list(map(str, bench.log.values("failed"))) == ["too large"])


def test_a_refusal_is_a_sentence_and_takes_the_old_numbers_away(
    bench: Bench, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_and_be_refused(bench, qtbot, monkeypatch)
    assert bench.store.player.decoded is None
    bench.store.edit(edits.set_vector_cell, 0, 0, 7.0)
    qtbot.waitUntil(bench.settled)


@pytest.mark.parametrize("wait", [0, 40, 90, 160, 400])
def test_an_edit_that_is_taken_back_leaves_a_decoding_on_the_screen(
    bench: Bench, qtbot: QtBot, wait: int
) -> None:
    slow = replace(bench.decode._fresh, seconds=0.2, took=0.2)  # one that waits for the hand to rest
    bench.decode._fresh = slow
    bench.store.edit(edits.set_vector_cell, 0, 0, 5.0)
    edited = bench.store.experiment
    qtbot.waitUntil(lambda: bench.store.trace.experiment == edited)  # type: ignore[union-attr]
    qtbot.wait(wait)
    bench.store.undo()
    qtbot.waitUntil(bench.settled)
    qtbot.wait(450)  # past the moment at which an outdated one is removed
    qtbot.waitUntil(bench.settled)


def test_after_a_refusal_that_is_undone_the_decoding_comes_back(
    bench: Bench, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_and_be_refused(bench, qtbot, monkeypatch)
    bench.store.undo()
    qtbot.waitUntil(bench.settled)


@pytest.mark.parametrize("how", ["hidden", "refused"])
def test_nothing_is_kept_of_a_decoding_whose_document_is_gone(
    bench: Bench, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """No newer decoding takes its place: nobody looks, or the next one is refused."""
    seen = weakref.ref(bench.store.player.decoded)
    if how == "hidden":
        bench.store.play(Watch("test", False))
        bench.store.open(load_preset("toy-attention"))
        wanted = bench.store.experiment
        qtbot.waitUntil(lambda: bench.store.trace.experiment == wanted)  # type: ignore[union-attr]
    else:
        edit_and_be_refused(bench, qtbot, monkeypatch)
    assert bench.store.player.decoded is None
    gc.collect()
    assert seen() is None
