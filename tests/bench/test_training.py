"""The bench of training: all contenders take the same steps, and the table says what was measured."""

from __future__ import annotations

import json

import numpy as np
import pytest

from attnviz.bench.timing import paired_ratio
from attnviz.bench.training import bench, report
from attnviz.bench.training.case import model
from attnviz.bench.training.plain_numpy import PlainNumpy
from attnviz.bench.training.plain_torch import PlainTorch
from attnviz.training.batch import Batch, next_tokens
from attnviz.training.optimiser import Optimiser

SHAPE = bench.QUICK_SHAPE
CONTENDERS = {"numpy", "torch", "plain_numpy", "plain_torch"}


def batch_of(engine: str) -> Batch:
    return Batch(bench._engine(engine, "float64"), model(SHAPE, "float64"), SHAPE.n)


def sequences() -> tuple[np.ndarray, np.ndarray]:
    """Every third position is not asked about."""
    ids, _targets = bench._sequences(SHAPE, 3)
    counted = np.ones(ids.shape, dtype=bool)
    counted[:, ::3] = False
    return ids, next_tokens(ids, counted)


def test_the_plain_gradients_are_finite_differences() -> None:
    plain, (ids, targets) = PlainNumpy(SHAPE, batch_of("numpy").parameters()), sequences()
    gradients = plain.loss_and_gradients(ids, targets)[1]
    assert set(gradients) == set(plain.parameters)
    for name, gradient in gradients.items():
        numbers, values, h = plain.parameters[name], [], 1e-5
        at = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
        old = numbers[at]
        for sign in (1, -1):
            numbers[at] = old + sign * h
            values.append(plain.loss_and_gradients(ids, targets)[0])
        numbers[at] = old
        assert gradient[at] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6), name


def test_all_contenders_take_the_same_steps() -> None:
    ids, targets = sequences()
    losses: dict[str, list[float]] = {}
    for engine in ("numpy", "torch"):
        batch = batch_of(engine)
        parameters = batch.parameters()
        optimiser, found = Optimiser(batch.engine, bench.SETTINGS, parameters), []
        for _step in range(5):
            made = batch.loss_and_gradients(parameters, ids, targets)
            optimiser.step(parameters, made.gradients)
            found.append(made.loss)
        losses[engine] = found
    given = batch_of("numpy").parameters()
    for name, plain in (("plain torch", PlainTorch(SHAPE, given)), ("plain NumPy", PlainNumpy(SHAPE, given))):
        losses[name] = [plain.step(ids, targets) for _step in range(5)]
    for name, found in losses.items():
        assert found == pytest.approx(losses["numpy"], rel=1e-7), name
    assert losses["numpy"][-1] < losses["numpy"][0]


def test_json_holds_every_time_and_the_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(json=True, quick=True) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["format"], made["version"]) == ("attnviz-bench-train", 1)
    found = made["train"]
    assert set(found["differences"]) == {"numpy", "plain_torch"}
    assert all(0 < one < 1e-12 for one in found["differences"].values())
    assert [case["batch"] for case in found["cases"]] == list(bench.QUICK_BATCHES)
    for case in found["cases"]:
        seconds = case["seconds"]
        assert set(seconds) == CONTENDERS
        for name, times in seconds.items():
            assert bench.QUICK_ROUNDS[0] <= len(times) <= bench.QUICK_ROUNDS[1]
            assert case["median"][name] == pytest.approx(np.median(times))
        for one in case["ratios"]:
            assert one["ratio"] == paired_ratio(seconds[one["ours"]], seconds[one["theirs"]])
        assert {(one["ours"], one["theirs"]) for one in case["ratios"]} > set(report.WANTED)


def test_the_table_judges_what_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    measured = bench.measure_training(quick=True)
    for case, ours, plain in zip(measured["cases"], (1.04, 1.43), (0.9, 1.38), strict=True):
        for one in case["ratios"]:
            one["ratio"] = {"numpy": ours, "plain_numpy": plain, "torch": 1.1}[one["ours"]]
    report.print_training_report({"machine": bench.machine(), "train": measured})
    said = capsys.readouterr().out
    assert "2: NumPy / plain NumPy 1.04 PASS (≤ 1.3)" in said
    assert "3: NumPy / plain NumPy 1.43 over by 10 % (≤ 1.3)" in said
    assert "2: plain NumPy / plain torch 0.90 PASS (≤ 1.15)" in said
    assert "3: plain NumPy / plain torch 1.38 over by 20 % (≤ 1.15)" in said
    assert "2: Torch / plain torch 1.10\n" in said
    assert said.count("gradients in float64 differ by") == 2


def test_without_torch_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench.engines, "torch_missing", lambda: "PyTorch is not installed")
    assert bench.main(quick=True) == 0
    said = capsys.readouterr().out
    assert "Torch is not measured: PyTorch is not installed\n" in said
    assert "NumPy / plain NumPy" in said and "plain torch" not in said
