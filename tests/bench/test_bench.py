"""The bench: what it measures does the same work, its arithmetic, and what it says without torch."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import numpy as np
import pytest
from first_layer import with_fields

import attnviz
from attnviz import bench
from attnviz.bench import causal, engines, report, window
from attnviz.bench.cases import PROJECTIONS, SIZES, WANTED_BUSY, WANTED_CAUSAL, Size, experiment
from attnviz.bench.engines import floor
from attnviz.bench.plain_torch import plain_torch
from attnviz.bench.timing import interleaved, paired_ratio, percentile
from attnviz.compute import execute as execute_module
from attnviz.compute.threads import available_cores
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.model.spec.parts import Causal


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """The JSON of one quick run without a window: each run takes ten seconds."""
    with pytest.MonkeyPatch.context() as patch, io.StringIO() as said:
        patch.setattr("sys.stdout", said)
        assert bench.main(json=True, quick=True, window=False) == 0
        report: dict[str, Any] = json.loads(said.getvalue())
    return report


@pytest.mark.parametrize("projections", PROJECTIONS)
def test_plain_torch_yields_the_engines_numbers(projections: str) -> None:
    given = experiment(SIZES[0], projections)
    scores, weights, output = plain_torch(SIZES[0], *engines.arrays(given))(1)
    trace = run(NumpyEngine("float32"), given)
    for stage, array in (("scores", scores), ("weights", weights), ("attention_output", output)):
        np.testing.assert_allclose(trace[stage], array.numpy(), rtol=2e-5, atol=2e-6)


def test_the_floor_multiplies_what_the_engine_multiplies() -> None:
    given = experiment(SIZES[0], "seeded")
    x, matrices = engines.arrays(given)
    raised, output = floor(SIZES[0], x, matrices)()
    assert matrices is not None
    q, k, v = ((0.1 * x.astype(np.float64)) @ matrix for matrix in matrices[:3])
    n, width = x.shape
    apart = [rows.reshape(n, SIZES[0].heads, -1).transpose(1, 0, 2) for rows in (q, k, v)]
    expected = np.exp(apart[0] @ apart[1].transpose(0, 2, 1))
    np.testing.assert_allclose(raised, expected, rtol=1e-4)
    mixed = (expected @ apart[2]).transpose(1, 0, 2).reshape(n, width)
    np.testing.assert_allclose(output, mixed @ matrices[3], rtol=1e-3, atol=1e-4)


def test_causal_contenders_yield_the_same_numbers() -> None:
    size = SIZES[0]
    given = with_fields(experiment(size, "seeded"), masks=(Causal(),))
    _scores, weights, output = plain_torch(size, *engines.arrays(given), is_causal=True)(1)
    for engine in ("numpy", "torch"):
        trace = causal.on_threads(given, 1, engine)()
        np.testing.assert_allclose(trace["weights"], weights.numpy(), rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(trace["attention_output"], output.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("size", SIZES[1:3], ids=lambda size: size.text)
def test_threads_do_not_spin(size: Size) -> None:
    """Beside a busy core, all threads together take the processor time of one: nobody waits in a loop.

    Processor time, because the time on the clock depends on what else the machine does.
    """
    given = with_fields(experiment(size, "seeded"), masks=(Causal(),))
    taken: dict[int, list[float]] = {1: [], available_cores(): []}
    with causal.busy_core():
        for _round in range(12):
            for threads, times in taken.items():
                started = time.process_time()
                causal.on_threads(given, threads)()
                times.append(time.process_time() - started)
    assert min(taken[available_cores()]) <= WANTED_BUSY * min(taken[1])


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: size.text)
def test_what_takes_milliseconds_is_not_handed_over(monkeypatch: pytest.MonkeyPatch, size: Size) -> None:
    def never(*arguments: Any) -> None:
        raise AssertionError("handed to other threads")

    monkeypatch.setattr(execute_module, "parallel_map", never)
    monkeypatch.setattr(execute_module, "available_cores", lambda: 16)
    execute_module.execute(experiment(size, "seeded"))


def test_contenders_take_turns() -> None:
    calls: list[str] = []
    times = interleaved({name: lambda name=name: calls.append(name) for name in "abc"}, 0.0, (20, 20))
    rounds = [tuple(calls[i : i + 3]) for i in range(len(calls) - 60, len(calls), 3)]
    assert {tuple(sorted(one)) for one in rounds} == {("a", "b", "c")}
    assert len(set(rounds)) > 3  # nobody always comes after the same one
    assert {name: len(values) for name, values in times.items()} == {"a": 20, "b": 20, "c": 20}


def test_ratios_are_paired_and_percentiles_are_values() -> None:
    assert paired_ratio([1.0, 20.0, 3.0], [2.0, 10.0, 1.0]) == 2.0  # unpaired medians would say 3 / 2
    assert percentile([float(i) for i in range(1, 101)], 0.95) == 95.0
    assert percentile([7.0], 0.5) == 7.0


def test_tables_are_aligned_where_characters_are_wide() -> None:
    rows = [("", "有缓存", "p50"), ("NumPy", "1.0 (2.0)", "3"), ("朴素", "—", "12345")]
    assert report.aligned(rows) == [
        "          有缓存    p50",
        "NumPy  1.0 (2.0)      3",
        "朴素           —  12345",
    ]


@pytest.mark.parametrize(("value", "begins"), [(1.0, "PASS"), (1.2, "over by 20 %")])
def test_verdicts(value: float, begins: str) -> None:
    assert report.verdict(value, 1.0).startswith(begins)


def test_json_holds_every_time(measured: dict[str, Any]) -> None:
    assert measured["window"] is None and measured["machine"]["attnviz"] == attnviz.__version__
    cases = measured["engines"]["cases"]
    assert [(c["n"], c["projections"]) for c in cases] == [
        (n, name) for name in ("identity", "seeded") for n in (16, 128)
    ]
    for case in cases:
        assert {"numpy", "torch", "plain_torch", "floor"} <= set(case["seconds"])
        assert all(len(values) >= 3 and min(values) > 0 for values in case["seconds"].values())
        assert case["difference"] < 1e-5
        expected = paired_ratio(case["seconds"]["numpy"], case["seconds"]["floor"])
        assert case["ratios"]["numpy"]["floor"] == pytest.approx(expected)


def test_the_report_judges_causal_runs(measured: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    report.print_report(measured)
    said = capsys.readouterr().out
    for size in SIZES[:2]:
        assert len([line for line in said.splitlines() if f"{size.text}: busy" in line]) == 1
        wanted = f"≤ {WANTED_CAUSAL[size]:g}"
        assert any(f"{size.text}: NumPy / plain" in line and wanted in line for line in said.splitlines())


def test_without_torch_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engines, "torch_missing", lambda: "PyTorch is not installed")
    assert bench.main(quick=True, window=False) == 0
    said = capsys.readouterr().out
    assert "PyTorch is not installed" in said
    assert "NumPy / floor" in said and "NumPy / plain 0" not in said


def test_the_window_is_timed_from_edit_to_paint() -> None:
    found = window.measure_window(quick=True)
    assert "failed" not in found, found
    workspaces = [row.id for row in WORKSPACES]
    assert [case["workspace"] for case in found["edits"]] == workspaces
    for case in found["edits"]:
        assert len(case["seconds"]) == len(case["cpu"]) == window.QUICK_EDITS
        for whole, to_trace in zip(case["seconds"], case["seconds_to_trace"], strict=True):
            assert 0 < to_trace < whole < 5
        assert 0 < case["parts"]["painting"] < max(case["cpu"]) < 1
    explore = next(case for case in found["edits"] if case["workspace"] == "explore")
    assert {"stage", "pipeline", "heads"} <= explore["parts"].keys()
    assert sorted(case["workspace"] for case in found["switches"]) == sorted(workspaces)
    for case in found["switches"]:
        assert 0 < case["most_cpu"] < 2 and 0 < case["most"] < 5
    start = found["start"]
    assert start["imported"] == []  # nor torch, matplotlib and pyqtgraph
    assert start["ratio"] > 0 and min(start["seconds"]["empty"]) > 0.05
    assert 0 < start["filled"]["cpu"] < 5 and 0 < start["filled"]["seconds"] < 20
    lines = report._window(found)
    assert lines[0].startswith("WINDOW") and any(line.startswith("Filled") for line in lines)
    assert all(any(id_ in line for line in lines) for id_ in workspaces)


def test_the_smaller_of_clock_and_cpu_time_is_judged() -> None:
    case = {"n": 128, "heads": 8, "d_head": 64, "workspace": "explore", "parts": {"stage": 0.001}}
    times = {"p50": 0.02, "p95": 0.02, "p95_cpu": 0.015, "p50_to_trace": 0.01}
    assert "PASS (≤ 16)" in report._edit_rows([{**case, **times}])[1]
    assert "over by 25 % (≤ 16)" in report._edit_rows([{**case, **times, "p95_cpu": 0.03}])[1]


def test_a_window_that_cannot_open_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "no-such-platform")
    found = window.measure_window(quick=True)
    assert found.keys() == {"failed"} and found["failed"]
    assert "not measured" in report._window(found)[0]


def test_gradients_are_timed_beside_their_pass(measured: dict[str, Any]) -> None:
    found = measured["gradients"]
    for case in found["cases"]:
        expected = paired_ratio(case["seconds"]["both"], case["seconds"]["pass"])
        assert case["ratio"] == pytest.approx(expected) and expected > 1
    lines = report._gradients(found)
    assert lines[0].startswith("GRADIENT") and any("numpy" in line and "≤ 3" in line for line in lines)
