"""Thread counts of jobs, and the pool that works on their heads or row blocks.

Two facts decide everything here. A BLAS library splits even tiny products over all cores and then waits for
the slowest, so on a busy two-core machine half a millisecond of work can take hundreds; and its thread count
is one number per process, so two jobs that set and restore it independently leave it wrong. Hence small jobs
get one thread, and all limits are counted in one place.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from functools import cache, partial
from typing import Any, Generic, TypeVar

import numpy  # noqa: F401  (its BLAS must be loaded before threadpoolctl looks for it)
from threadpoolctl import ThreadpoolController

from attnviz.errors import FieldError, whole_number

IDLE_S = 0.3
"""Idle seconds after which a helper ends. Between two edits of a drag it stays."""

Item = TypeVar("Item")
Value = TypeVar("Value")

ThreadSetter = tuple[Callable[[], int], Callable[[int], None]]
"""Reads and sets one library's thread count, e.g. `(torch.get_num_threads, torch.set_num_threads)`."""

FLOPS_PER_THREAD = 10**8
"""Operations that justify one more thread: milliseconds of a core, hundreds of times the handover cost."""


def available_cores() -> int:
    """Cores that this process may run on (its affinity where the system tells, else the machine's count)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def threads_for(flops: float, cores: int, reserve: int = 0) -> int:
    """Threads for a job of `flops` operations: flops / FLOPS_PER_THREAD, from 1 to cores − reserve.

    `reserve` cores stay free (for the window). The answer is at least 1, so a reserve that takes
    every core still lets the job run. Infinite `flops` means all cores; NaN or negative `flops` raise
    ValueError.
    """
    if not flops >= 0:
        raise FieldError("flops", flops, whole_number(0))
    usable = max(1, cores - reserve)
    return max(1, int(min(flops, usable * FLOPS_PER_THREAD) // FLOPS_PER_THREAD))


class _Limits:
    """The active limits in this process: the smallest wins, the last one to leave restores."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[int] = []
        self._before: dict[ThreadSetter, int] = {}

    def enter(self, n: int, setters: Sequence[ThreadSetter]) -> None:
        with self._lock:
            around = min(self._active) if self._active else n + 1
            limit = n if n < around else around
            self._active.append(n)
            for setter in setters:
                before = self._before.get(setter)
                if before is None:
                    self._before[setter] = before = setter[0]()
                    if before > limit:
                        setter[1](limit)
                elif limit < around:  # else nothing is to be set: a run enters hundreds of times
                    _set(setter, min(limit, before))

    def leave(self, n: int, setters: Sequence[ThreadSetter]) -> None:
        with self._lock:
            self._active.remove(n)
            if self._active:
                limit = min(self._active)
                for setter in setters if n < limit else ():
                    # Only downwards: a count that the user set to 1 from outside stays 1.
                    _set(setter, min(limit, self._before[setter]))
                return
            for setter, before in self._before.items():
                if before > n:  # else the limit changed nothing
                    _set(setter, before)
            self._before.clear()


def _set(setter: ThreadSetter, n: int) -> None:
    """Reading a count takes a tenth of the time of setting it."""
    read, write = setter
    if read() != n:
        write(n)


_LIMITS = _Limits()


def _set_library(library: Any, n: int) -> None:
    library.set_num_threads(n)
    # threadpoolctl lets one thread own a process-wide count until that thread ends, and silently ignores all
    # others. We order the callers ourselves, so the ownership is returned at once.
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release()


def _setter(library: Any) -> ThreadSetter:
    """OpenBLAS's own functions if the library has them: threadpoolctl takes ten times as long."""
    if getattr(library, "threading_layer", "") == "pthreads":
        for affixes in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            names = [f"openblas_{verb}_num_threads".join(affixes) for verb in ("get", "set")]
            if all(hasattr(library.dynlib, name) for name in names):
                read, write = (partial(getattr(library.dynlib, name)) for name in names)
                return read, write  # in `partial`, as foreign functions have no hash
    return library.get_num_threads, partial(_set_library, library)


@cache
def _blas_setters() -> tuple[ThreadSetter, ...]:
    """One setter per loaded BLAS; cached, because finding the libraries takes milliseconds."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return tuple(_setter(library) for library in libraries if library.get_num_threads() is not None)


class limited_threads:
    """Hold every loaded BLAS, and each library of `setters`, to at most `n` threads inside the block.

    May be nested, entered again, and entered from several threads at once: the smallest limit in force wins,
    a limit never raises a count, and the last block to end restores the original counts. Entering and leaving
    costs a few microseconds, so it may wrap a job of a tenth of a millisecond. Raises ValueError for `n`
    below 1.
    """

    __slots__ = ("_held", "_n")

    def __init__(self, n: int, setters: Sequence[ThreadSetter] = ()) -> None:
        if n < 1:
            raise FieldError("n", n, whole_number(1))
        self._n, self._held = n, (*_blas_setters(), *setters) if setters else _blas_setters()

    def __enter__(self) -> None:
        _LIMITS.enter(self._n, self._held)

    def __exit__(self, *_error: object) -> None:
        _LIMITS.leave(self._n, self._held)


class _Batch(Generic[Item, Value]):
    """One `parallel_map` call: threads take the next index until none is left or one has failed."""

    def __init__(self, function: Callable[[Item], Value], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._values: dict[int, Value] = {}
        self._errors: dict[int, BaseException] = {}
        self._drawn = 0
        self._finished = 0
        self._changed = threading.Condition()

    def _draw(self) -> int | None:
        with self._changed:
            if self._errors or self._drawn == len(self._items):
                return None
            self._drawn += 1
            return self._drawn - 1

    def work(self) -> None:
        while (index := self._draw()) is not None:
            try:
                value = self._function(self._items[index])
            except BaseException as error:
                with self._changed:
                    self._errors[index] = error
            else:
                self._values[index] = value
                del value
            with self._changed:
                self._finished += 1
                self._changed.notify_all()

    def values(self) -> list[Value]:
        """Wait for the items that others have taken; raise the error that a plain loop would have met."""
        with self._changed:
            self._changed.wait_for(lambda: self._finished == self._drawn)
        if not self._errors:
            # Popped, because a late helper may still hold this batch for a moment.
            return [self._values.pop(index) for index in range(len(self._items))]
        # Indices are taken in order, so every item before the first failing one has been tried.
        error = self._errors[min(self._errors)]
        try:
            raise error
        finally:
            # The error's traceback refers to this frame: a cycle that would keep the arrays alive.
            self._errors.clear()
            self._values.clear()
            del error


class _Pool:
    """Daemon threads that start when needed and end after an idle time.

    Not `ThreadPoolExecutor`: its threads are joined at exit, so a long product would delay the exit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._n_threads = 0

    def run(self, tasks: Sequence[Callable[[], object]]) -> None:
        with self._lock:
            while self._n_threads < len(tasks):
                self._n_threads += 1
                threading.Thread(target=self._serve, name="attnviz-heads", daemon=True).start()
            for task in tasks:
                self._tasks.put(task)

    def _serve(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._tasks.empty():  # tasks are added under the lock: none can be missed
                        self._n_threads -= 1
                        return
                continue
            task()
            del task  # an idle thread must not keep the last batch's arrays alive


_POOL = _Pool()


def parallel_map(function: Callable[[Item], Value], items: Iterable[Item], workers: int) -> list[Value]:
    """`[function(item) for item in items]`, spread over `workers` threads; the calling thread is one of them.

    For array work that releases the interpreter lock (products, ufuncs on large arrays), each item inside
    `limited_threads(1)`. With one worker or one item it is the plain loop. Helpers inherit the caller's
    context, hence its `numpy.errstate`. After a failure no further item is started, and the error of the
    earliest failing item is raised, the one that the loop would have raised. The handover costs some ten
    microseconds per call: worth it from about a tenth of a millisecond of work. Nested calls are safe: a
    caller never waits for a helper that has not begun.
    """
    if workers < 1:
        raise FieldError("workers", workers, whole_number(1))
    work = list(items)
    helpers = min(workers, len(work)) - 1
    if helpers < 1:
        return [function(item) for item in work]
    batch = _Batch(function, work)
    _POOL.run([partial(copy_context().run, batch.work) for _ in range(helpers)])
    batch.work()
    return batch.values()
