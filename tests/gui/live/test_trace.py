"""The live loop: few runs for many edits, the last one wins, errors are sentences and the next edit works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest
from first_layer import change
from pointer import Log
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.compute.scheduler import JobExit, Scheduler
from attnviz.core.color_maps import Kind, color_table
from attnviz.engines.engine import EngineError
from attnviz.engines.table import ENGINES
from attnviz.gui.bridge import Bridge
from attnviz.gui.live import trace as live_module
from attnviz.gui.live.trace import PATIENCE_SECONDS, Live
from attnviz.gui.store import Store
from attnviz.model.edit import edits
from attnviz.model.edit.generation import set_seed
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.parts import ExplicitVectors


class Bench:
    """A store, a scheduler with a real thread, and a live loop; `runs` counts what is computed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, inline: bool) -> None:
        self.store = Store(load_preset("toy-attention"))
        self.bridge = Bridge()
        self.scheduler = Scheduler(self.bridge.post, inline=inline)
        self.live = Live(self.store, self.scheduler)
        self.log = Log(self.live, "failed", "noticed")
        self.engines = Log(self.store, "engine_chosen")
        self.runs = 0
        self.execute = live_module.execute
        monkeypatch.setattr(live_module, "execute", self._execute)
        self.before: Any = lambda check: None

    def _execute(self, experiment: Any, engine: str, device: str, **named: Any) -> Any:
        self.runs += 1
        self.before(named["check"])
        return self.execute(experiment, engine, device, **named)

    def settled(self) -> bool:
        trace = self.store.trace
        return trace is not None and trace.experiment == self.store.experiment


@pytest.fixture(params=[False, True], ids=["thread", "inline"])
def bench(request: pytest.FixtureRequest, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(monkeypatch, request.param)
    made.live.run_now()
    qtbot.waitUntil(made.settled)
    yield made
    made.bridge.close()
    assert made.scheduler.close(2.0)


def test_fifty_quick_edits_end_in_the_last_numbers_after_few_runs(bench: Bench, qtbot: QtBot) -> None:
    bench.runs = 0
    for step in range(50):
        bench.store.edit(edits.set_vector_cell, 0, 0, float(step))
    qtbot.waitUntil(bench.settled)
    assert bench.runs <= 3
    assert bench.store.trace is not None
    np.testing.assert_array_equal(
        bench.store.trace["weights"], attnviz.run(bench.store.experiment)["weights"]
    )


def test_how_it_is_written_on_runs_nothing_and_all_else_does(bench: Bench, qtbot: QtBot) -> None:
    bench.runs, before = 0, bench.store.trace
    assert before is not None
    bench.store.edit(set_seed, 5)
    qtbot.waitUntil(bench.settled)
    trace = bench.store.trace
    assert bench.runs == 0 and trace is not None and trace is not before
    np.testing.assert_array_equal(trace["weights"], before["weights"])
    bench.store.edit(set_seed, 6)
    bench.store.edit(edits.set_vector_cell, 0, 0, 3.0)
    qtbot.waitUntil(bench.settled)
    assert bench.runs == 1
    bench.live.run_now()  # as another engine does
    qtbot.waitUntil(lambda: bench.runs == 2)


def test_a_look_runs_nothing(bench: Bench, qtbot: QtBot) -> None:
    bench.runs = 0
    bench.store.look(stage="scores", locked=None)
    qtbot.wait(30)
    assert bench.runs == 0


def test_the_worker_reads_the_colour_maps_before_the_window_paints(bench: Bench, qtbot: QtBot) -> None:
    color_table.cache_clear()
    change(bench.store, temperature=2.0)
    qtbot.waitUntil(bench.settled)
    assert color_table.cache_info().currsize == 2 * len(get_args(Kind))


@pytest.mark.parametrize("kind", [EngineError, ValueError, MemoryError, OSError])
def test_an_expected_error_is_one_sentence_and_the_next_edit_works(
    bench: Bench, qtbot: QtBot, kind: type[Exception]
) -> None:
    def fail(check: Any) -> None:
        raise kind("the sentence")

    bench.before = fail
    before = bench.store.trace
    change(bench.store, temperature=2.0)
    qtbot.waitUntil(lambda: list(map(str, bench.log.values("failed"))) == ["the sentence"])
    assert bench.store.trace is before  # the last right numbers stay
    assert not bench.live._late.isActive()
    bench.before = lambda check: None
    change(bench.store, temperature=3.0)
    qtbot.waitUntil(bench.settled)
    assert len(bench.log.values("failed")) == 1


def test_what_fails_unexpectedly_reaches_the_error_hook_and_the_next_edit_works(
    bench: Bench, qtbot: QtBot
) -> None:
    def fail(check: Any) -> None:
        raise TypeError("nobody thought of this")

    bench.before = fail
    with qtbot.captureExceptions() as caught:
        for count, temperature in enumerate((2.0, 2.5), start=1):
            change(bench.store, temperature=temperature)
            qtbot.waitUntil(lambda count=count: len(caught) == count)
    assert caught[0][0] is TypeError
    says = "Something went wrong: TypeError: nobody thought of this"
    assert list(map(str, bench.log.values("failed"))) == [
        says,
        says,
    ]  # each time: the numbers shown are those before
    bench.before = lambda check: None
    change(bench.store, temperature=3.0)
    qtbot.waitUntil(bench.settled)
    assert len(bench.log.values("failed")) == 2


FAULTS: list[tuple[BaseException, str, type[BaseException] | None]] = [
    (MemoryError(), "Not enough memory is free.", None),
    (ValueError(""), "Something went wrong: ValueError", ValueError),
    (RuntimeError("boom"), "Something went wrong: RuntimeError: boom", RuntimeError),
    (KeyError("q"), "Something went wrong: KeyError: 'q'", KeyError),
    (SystemExit(3), "Something went wrong: JobExit: sys.exit(3)", JobExit),
]


@pytest.mark.parametrize(("error", "says", "logged"), FAULTS, ids=[repr(fault[0]) for fault in FAULTS])
def test_every_failure_is_a_sentence_and_a_fault_reaches_the_log(
    bench: Bench,
    qtbot: QtBot,
    error: BaseException,
    says: str,
    logged: type[BaseException] | None,
) -> None:
    def fail(check: Any) -> None:
        raise error

    bench.before = fail
    with qtbot.captureExceptions() as caught:
        change(bench.store, temperature=2.0)
        qtbot.waitUntil(lambda: list(map(str, bench.log.values("failed"))) == [says])
        qtbot.waitUntil(lambda: len(caught) == (logged is not None))
    assert [kind for kind, _error, _where in caught] == ([] if logged is None else [logged])


def test_a_young_run_is_shown_before_the_next_starts(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, inline=False)
    shown = Log(bench.store, "traced")
    go_on = threading.Event()
    monkeypatch.setattr(live_module, "PATIENCE_SECONDS", 60.0)  # young, however slow the machine is
    bench.before = lambda check: go_on.wait(60) and None
    bench.live.run_now()
    qtbot.waitUntil(lambda: bench.runs == 1)
    for temperature in (2.0, 3.0):
        change(bench.store, temperature=temperature)
        qtbot.wait(15)
    go_on.set()
    qtbot.waitUntil(bench.settled)
    temperatures = [trace.experiment.layers[0].temperature for trace in shown.values("traced")]  # type: ignore[attr-defined]
    assert temperatures == [1.0, 3.0] and bench.runs == 2
    bench.bridge.close()
    assert bench.scheduler.close(2.0)


def test_a_run_that_takes_long_is_cancelled_for_a_newer_one(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(monkeypatch, inline=False)
    cancelled: list[bool] = []
    never = threading.Event()

    def slow(check: Any) -> None:
        if bench.store.experiment.layers[0].temperature == 1.0:
            try:
                while not never.wait(0.005):
                    check()
            except BaseException:
                cancelled.append(True)
                raise

    bench.before = slow
    bench.live.run_now()
    qtbot.waitUntil(lambda: bench.runs == 1)
    qtbot.wait(round(1000 * PATIENCE_SECONDS) + 50)
    change(bench.store, temperature=2.0)
    qtbot.waitUntil(bench.settled)
    assert cancelled == [True]
    assert bench.log.values("failed") == []
    bench.bridge.close()
    assert bench.scheduler.close(2.0)


def test_another_engine_is_run_at_once_and_told(bench: Bench, qtbot: QtBot) -> None:
    bench.runs = 0
    bench.store.choose_engine("numpy", "cpu")
    assert bench.engines.values("engine_chosen") == [("numpy", "cpu")]
    qtbot.waitUntil(lambda: bench.runs == 1)


def test_an_engine_chosen_during_a_run_computes_the_same_document_after_it(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")  # its first import takes longer than the wait
    bench = Bench(monkeypatch, inline=False)
    go_on = threading.Event()
    monkeypatch.setattr(live_module, "PATIENCE_SECONDS", 60.0)  # young, however slow the machine is
    bench.before = lambda check: go_on.wait(60) and None
    bench.live.run_now()
    qtbot.waitUntil(lambda: bench.runs == 1)
    bench.store.choose_engine("torch", "cpu")
    go_on.set()
    qtbot.waitUntil(lambda: bench.settled() and bench.store.trace.engine == "torch")
    assert bench.runs == 2
    bench.bridge.close()
    assert bench.scheduler.close(2.0)


def test_an_engine_that_does_not_exist_is_a_sentence(bench: Bench, qtbot: QtBot) -> None:
    bench.store.choose_engine("abacus", "auto")
    qtbot.waitUntil(lambda: len(bench.log.values("failed")) == 1)
    assert "abacus" in str(bench.log.values("failed")[0])


def test_a_device_that_the_engine_lacks_gives_way_to_its_own_choice(bench: Bench, qtbot: QtBot) -> None:
    for engine in ENGINES:
        for device in ("auto", "cpu", "cuda", "quantum"):
            bench.store.choose_engine(engine.id, device)
            expected = device if engine.is_device(device) else "auto"
            assert bench.engines.values("engine_chosen")[-1] == (engine.id, expected)
    bench.store.choose_engine("numpy", "cuda")
    bench.store.edit(edits.set_vector_cell, 0, 0, 0.125)
    qtbot.waitUntil(bench.settled)
    assert bench.log.values("failed") == [] and bench.store.trace.engine == "numpy"


def test_a_notice_is_said_once_until_it_is_another_one(bench: Bench, qtbot: QtBot) -> None:
    huge = ExplicitVectors(np.full((bench.store.experiment.n_queries, bench.store.experiment.d_model), 1e30))
    change(bench.store, vectors=huge, dtype="float32")
    qtbot.waitUntil(bench.settled)
    change(bench.store, temperature=2.0)
    qtbot.waitUntil(bench.settled)
    said = bench.log.values("noticed")
    assert len(said) == 1 and str(said[0]).startswith("Numbers exceed the range of float32")
