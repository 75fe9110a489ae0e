"""Budget before work, threads by size, and NumPy where Torch or CUDA fails: never a wrong number."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest
from cases import MEMORY, experiment

from attnviz.compute import execute as module
from attnviz.compute.budget import BudgetError
from attnviz.compute.execute import estimate, estimate_decoding, execute, execute_decoding
from attnviz.engines.engine import EngineError
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.model import parts as p
from attnviz.model.experiment import Experiment

BIG = Experiment(("a",) * 512, p.SeededVectors(512, 64), heads=p.Heads(8, 8, 64), masks=(p.Causal(),))


class FailingEngine(NumpyEngine):
    """Stands for a CUDA device that gives up at some point of a run."""

    name = "torch"
    device = "cuda:0"

    def __init__(self, fails_in: str) -> None:
        super().__init__("float32")
        self.fails_in = fails_in

    def softmax_(self, scores: Any, is_bounded: bool = False) -> None:
        if self.fails_in == "softmax_":
            raise EngineError("out of memory on cuda:0")
        super().softmax_(scores, is_bounded)

    def synchronise(self) -> None:
        raise EngineError("cuda:0 failed: device lost")


def fake_torch(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    kind = dataclasses.replace(ENGINE_BY_ID["torch"], make=lambda dtype, device, for_each: make())
    monkeypatch.setitem(ENGINE_BY_ID, "torch", kind)


def missing() -> Any:
    raise EngineError("PyTorch is not installed")


# --- fallback --------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:1"])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (missing, "PyTorch is not installed"),
        (lambda: FailingEngine("softmax_"), "out of memory on cuda:0"),
        (lambda: FailingEngine("synchronise"), "cuda:0 failed: device lost"),
    ],
)
def test_numpy_takes_over_and_says_so(
    monkeypatch: pytest.MonkeyPatch, make: Any, reason: str, device: str
) -> None:
    fake_torch(monkeypatch, make)
    given = experiment("all", dtype="float32")
    trace = execute(given, "torch", device)
    assert (trace.engine, trace.device) == ("numpy", "cpu")
    assert trace.notices == (f"Torch cannot be used ({reason}): computed with NumPy.",)
    expected = run(NumpyEngine("float32"), given)
    for stage in expected.only.stages:
        np.testing.assert_array_equal(trace[stage], expected[stage])
    decoding = execute_decoding(given, 9, "torch", device)
    assert (decoding.engine, decoding.notices) == ("numpy", trace.notices)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_taken_over_in_float32(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    fake_torch(monkeypatch, missing)
    trace = execute(experiment(dtype=dtype), "torch")
    assert trace["weights"].dtype == np.float32
    assert trace.experiment.dtype == dtype
    assert trace.notices[0].endswith(f"computed with NumPy, in float32 instead of {dtype}.")


def test_nothing_takes_over_where_the_cpu_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch, missing)
    with pytest.raises(EngineError, match="PyTorch is not installed"):
        execute(experiment(), "torch", "cpu")


def test_other_errors_are_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Buggy(FailingEngine):
        def synchronise(self) -> None:
            raise RuntimeError("a bug")

    fake_torch(monkeypatch, lambda: Buggy("synchronise"))
    with pytest.raises(RuntimeError, match="a bug"):
        execute(experiment(dtype="float32"), "torch")


def test_torch_without_trouble_has_no_notice() -> None:
    pytest.importorskip("torch")
    trace = execute(experiment(dtype="bfloat16"), "torch", "cpu")
    assert (trace.engine, trace.device, trace.notices) == ("torch", "cpu", ())


# --- what is not legal -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "dtype", "message"),
    [
        (("jax",), "float32", "engine is 'jax'; legal is one of numpy, torch"),
        (("numpy", "cuda"), "float32", "device is 'cuda'; legal on NumPy is one of auto, cpu"),
        (("torch", "gpu"), "float32", "device is 'gpu'; legal on Torch is one of auto, cpu, cuda"),
        (("numpy",), "float16", "dtype is 'float16'; legal on NumPy is one of float32, float64"),
        (("numpy",), "bfloat16", "dtype is 'bfloat16'; legal on NumPy is one of float32, float64"),
    ],
)
def test_illegal_choices(arguments: tuple[str, ...], dtype: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        execute(experiment(dtype=dtype), *arguments)


# --- budget ----------------------------------------------------------------------------------------


def test_the_estimate_covers_what_a_run_keeps() -> None:
    given = experiment("causal", "none", heads="gqa")
    trace = run(NumpyEngine("float64"), given)
    kept = sum(trace[stage].nbytes for stage in ("weights", "q", "k", "v", "mixed"))
    size = estimate(given, 8)
    # Besides those: input and output rows, 7·8 float64 numbers each, and two mask bytes for each cell.
    assert size.bytes == kept + 2 * 7 * 8 * 8 + 2 * 7 * 7


def test_nothing_is_allocated_past_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("computed without a budget")

    size = estimate(experiment(), 8)
    assert execute(experiment(), budget=2 * size.bytes)["weights"].shape == (4, 7, 7)
    monkeypatch.setattr(NumpyEngine, "empty", never)
    monkeypatch.setattr(NumpyEngine, "asarray", never)
    with pytest.raises(BudgetError, match="more than half"):
        execute(experiment(), budget=2 * size.bytes - 1)
    steps = estimate_decoding(experiment(), 50, 8)
    with pytest.raises(BudgetError, match="4 heads × 50 queries × 50 keys × 8 bytes"):
        execute_decoding(experiment(), 50, budget=2 * steps.bytes - 1)


def test_a_huge_map_is_refused_with_the_arithmetic() -> None:
    given = Experiment(("a",) * 300_000, p.SeededVectors(300_000, 2))
    with pytest.raises(BudgetError, match="1 heads × 300000 queries × 300000 keys × 4 bytes = 335.3 GiB"):
        execute(given, budget=2**35)


def test_numpy_takes_over_within_the_budget_only(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch, lambda: FailingEngine("synchronise"))
    with pytest.raises(BudgetError):
        execute(experiment(dtype="float32"), "torch", "cuda", budget=100)


def test_decoding_a_memory_counts_its_keys() -> None:
    size = estimate_decoding(experiment("none", memory=MEMORY), 50, 8)
    assert size.lines[0].value == 4 * 50 * 5 * 8


# --- threads ---------------------------------------------------------------------------------------


def threads_of(given: Experiment, monkeypatch: pytest.MonkeyPatch, cores: int) -> tuple[set[int], Any]:
    """The threads that did blocks of a run, and the trace."""
    monkeypatch.setattr(module, "available_cores", lambda: cores)
    seen: set[int] = set()
    plain = NumpyEngine.softmax_

    def softmax_(self: NumpyEngine, scores: Any, is_bounded: bool = False) -> None:
        seen.add(threading.get_ident())
        plain(self, scores, is_bounded)

    with monkeypatch.context() as patch:
        patch.setattr(NumpyEngine, "softmax_", softmax_)
        trace = execute(given)
    return seen, trace


def test_small_jobs_stay_on_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    assert threads_of(experiment(), monkeypatch, cores=8)[0] == {threading.get_ident()}


def test_big_jobs_are_spread_and_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, expected = threads_of(BIG, monkeypatch, cores=1)
    assert alone == {threading.get_ident()}
    spread, trace = threads_of(BIG, monkeypatch, cores=4)
    assert len(spread) > 1
    np.testing.assert_array_equal(trace["weights"], expected["weights"])
    np.testing.assert_array_equal(trace["attention_output"], expected["attention_output"])


def test_a_check_that_stops_a_spread_run() -> None:
    calls = []

    def stop_in_the_blocks() -> None:
        calls.append(1)
        if len(calls) > 4:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        execute(BIG, check=stop_in_the_blocks)
    assert len(calls) < 30


def test_a_decoding_of_many_small_steps_stays_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    plain = module.limited_threads

    def limited(n: int, setters: Any = ()) -> Any:
        limits.append(n)
        return plain(n, setters)

    monkeypatch.setattr(module, "available_cores", lambda: 8)
    monkeypatch.setattr(module, "limited_threads", limited)
    long = Experiment(tuple(map(str, range(64))), p.SeededVectors(64, 512), heads=p.Heads(8, 8, 64))
    assert estimate_decoding(long, 64, 4).flops > 10**8
    execute_decoding(long)
    assert limits == [1]
