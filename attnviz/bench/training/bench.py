"""`attnviz bench train`: a step over many sequences with AdamW, beside a plain one in NumPy and eager torch.

All contenders have the same weights, sequences and optimiser, clip their gradients, and use one thread. Their
gradients are compared in float64 first. Times are from one run, in turns.
"""

from __future__ import annotations

import json as json_
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench import engines
from attnviz.bench.machine import machine
from attnviz.bench.timing import interleaved, paired_ratio
from attnviz.bench.training.case import SETTINGS, Shape, model
from attnviz.bench.training.plain_numpy import PlainNumpy
from attnviz.compute.threads import limited_threads
from attnviz.engines.engine import Engine, Workers
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.training.batch import Batch, next_tokens
from attnviz.training.optimiser import Optimiser

Ints = NDArray[np.int64]

SHAPE, BATCHES = Shape(), (16, 64)
QUICK_SHAPE, QUICK_BATCHES = Shape(2, 2, 4, 16, 11, 9), (2, 3)
CHECKED = 2
"""Sequences over which the gradients are compared."""
SECONDS, ROUNDS = 15.0, (9, 400)
QUICK_SECONDS, QUICK_ROUNDS = 0.1, (2, 3)
SEED = 1

PLAIN_NUMPY, PLAIN_TORCH = "plain_numpy", "plain_torch"


def main(json: bool = False, quick: bool = False) -> int:
    """Measure training; print a table, or JSON with every single time. Returns the exit code.

    `quick` takes few steps of a small model, for tests.
    """
    from attnviz.bench.training.report import print_training_report

    report = {
        "format": "attnviz-bench-train",
        "version": 1,
        "machine": machine(),
        "train": measure_training(quick),
    }
    if json:
        print(json_.dumps(report, allow_nan=False))
    else:
        print_training_report(report)
    return 0


def measure_training(quick: bool) -> dict[str, Any]:
    """Times of a step for each batch, their ratios, and the differences of the gradients."""
    shape, batches = (QUICK_SHAPE, QUICK_BATCHES) if quick else (SHAPE, BATCHES)
    missing = engines.torch_missing()
    how_long = (QUICK_SECONDS, QUICK_ROUNDS) if quick else (SECONDS, ROUNDS)
    return {
        "layers": shape.layers,
        "d_model": shape.d_model,
        "heads": shape.heads,
        "d_hidden": shape.d_hidden,
        "vocabulary": shape.vocabulary,
        "n": shape.n,
        "torch_missing": missing,
        "differences": _differences(shape, not missing),
        "cases": [_case(shape, size, not missing, how_long) for size in batches],
    }


def _sequences(shape: Shape, size: int) -> tuple[Ints, Ints]:
    ids = np.random.default_rng(SEED).integers(0, shape.vocabulary, (size, shape.n))
    return ids, next_tokens(ids)


def _differences(shape: Shape, has_torch: bool) -> dict[str, float]:
    """The largest difference of a gradient in float64 to the plain one in NumPy, by contender."""
    ids, targets = _sequences(shape, CHECKED)
    batch = Batch(_engine("numpy", "float64"), model(shape, "float64"), shape.n)
    parameters = batch.parameters()
    expected = PlainNumpy(shape, parameters).loss_and_gradients(ids, targets)[1]
    found = {"numpy": batch.loss_and_gradients(parameters, ids, targets).gradients}
    if has_torch:
        from attnviz.bench.training.plain_torch import PlainTorch

        found[PLAIN_TORCH] = PlainTorch(shape, parameters).gradients(ids, targets)
    return {
        name: max(float(np.abs(one[key] - expected[key]).max()) for key in expected)
        for name, one in found.items()
    }


def _case(
    shape: Shape, size: int, has_torch: bool, how_long: tuple[float, tuple[int, int]]
) -> dict[str, Any]:
    ids, targets = _sequences(shape, size)
    steps: dict[str, Callable[[Ints, Ints], Any]] = {"numpy": _ours(shape, "numpy")}
    given = Batch(_engine("numpy"), model(shape), shape.n).parameters()
    steps[PLAIN_NUMPY] = PlainNumpy(shape, given).step
    with ExitStack() as one_thread:
        setters = []
        if has_torch:
            from attnviz.bench.training.plain_torch import PlainTorch

            plain = PlainTorch(shape, given)
            steps |= {"torch": _ours(shape, "torch"), PLAIN_TORCH: plain.step}
            setters.append(plain.thread_setter)
        one_thread.enter_context(limited_threads(1, setters))
        times = interleaved({name: partial(step, ids, targets) for name, step in steps.items()}, *how_long)
    pairs = [("numpy", PLAIN_NUMPY)]
    if has_torch:
        pairs += [(PLAIN_NUMPY, PLAIN_TORCH), ("numpy", PLAIN_TORCH), ("torch", PLAIN_TORCH)]
    return {
        "batch": size,
        "median": {name: statistics.median(values) for name, values in times.items()},
        "ratios": [
            {"ours": ours, "theirs": theirs, "ratio": paired_ratio(times[ours], times[theirs])}
            for ours, theirs in pairs
        ],
        "seconds": times,
    }


def _engine(name: str, dtype: str = "float32") -> Engine:
    return ENGINE_BY_ID[name].make(dtype, "cpu", Workers())


def _ours(shape: Shape, engine: str) -> Callable[[Ints, Ints], Any]:
    """A step of the document's own mechanism."""
    batch = Batch(_engine(engine), model(shape), shape.n)
    parameters = batch.parameters()
    optimiser = Optimiser(batch.engine, SETTINGS, parameters)

    def step(ids: Ints, targets: Ints) -> None:
        optimiser.step(parameters, batch.loss_and_gradients(parameters, ids, targets).gradients)

    return step
