"""The step without a cache: measured where the player rests, once, and never in anybody's way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from decoding_room import DecodingRoom
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from attnviz.compute import full_pass as uncached_module
from attnviz.compute.full_pass import UncachedStep
from attnviz.compute.scheduler import Scheduler
from attnviz.core.text import number
from attnviz.engines.decode.run import Decoding
from attnviz.gui.bridge import Bridge
from attnviz.gui.live.decoding import DecodeLive
from attnviz.gui.live.full_pass import REST_MS, UncachedLive
from attnviz.gui.live.trace import Live
from attnviz.gui.player import Pace
from attnviz.gui.store import Store
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.model.edit.edits import set_vector_cell
from attnviz.model.edit.generation import set_writing
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature


class Bench:
    """A player with everything behind it, and a record of the passes that were made."""

    def __init__(self, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
        preset = load_preset("causal-decode")
        self.n_given = preset.experiment.n_queries
        writing = Writing(Sampling((Temperature(0.0),), stop=StopConditions(False, 12)))
        self.store = Store(Document(set_writing(preset.experiment, writing)))
        self.bridge = Bridge()
        self.schedulers = (Scheduler(self.bridge.post), Scheduler(self.bridge.post))
        self.live = Live(self.store, self.schedulers[0])
        self.decode_live = DecodeLive(self.store, self.live, self.schedulers[1])
        self.panel = DecodingRoom(self.store)
        qtbot.addWidget(self.panel)
        self.uncached_live = UncachedLive(self.store, self.schedulers[1])
        self.made: list[UncachedStep] = []
        self.plain = uncached_module.uncached_step
        monkeypatch.setattr(uncached_module, "uncached_step", self.counted)
        self.panel.resize(1300, 900)
        self.panel.start()
        self.panel.show()
        self.qtbot = qtbot

    def counted(self, *args: Any) -> UncachedStep:
        self.made.append(self.plain(*args))
        return self.made[-1]

    @property
    def steps(self) -> list[int]:
        return [step.index for step in self.made]

    @property
    def decoding(self) -> Decoding:
        assert self.store.player.decoded is not None
        return self.store.player.decoded.decoding

    def settle(self) -> None:
        """Until the decoding is the document's, and nothing is under way."""
        experiment = self.store.experiment

        def is_there() -> bool:
            decoded = self.store.player.decoded
            if decoded is None or not all(scheduler.idle for scheduler in self.schedulers):
                return False
            return decoded.decoding.experiment.vectors.values.array[: self.n_given].tolist() == (  # type: ignore[union-attr]
                experiment.vectors.values.array.tolist()  # type: ignore[union-attr]
            )

        self.qtbot.waitUntil(is_there, timeout=8000)

    def rest(self) -> None:
        QTest.qWait(REST_MS + 60)
        self.qtbot.waitUntil(lambda: self.schedulers[1].idle, timeout=8000)
        QTest.qWait(20)

    def shown(self, part: str = "plain") -> str:
        return self.panel.findChild(QLabel, f"count_milliseconds_{part}").text()  # type: ignore[union-attr]

    def why(self) -> str:
        return self.panel.findChild(QLabel, "count_milliseconds_plain").toolTip()  # type: ignore[union-attr]


@pytest.fixture
def bench(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(qtbot, monkeypatch)
    made.live.run_now()
    qtbot.waitUntil(lambda: made.store.player.decoded is not None, timeout=8000)
    made.rest()
    made.made.clear()
    yield made
    made.bridge.close()
    assert all(scheduler.close(2.0) for scheduler in made.schedulers)


def test_where_the_player_rests_the_step_is_measured_once_and_remembered(bench: Bench) -> None:
    step = bench.n_given + 3
    bench.panel.go_to(step)
    assert bench.shown() == "…" and "Measuring a full pass over the" in bench.why()
    bench.rest()
    assert bench.steps == [step]
    assert bench.shown() == number(1000 * bench.made[0].seconds, 2)
    assert f"a full pass over the {step + 1} tokens so far" in bench.why()
    assert bench.shown("cached") == number(1000 * bench.made[0].cached_seconds, 2)
    written = number(1000 * bench.decoding.steps[step].seconds, 2)
    label = bench.panel.findChild(QLabel, "count_milliseconds_cached")
    assert label is not None and f"it took {written} ms when the text was generated" in label.toolTip()
    bench.panel.go_to(step + 1)
    assert bench.shown("cached") == number(1000 * bench.decoding.steps[step + 1].seconds, 2)
    bench.panel.go_to(step)
    assert bench.shown() == number(1000 * bench.made[0].seconds, 2)
    bench.rest()
    assert bench.steps == [step]


def test_the_row_that_is_compared_is_that_of_this_pass(bench: Bench) -> None:
    step = bench.n_given + 3
    bench.panel.go_to(step)
    again = bench.panel.findChild(RowMatrix, "decode_output_again")
    assert isinstance(again, RowMatrix)
    n = len(bench.decoding.steps)
    assert again.accessibleDescription().startswith(f"Row {step + 1} of a full pass over all {n} tokens")
    bench.rest()
    assert again.accessibleDescription() == f"Last row of a full pass over the {step + 1} tokens so far"
    (row,) = bench.made[0].outputs.values()
    np.testing.assert_array_equal(again._values, row[None, :])
    np.testing.assert_allclose(row, bench.decoding.steps[step].attention_output, rtol=1e-5, atol=1e-6)


def test_steps_that_are_passed_by_are_not_measured(bench: Bench) -> None:
    for step in range(bench.n_given, bench.n_given + 8):
        bench.panel.go_to(step)
        QTest.qWait(5)
    bench.rest()
    assert bench.steps == [bench.n_given + 7]


def test_while_it_plays_nothing_is_measured_and_the_reason_is_there(bench: Bench) -> None:
    bench.panel.go_to(bench.n_given)
    bench.panel.toggle_play()
    bench.store.play(Pace(0.25))
    QTest.qWait(3 * REST_MS)
    assert bench.panel.is_playing and bench.steps == []
    assert bench.shown() == "–" and "Pause to measure this step" in bench.why()
    bench.panel.toggle_play()
    bench.rest()
    assert bench.steps == [bench.store.document.view.step] and bench.shown() not in "–…"


def test_the_last_step_has_been_measured_with_the_decoding(bench: Bench) -> None:
    bench.panel.go_to_end()
    assert bench.store.player.decoded is not None
    assert bench.shown() == number(1000 * bench.store.player.decoded.full_seconds, 2)


def test_the_tokens_of_the_prefill_have_the_time_of_its_one_pass(bench: Bench) -> None:
    name = bench.panel.findChild(QLabel, "count_milliseconds_name")
    bench.panel.go_to(2)
    bench.rest()
    assert bench.decoding.steps[2].prefill == range(bench.n_given)
    assert name is not None and name.text() == f"ms, prefill of {bench.n_given}"
    # It was measured when the first step was shown: one pass for all tokens of the prompt.
    assert bench.steps == [] and f"over the {bench.n_given} tokens" in bench.why()
    whole = number(1000 * sum(step.seconds for step in bench.decoding.steps[: bench.n_given]), 2)
    label = bench.panel.findChild(QLabel, "count_milliseconds_cached")
    shown = bench.shown(), bench.shown("cached")
    for step in range(bench.n_given):
        bench.panel.go_to(step)
        assert (bench.shown(), bench.shown("cached")) == shown
        assert label is not None and f"it took {whole} ms when the text was generated" in label.toolTip()
    bench.panel.go_to(bench.n_given)
    assert name.text() == "ms, one step"


def test_an_edit_forgets_what_was_measured(bench: Bench) -> None:
    step = bench.n_given + 2
    bench.panel.go_to(step)
    bench.rest()
    bench.store.edit(set_vector_cell, 0, 0, 0.5)
    bench.settle()
    bench.rest()
    assert bench.steps == [step, step]
    assert bench.shown() == number(1000 * bench.made[1].seconds, 2)


def test_a_hidden_panel_measures_nothing_until_it_is_seen(bench: Bench) -> None:
    bench.panel.set_seen(False)
    bench.store.look(step=bench.n_given + 4)
    bench.rest()
    assert bench.steps == []
    bench.panel.set_seen(True)
    bench.rest()
    assert bench.steps == [bench.n_given + 4]


def test_an_edit_does_not_wait_for_a_pass_that_is_under_way(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    def endless(_decoding: Any, index: int, check: Callable[[], None], _reserve: int) -> UncachedStep:
        events.append(f"begin {index - bench.n_given}")
        try:
            while True:
                check()
                time.sleep(0.002)
        finally:
            events.append(f"end {index - bench.n_given}")

    with monkeypatch.context() as patch:
        patch.setattr(uncached_module, "uncached_step", endless)
        bench.panel.go_to(bench.n_given + 5)
        bench.qtbot.waitUntil(lambda: events == ["begin 5"], timeout=4000)
        bench.panel.go_to(bench.n_given + 6)  # the newest wins
        bench.qtbot.waitUntil(lambda: events == ["begin 5", "end 5", "begin 6"], timeout=4000)
        bench.store.edit(set_vector_cell, 0, 0, 0.25)
        bench.settle()
        assert events == ["begin 5", "end 5", "begin 6", "end 6"]


def test_a_refusal_is_said_where_the_time_would_stand(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> UncachedStep:
        raise ValueError("too large")

    with monkeypatch.context() as patch:
        patch.setattr(uncached_module, "uncached_step", refuse)
        bench.panel.go_to(bench.n_given + 5)
        bench.rest()
    assert bench.shown() == "–" and "too large" in bench.why()


def test_an_edit_that_is_taken_back_during_the_pass_does_not_end_the_wait(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released = threading.Event(), threading.Event()

    def slow(decoding: Any, index: int, check: Any, *rest: Any) -> UncachedStep:
        begun.set()
        released.wait(8)
        check()
        return bench.counted(decoding, index, check, *rest)

    decoding = bench.decoding
    monkeypatch.setattr(uncached_module, "uncached_step", slow)
    bench.panel.go_to(bench.n_given + 5)
    bench.qtbot.waitUntil(begun.is_set, timeout=8000)
    bench.store.edit(set_vector_cell, 0, 0, 5.0)
    bench.store.undo()
    bench.qtbot.wait(30)
    released.set()
    bench.qtbot.waitUntil(lambda: bench.steps[-1:] == [bench.n_given + 5], timeout=8000)
    bench.qtbot.waitUntil(lambda: bench.shown() not in ("–", "…"), timeout=8000)
    assert bench.decoding is decoding
