"""Causal attention on one thread beside eager torch, and all threads beside a program that occupies a core.

Torch applies the causal mask in the usual way: scores, scaled, filled with -inf at later keys.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from attnviz.bench import engines
from attnviz.bench.cases import SIZES, Size, experiment
from attnviz.bench.engines import PLAIN, arrays
from attnviz.bench.timing import interleaved, paired_ratio
from attnviz.compute.execute import execute
from attnviz.compute.threads import available_cores
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal

SECONDS, ROUNDS = 4.0, (9, 400)
QUICK_SECONDS, QUICK_ROUNDS = 0.1, (3, 5)

ONE, ALL = "one_thread", "all_threads"


def measure_causal(quick: bool) -> dict[str, Any]:
    """Times and ratios of every size, with seeded projections."""
    missing = engines.torch_missing()
    sizes = SIZES[:2] if quick else SIZES
    return {"torch_missing": missing, "cases": [_case(size, not missing, quick) for size in sizes]}


def _case(size: Size, has_torch: bool, quick: bool) -> dict[str, Any]:
    given = experiment(size, "seeded", masks=(Causal(),))
    limits = (QUICK_SECONDS, QUICK_ROUNDS) if quick else (SECONDS, ROUNDS)
    times = interleaved(_contenders(size, given, has_torch), *limits)
    with busy_core():
        beside = interleaved({ONE: on_threads(given, 1), ALL: on_threads(given, available_cores())}, *limits)
    measured = [name for name in times if name in ENGINE_BY_ID]
    return {
        "n": size.n,
        "heads": size.heads,
        "d_head": size.d_head,
        "median": {name: statistics.median(values) for name, values in times.items()},
        "ratios": {
            name: {PLAIN: paired_ratio(times[name], times[PLAIN])} for name in measured if PLAIN in times
        },
        "busy": paired_ratio(beside[ALL], beside[ONE]),
        "seconds": times,
        "seconds_beside": beside,
    }


def on_threads(given: Experiment, threads: int, engine: str = "numpy") -> Callable[[], Any]:
    """A call of the engine's run on at most `threads` threads."""
    return partial(execute, given, engine, "cpu", reserve=available_cores() - threads)


def _contenders(size: Size, given: Experiment, has_torch: bool) -> dict[str, Callable[[], Any]]:
    contenders: dict[str, Callable[[], Any]] = {"numpy": on_threads(given, 1)}
    if has_torch:
        from attnviz.bench.plain_torch import plain_torch

        contenders["torch"] = on_threads(given, 1, "torch")
        contenders[PLAIN] = partial(plain_torch(size, *arrays(given), is_causal=True), 1)
    return contenders


@contextmanager
def busy_core() -> Iterator[None]:
    """Run a program that occupies as much of one core as it can, inside the context."""
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        program.kill()
        program.wait()
