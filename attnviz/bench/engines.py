"""Time of one experiment on each engine, beside plain torch and the floor.

An experiment is one call of the public `execute`: budget, choice of threads, projections, scores, softmax,
mixture, output, and the trace, which stores its weights. Raw scores are computed from q and k on demand,
which is not timed; plain torch stores them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench.cases import PROJECTIONS, SIZES, Size, experiment
from attnviz.bench.timing import interleaved, paired_ratio
from attnviz.compute.estimate import estimate
from attnviz.compute.execute import execute
from attnviz.compute.threads import available_cores, limited_threads, threads_for
from attnviz.engines.engine import ITEMSIZE
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.model.operands.matrices import projection_array, vectors_array
from attnviz.model.sites.sites import main_site
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ROLES

Floats = NDArray[Any]


def floor(size: Size, x: Floats, matrices: tuple[Floats, ...] | None) -> Callable[[], Any]:
    """A call that does the work and keeps scores and result. `matrices`: W_q, W_k, W_v, W_o, or None.

    With matrices, their four products are included. Maximum, scale, sum and division are omitted, so the
    numbers are meaningless; x is small so that exp cannot overflow.
    """
    small = x * np.float32(0.1)

    def heads(rows: Floats) -> Floats:
        return rows.reshape(size.n, size.heads, size.d_head).transpose(1, 0, 2)

    def call() -> Any:
        q, k, v = (heads(small if matrices is None else small @ matrices[i]) for i in range(3))
        scores = q @ k.transpose(0, 2, 1)
        np.exp(scores, out=scores)
        mixed = scores @ v
        if matrices is None:
            return scores, mixed
        return scores, mixed.transpose(1, 0, 2).reshape(size.n, -1) @ matrices[3]

    return call


SECONDS = 5.0
ROUNDS = (7, 400)
QUICK_SECONDS = 0.1
QUICK_ROUNDS = (3, 5)

PLAIN, AS_IT_COMES, FLOOR = "plain_torch", "plain_torch_own_threads", "floor"


def measure_engines(quick: bool) -> dict[str, Any]:
    """Times and ratios of every size, with and without projections; the reason if torch is missing."""
    missing = torch_missing()
    sizes = SIZES[:2] if quick else SIZES
    return {
        "torch_missing": missing,
        "cases": [_case(size, name, not missing, quick) for name in PROJECTIONS for size in sizes],
    }


def torch_missing() -> str:
    """Reason why plain torch cannot be measured; "" if it can."""
    reason = ENGINE_BY_ID["torch"].unavailable()
    if reason:
        return reason
    from attnviz.bench.plain_torch import torch_threads

    try:
        torch_threads()
    except Exception as error:  # a broken installation raises anything
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def _case(size: Size, projections: str, has_torch: bool, quick: bool) -> dict[str, Any]:
    given = experiment(size, projections)
    operations = estimate(given, ITEMSIZE[given.dtype]).flops
    threads = threads_for(operations, available_cores())
    contenders = _contenders(size, given, threads, has_torch)
    difference = _difference(size, given, has_torch)
    times = interleaved(contenders, QUICK_SECONDS if quick else SECONDS, QUICK_ROUNDS if quick else ROUNDS)
    yardsticks = [name for name in (PLAIN, AS_IT_COMES, FLOOR) if name in times]
    engines = [name for name in times if name in ENGINE_BY_ID]
    return {
        "n": size.n,
        "heads": size.heads,
        "d_head": size.d_head,
        "projections": projections,
        "flops": operations,
        "threads": threads,
        "difference": difference,
        "median": {name: statistics.median(values) for name, values in times.items()},
        "minimum": {name: min(values) for name, values in times.items()},
        "ratios": {
            engine: {name: paired_ratio(times[engine], times[name]) for name in yardsticks}
            for engine in engines
        },
        "ratios_of_minima": {
            engine: {name: min(times[engine]) / min(times[name]) for name in yardsticks} for engine in engines
        },
        "seconds": times,
    }


def _contenders(size: Size, given: Experiment, threads: int, has_torch: bool) -> dict[str, Callable[[], Any]]:
    x, matrices = arrays(given)
    work_of_floor = floor(size, x, matrices)

    def limited_floor() -> Any:
        with limited_threads(threads):
            return work_of_floor()

    contenders: dict[str, Callable[[], Any]] = {
        "numpy": lambda: execute(given, "numpy"),
        FLOOR: limited_floor,
    }
    if has_torch:
        from attnviz.bench.plain_torch import plain_torch, torch_threads

        plain, own = plain_torch(size, x, matrices), torch_threads()
        contenders["torch"] = lambda: execute(given, "torch", "cpu")
        contenders[PLAIN] = lambda: plain(threads)
        if own != threads:
            contenders[AS_IT_COMES] = lambda: plain(own)
    return contenders


def arrays(given: Experiment) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
    """x and, if any, W_q, W_k, W_v and W_o, in float32."""
    x = vectors_array(given.vectors).astype(np.float32)
    if given.layers[0].projections == PROJECTIONS["identity"]:
        return x, None
    site = main_site(given)
    return x, tuple(projection_array(site, role).astype(np.float32) for role in ROLES)


def _difference(size: Size, given: Experiment, has_torch: bool) -> float | None:
    """Largest difference between the NumPy engine's weights and plain torch's: proof of equal work."""
    if not has_torch:
        return None
    from attnviz.bench.plain_torch import plain_torch, torch_threads

    _scores, weights, _output = plain_torch(size, *arrays(given))(torch_threads())
    trace = execute(given, "numpy")
    return float(
        max(np.abs(trace.window("weights", h) - weights[h].numpy()).max() for h in range(size.heads))
    )
