"""Threads: how many, never left limited, and a pool that behaves like the plain loop."""

from __future__ import annotations

import gc
import math
import queue
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from attnviz.compute import threads
from attnviz.compute.threads import limited_threads, parallel_map, threads_for

WAIT_S = 20.0


class Library:
    """A library with a thread count, and everything that was ever set."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.history: list[int] = []
        self.setter = (self.read, self.write)

    def read(self) -> int:
        return self.count

    def write(self, count: int) -> None:
        self.count = count
        self.history.append(count)


def blas_counts() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize(
    ("flops", "cores", "reserve", "expected"),
    [
        (0, 16, 0, 1),
        (2 * 2 * 8 * 128 * 128 * 64, 16, 0, 1),  # 128 tokens, 8 heads of 64: half a millisecond
        (10**8, 16, 0, 1),
        (2 * 10**8, 16, 0, 2),
        (2 * 10**8 - 1, 16, 0, 1),
        (10**12, 16, 0, 16),
        (10**12, 16, 1, 15),
        (10**12, 2, 1, 1),
        (10**12, 1, 4, 1),
        (math.inf, 4, 0, 4),
    ],
)
def test_threads_grow_with_the_job_and_leave_the_reserve(
    flops: float, cores: int, reserve: int, expected: int
) -> None:
    assert threads_for(flops, cores, reserve) == expected


@pytest.mark.parametrize("flops", [-1.0, math.nan])
def test_threads_for_refuses_what_is_no_amount_of_work(flops: float) -> None:
    with pytest.raises(ValueError, match="flops"):
        threads_for(flops, 4)


def test_blas_is_limited_inside_and_restored_outside() -> None:
    blas = threads._blas_setters()
    assert blas, "numpy's BLAS was not found"
    before = [read() for read, _write in blas]
    for _read, write in blas:
        write(2)  # tests run with one thread: give the limit something to lower
    try:
        if blas_counts() != {2}:
            pytest.skip("this BLAS has no second thread to give")
        with limited_threads(1):
            assert blas_counts() == {1}
        assert blas_counts() == {2}
        with pytest.raises(KeyError), limited_threads(1):
            raise KeyError
        assert blas_counts() == {2}
    finally:
        for (_read, write), count in zip(blas, before, strict=True):
            write(count)


def test_another_thread_can_limit_blas_after_this_one_has() -> None:
    # threadpoolctl gives a process-wide count to the first thread that sets it and ignores the others.
    blas = threads._blas_setters()
    before = [read() for read, _write in blas]
    seen: list[set[int]] = []

    def elsewhere() -> None:
        with limited_threads(1):
            seen.append(blas_counts())

    for _read, write in blas:
        write(2)
    try:
        if blas_counts() != {2}:
            pytest.skip("this BLAS has no second thread to give")
        with limited_threads(2):
            worker = threading.Thread(target=elsewhere)
            worker.start()
            worker.join(WAIT_S)
        assert seen == [{1}]
        assert blas_counts() == {2}
    finally:
        for (_read, write), count in zip(blas, before, strict=True):
            write(count)


def test_an_injected_library_is_limited_never_raised_and_restored() -> None:
    library, single = Library(8), Library(1)
    with limited_threads(4, [library.setter, single.setter]):
        assert (library.count, single.count) == (4, 1)
        with limited_threads(2, [library.setter]):
            assert library.count == 2
        assert library.count == 4
        with limited_threads(6, [library.setter]):
            assert library.count == 4, "the smaller limit around it still holds"
    assert (library.count, single.count) == (8, 1)
    assert not single.history, "a count that holds already is not set again"


def test_limits_that_overlap_in_two_threads_end_at_the_first_count() -> None:
    # A: in ........ out        Each restoring what it found would leave the 2 that B found.
    # B:      in ........ out
    library = Library(8)
    a_is_in, b_is_in, a_is_out = threading.Event(), threading.Event(), threading.Event()

    def b() -> None:
        assert a_is_in.wait(WAIT_S)
        with limited_threads(3, [library.setter]):
            b_is_in.set()
            assert a_is_out.wait(WAIT_S)

    worker = threading.Thread(target=b)
    worker.start()
    with limited_threads(2, [library.setter]):
        a_is_in.set()
        assert b_is_in.wait(WAIT_S)
        assert library.count == 2
    assert library.count == 3
    a_is_out.set()
    worker.join(WAIT_S)
    assert library.count == 8


def test_a_limit_below_one_is_refused() -> None:
    with (
        pytest.raises(ValueError, match=r"n must be a whole number of at least 1; got 0\."),
        limited_threads(0),
    ):
        pass


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 2, 23])
def test_parallel_map_is_the_loop(workers: int, n_items: int) -> None:
    assert parallel_map(lambda x: x * x, range(n_items), workers) == [x * x for x in range(n_items)]


def test_heads_in_parallel_give_the_numbers_of_one_product() -> None:
    q = np.random.default_rng(0).normal(size=(6, 40, 8))
    out = np.empty((6, 40, 40))
    with limited_threads(1):
        parallel_map(lambda head: np.matmul(q[head], q[head].T, out=out[head]), range(6), workers=3)
    np.testing.assert_allclose(out, q @ q.transpose(0, 2, 1), rtol=1e-13, atol=1e-13)


def test_one_worker_means_the_calling_thread_only() -> None:
    assert set(parallel_map(lambda _item: threading.current_thread(), range(5), 1)) == {
        threading.current_thread()
    }


def test_items_run_at_the_same_time() -> None:
    # Passes the barrier only if three threads are inside the function together.
    barrier = threading.Barrier(3)
    parallel_map(lambda _item: barrier.wait(WAIT_S), range(3), 3)
    assert not barrier.broken


def test_the_earliest_error_is_raised_and_nothing_new_is_started() -> None:
    both_drawn = threading.Barrier(2)
    tried: list[int] = []

    def fail(item: int) -> None:
        tried.append(item)
        if item < 2:
            both_drawn.wait(WAIT_S)
            raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        parallel_map(fail, range(50), 2)
    assert sorted(tried) == [0, 1]


def test_an_error_leaves_the_pool_usable() -> None:
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda x: 1 // x, [0, 0, 0], 3)
    assert parallel_map(str, range(4), 3) == ["0", "1", "2", "3"]


def test_nested_calls_do_not_wait_for_each_other() -> None:
    result: list[list[list[int]]] = []

    def nest() -> None:
        result.append(parallel_map(lambda i: parallel_map(lambda j: 10 * i + j, range(3), 3), range(3), 3))

    caller = threading.Thread(target=nest, daemon=True)
    caller.start()
    caller.join(WAIT_S)
    assert result == [[[0, 1, 2], [10, 11, 12], [20, 21, 22]]]


def test_helpers_share_the_callers_error_state() -> None:
    barrier = threading.Barrier(2)

    def overflow(_item: int) -> Any:
        barrier.wait(WAIT_S)  # one item on each thread
        return np.float32(3e38) * np.float32(10.0)

    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        parallel_map(overflow, range(2), 2)
    with np.errstate(over="ignore"):
        assert parallel_map(overflow, range(2), 2) == [np.inf, np.inf]


class Block:
    """Stands for an array: countable and weakly referenced."""


def test_nothing_of_a_finished_batch_is_kept() -> None:
    alive: weakref.WeakSet[Block] = weakref.WeakSet()

    def make(_item: int) -> Block:
        block = Block()
        alive.add(block)
        return block

    def run(function: Callable[[int], Block]) -> None:
        assert len(parallel_map(function, range(8), 3)) == 8

    def make_then_fail(item: int) -> Block:
        block = make(item)
        if item == 3:
            raise ValueError
        return block

    gc.disable()
    try:
        run(make)
        with pytest.raises(ValueError):
            run(make_then_fail)
        # A late helper lets go of its batch once it has read it; here all must have come to a later one.
        barrier = threading.Barrier(3)
        parallel_map(lambda _item: barrier.wait(WAIT_S), range(3), 3)
        assert len(alive) == 0
    finally:
        gc.enable()


def test_an_idle_helper_holds_nothing_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[Block] = weakref.WeakSet()
    alive_while_waiting: list[int] = []

    def task() -> Callable[[], object]:
        block = Block()
        alive.add(block)
        return lambda: block

    class OneTask:
        """A queue that hands out one task, then looks at what is alive as the helper waits for the next."""

        def __init__(self) -> None:
            self.tasks = [task()]

        def get(self, timeout: float) -> Callable[[], object]:
            if self.tasks:
                return self.tasks.pop()
            alive_while_waiting.append(len(alive))
            raise queue.Empty

        def empty(self) -> bool:
            return True

    pool = threads._Pool()
    monkeypatch.setattr(pool, "_tasks", OneTask())
    assert len(alive) == 1
    pool._serve()
    assert alive_while_waiting == [0]


def test_the_process_ends_while_a_helper_is_at_work() -> None:
    program = """
import threading
from attnviz.compute.threads import parallel_map
inside = threading.Barrier(3)
def forever(item):
    inside.wait()
    threading.Event().wait()
threading.Thread(target=parallel_map, args=(forever, range(2), 2), daemon=True).start()
inside.wait()
print("main has ended")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("main has ended\n", "")
