"""Execution of an experiment on the chosen engine, within the available memory, with NumPy as the fallback.

The single entrance for scripts, the shell and the window: budget first, threads by the size of the job, and
a CUDA failure becomes a notice beside correct numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from attnviz.compute import budget as budget_
from attnviz.compute.budget import Estimate, Fitting
from attnviz.compute.estimate import estimate, estimate_decoding, what_fits
from attnviz.compute.threads import (
    FLOPS_PER_THREAD,
    available_cores,
    limited_threads,
    parallel_map,
    threads_for,
)
from attnviz.engines.backward.backward import backward as backward_
from attnviz.engines.decode import run as decode_
from attnviz.engines.decode.decodable import step_count
from attnviz.engines.decode.run import Decoding
from attnviz.engines.engine import ITEMSIZE, DeviceLost, Engine, EngineError, Workers, one_by_one
from attnviz.engines.program import Check, never_cancelled
from attnviz.engines.run import run
from attnviz.engines.table import ENGINE_BY_ID, EngineKind
from attnviz.errors import FieldError, Message, among, must_be, verbatim
from attnviz.model.gradient import Gradient
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.conversions import CODES, LIMIT
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace

Result = TypeVar("Result")
Notices = tuple[Message, ...]

FALLBACK_DTYPE = "float32"
"""Precision in which NumPy computes when it takes over a dtype that it lacks."""


MEMORY_S = 0.5
"""Seconds for which a measurement of the available memory stays valid."""

_LOST: dict[tuple[str, str], Message] = {}
"""Why an engine's device has failed for good, by (engine, device): later runs do not try it again."""

_measured = (-math.inf, 0)
"""Time of the last memory measurement, and the bytes that were available."""


def execute(
    experiment: Experiment,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
    budget: int | None = None,
    reserve: int = 0,
) -> Trace:
    """Run `experiment` on the engine with id `engine`.

    `budget` is the number of available bytes (None: measured now), of which a run may take half; `reserve`
    cores stay free for other work; `check` is called between stages and may raise.

    If Torch on "auto" or CUDA cannot be imported, or CUDA fails (no device, out of memory, device lost),
    NumPy computes instead and `trace.notices` says so. Raises `ValueError` for an unknown engine, or a device
    or dtype that the engine lacks, `BudgetError` for too large a run, and `EngineError` if an engine fails
    and no other may take over.
    """

    def job(engine: Engine, notices: Notices) -> Trace:
        return run(engine, experiment, check, notices)

    n_bytes, flops = _size(experiment)
    dtype = experiment.dtype
    counted = partial(estimate, experiment, ITEMSIZE[dtype])
    fitting = partial(what_fits, experiment, ITEMSIZE[dtype])
    terms = _Terms(dtype, n_bytes, counted, budget, _threads(flops, reserve), fitting)
    return _somewhere(job, engine, device, terms)


def execute_decoding(
    experiment: Experiment,
    steps: int | None = None,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
    budget: int | None = None,
    reserve: int = 0,
    earlier: Decoding | None = None,
) -> Decoding:
    """Decode `experiment` with a cache; see `engines.decode.run.decode`, and `execute` for the rest."""

    def job(engine: Engine, notices: Notices) -> Decoding:
        return decode_.decode(engine, experiment, steps, check, notices, earlier)

    count = step_count(experiment, steps)
    size = estimate_decoding(experiment, count, ITEMSIZE[experiment.dtype])
    # Steps are sequential, so a single step must be large enough for a second thread.
    threads = _threads(size.flops // count, reserve)
    terms = _Terms(experiment.dtype, size.bytes, lambda: size, budget, threads)
    return _somewhere(job, engine, device, terms)


def execute_job(
    experiment: Experiment,
    job: Callable[[Engine], Result],
    engine: str = "numpy",
    device: str = "auto",
    passes: int = 1,
    budget: int | None = None,
) -> Result:
    """Run a job that holds `passes` passes of `experiment` at a time; see `execute` for the rest.

    A notice of an engine that took over is dropped: the numbers are the same.
    """
    n_bytes, flops = _size(experiment)
    threads = _threads(flops, 0)
    count = partial(estimate, experiment, ITEMSIZE[experiment.dtype])
    terms = _Terms(experiment.dtype, n_bytes * passes, count, budget, threads)
    return _somewhere(lambda engine, notices: job(engine), engine, device, terms)


def execute_backward(
    experiment: Experiment,
    target: str,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
    budget: int | None = None,
) -> tuple[Trace, Gradient]:
    """A pass and the gradient of `target`; see `engines.backward.backward`, and `execute` for the rest.

    The gradients take as much memory as the pass with all stages of queries and keys.
    """

    def job(engine: Engine) -> tuple[Trace, Gradient]:
        return backward_(engine, experiment, target, check)

    return execute_job(experiment, job, engine, device, passes=6, budget=budget)


def execute_shown(
    experiment: Experiment,
    view: View,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
    reserve: int = 0,
) -> Trace:
    """The numbers that a view shows: those of the stages, the gradients of its target, or both multiplied.

    Raises `FieldError` for gradients without a target; see `execute` for the rest.
    """
    if view.quantity == "value":
        return execute(experiment, engine, device, check, reserve=reserve)
    if view.target is None:
        raise FieldError("target", None, must_be("a cell or 'loss' where gradients are shown"))
    gradient = execute_backward(experiment, view.target, engine, device, check)[1]
    return gradient if view.quantity == "gradient" else gradient.product


@WeakMemo
def _size(experiment: Experiment) -> tuple[int, int]:
    """Bytes and FLOPs of a run, cached: counting them takes a third of the time of a small run."""
    size = estimate(experiment, ITEMSIZE[experiment.dtype])
    return size.bytes, size.flops


def _threads(flops: int, reserve: int) -> int:
    """Threads of a job; the number of cores is read where a second one is worth it."""
    return 1 if flops < 2 * FLOPS_PER_THREAD else threads_for(flops, available_cores(), reserve)


def forget_lost_devices() -> None:
    """Try every device again, after the user chose one."""
    _LOST.clear()
    _engine.cache_clear()


class _Terms(NamedTuple):
    """Requirements of a job: dtype, bytes (at most half of `budget`), number of threads.

    `counted` returns the bytes line by line, in the language that is then active.
    """

    dtype: str
    bytes: int
    counted: Callable[[], Estimate]
    budget: int | None
    threads: int
    fitting: Fitting | None = None


def _somewhere(job: Callable[[Engine, Notices], Result], engine: str, device: str, terms: _Terms) -> Result:
    """Run the job on the chosen engine, or on NumPy if it may take over."""
    kind, dtype = _legal_kind(engine, device, terms.dtype), terms.dtype
    reason = _LOST.get((kind.id, device))
    if reason is None:
        try:
            return _on(kind, device, job, (), terms)
        except EngineError as error:
            if kind.id == "numpy" or device == "cpu":
                raise
            reason = error.message
            if isinstance(error, DeviceLost):
                _LOST[kind.id, device] = reason
    kind = ENGINE_BY_ID["numpy"]
    wanted = verbatim("Torch") if device == "auto" else Message("Torch on {device}", device=device)
    notice = Message("{engine} is unavailable ({reason}); computed with NumPy.", engine=wanted, reason=reason)
    if dtype not in kind.dtypes:
        notice = Message(
            "{engine} is unavailable ({reason}); computed with NumPy in {fallback} instead of {dtype}.",
            engine=wanted,
            reason=reason,
            fallback=FALLBACK_DTYPE,
            dtype=dtype,
        )
    terms = terms._replace(dtype=dtype if dtype in kind.dtypes else FALLBACK_DTYPE)
    return _on(kind, "auto", job, (notice,), terms)


def _legal_kind(engine: str, device: str, dtype: str) -> EngineKind:
    """The engine's row. Raises `ValueError` for a device or dtype that it lacks."""
    if engine not in ENGINE_BY_ID:
        raise FieldError("engine", engine, among(ENGINE_BY_ID))
    kind = ENGINE_BY_ID[engine]
    if not kind.is_device(device):
        raise FieldError("device", device, among(kind.devices, on=kind.label))
    if dtype not in kind.dtypes:
        raise FieldError("dtype", dtype, among(kind.dtypes, on=kind.label))
    return kind


def _on(
    kind: EngineKind,
    device: str,
    job: Callable[[Engine, Notices], Result],
    notices: Notices,
    terms: _Terms,
) -> Result:
    """Run the job on one engine, within its budget and its number of threads."""
    engine = _engine(kind.make, terms.dtype, device, terms.threads)
    if engine.on_device is not None:  # a device with its own memory raises when that is exhausted
        with engine.active():
            engine.on_device.leave(2 * terms.bytes)
    else:
        available = _available() if terms.budget is None else terms.budget
        if 2 * terms.bytes > available:
            budget_.check(terms.counted(), available, terms.fitting)
        # As for a run, half of what is free, of which these codes are a part.
        CODES.limit = max(LIMIT, (available + CODES.nbytes - 2 * terms.bytes) // 2)
    return job(engine, notices)


def _available() -> int:
    """`available_memory`, at most `MEMORY_S` old: reading it takes longer than a small run."""
    global _measured
    now = time.monotonic()
    if now - _measured[0] > MEMORY_S:
        _measured = now, budget_.available_memory()
    return _measured[1]


@lru_cache(maxsize=32)
def _engine(make: Callable[[str, str, Workers], Engine], dtype: str, device: str, threads: int) -> Engine:
    """The engine that runs of the same kind share; it has no state of a run."""
    return make(dtype, device, _workers(threads))


def _workers(threads: int) -> Workers:
    """Workers for an engine's blocks: `threads` threads of ours, each with one thread of BLAS or torch.

    The libraries' own threads wait for each other in a spin: on two cores of which one is busy, products that
    take 24 ms take 312.
    """

    def spread(function: Callable[[Any], None], items: Iterable[Any]) -> None:
        parallel_map(function, items, threads)

    return Workers(spread if threads > 1 else one_by_one, partial(limited_threads, 1))
