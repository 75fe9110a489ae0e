"""A pass with its gradient beside the pass alone, on each engine: of one output by every stage.

The gradients by the matrices are computed when they are read, and timed apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from attnviz.bench import engines
from attnviz.bench.cases import SIZES, experiment
from attnviz.bench.timing import interleaved, paired_ratio
from attnviz.compute.execute import execute, execute_backward

SECONDS, ROUNDS = 4.0, (7, 400)
QUICK_SECONDS, QUICK_ROUNDS = 0.1, (3, 5)
TARGET = "attention_output[3, 4]"
PASS, BOTH, MATRICES = "pass", "both", "matrices"


def measure_gradients(quick: bool) -> dict[str, Any]:
    """Times of both and their ratio for each size and engine, with seeded projections."""
    names = ("numpy",) if engines.torch_missing() else ("numpy", "torch")
    sizes = SIZES[:1] if quick else SIZES[1:3]
    return {"cases": [_case(size, name, quick) for size in sizes for name in names]}


def _case(size: Any, engine: str, quick: bool) -> dict[str, Any]:
    given = experiment(size, "seeded")
    contenders: dict[str, Callable[[], Any]] = {
        PASS: partial(execute, given, engine, "cpu"),
        BOTH: partial(execute_backward, given, TARGET, engine, "cpu"),
        MATRICES: lambda: dict(execute_backward(given, TARGET, engine, "cpu")[1].parameters),
    }
    limits = (QUICK_SECONDS, QUICK_ROUNDS) if quick else (SECONDS, ROUNDS)
    times = interleaved(contenders, *limits)
    return {
        "n": size.n,
        "heads": size.heads,
        "d_head": size.d_head,
        "engine": engine,
        "median": {name: statistics.median(values) for name, values in times.items()},
        "ratio": paired_ratio(times[BOTH], times[PASS]),
        "ratio_with_matrices": paired_ratio(times[MATRICES], times[PASS]),
        "seconds": times,
    }
