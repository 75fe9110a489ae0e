"""The bench: what it measures does the same work, its arithmetic, and what it says without torch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from attnviz import bench
from attnviz.bench import engines, report, window
from attnviz.bench.cases import PROJECTIONS, SIZES, experiment
from attnviz.bench.floor import floor
from attnviz.bench.plain_torch import plain_torch
from attnviz.bench.timing import interleaved, paired_ratio, percentile
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run


@pytest.mark.parametrize("projections", PROJECTIONS)
def test_plain_torch_yields_the_engines_numbers(projections: str) -> None:
    given = experiment(SIZES[0], projections)
    scores, weights, output = plain_torch(SIZES[0], *engines._arrays(given))(1)
    trace = run(NumpyEngine("float32"), given)
    for stage, array in (("scores", scores), ("weights", weights), ("attention_output", output)):
        np.testing.assert_allclose(trace[stage], array.numpy(), rtol=2e-5, atol=2e-6)


def test_the_floor_multiplies_what_the_engine_multiplies() -> None:
    given = experiment(SIZES[0], "seeded")
    x, matrices = engines._arrays(given)
    raised, output = floor(SIZES[0], x, matrices)()
    assert matrices is not None
    q, k, v = ((0.1 * x.astype(np.float64)) @ matrix for matrix in matrices[:3])
    n, width = x.shape
    apart = [rows.reshape(n, SIZES[0].heads, -1).transpose(1, 0, 2) for rows in (q, k, v)]
    expected = np.exp(apart[0] @ apart[1].transpose(0, 2, 1))
    np.testing.assert_allclose(raised, expected, rtol=1e-4)
    mixed = (expected @ apart[2]).transpose(1, 0, 2).reshape(n, width)
    np.testing.assert_allclose(output, mixed @ matrices[3], rtol=1e-3, atol=1e-4)


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


def test_json_holds_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(json=True, quick=True, window=False) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["window"] is None
    cases = found["engines"]["cases"]
    assert [(c["n"], c["projections"]) for c in cases] == [
        (n, name) for name in ("identity", "seeded") for n in (16, 128)
    ]
    for case in cases:
        assert {"numpy", "torch", "plain_torch", "floor"} <= set(case["seconds"])
        assert all(len(values) >= 3 and min(values) > 0 for values in case["seconds"].values())
        assert case["difference"] < 1e-5
        expected = paired_ratio(case["seconds"]["numpy"], case["seconds"]["floor"])
        assert case["ratios"]["numpy"]["floor"] == pytest.approx(expected)


def test_without_torch_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engines, "_torch_missing", lambda: "PyTorch is not installed")
    assert bench.main(quick=True, window=False) == 0
    said = capsys.readouterr().out
    assert "PyTorch is not installed" in said
    assert "NumPy / floor" in said and "NumPy / plain 0" not in said


def test_the_window_is_timed_from_edit_to_paint() -> None:
    found = window.measure_window(quick=True)
    assert "failed" not in found, found
    (case,) = found["edits"]
    assert len(case["seconds"]) == window.QUICK_EDITS
    for whole, to_trace in zip(case["seconds"], case["seconds_to_trace"], strict=True):
        assert 0 < to_trace < whole < 5
    frame = found["first_frame"]
    assert frame["imported"] == []  # neither torch nor matplotlib before the first frame
    assert frame["ratio"] > 0 and min(frame["seconds"]["empty"]) > 0.05
    assert report._window(found)[0].startswith("WINDOW")


def test_a_window_that_cannot_open_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "no-such-platform")
    found = window.measure_window(quick=True)
    assert found.keys() == {"failed"} and found["failed"]
    assert "not measured" in report._window(found)[0]
