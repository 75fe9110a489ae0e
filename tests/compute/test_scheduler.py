"""The scheduler: latest wins, nothing piles up, nothing comes after close. Events, never sleeps."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from attnviz.compute.scheduler import Busy, Cancelled, CancelToken, JobExit, Scheduler, Stopped

WAIT_S = 20.0


class Window:
    """Stands for the GUI thread: keeps what is posted until the test turns the event loop."""

    def __init__(self) -> None:
        self.posted: list[Callable[[], None]] = []
        self.done: list[Any] = []
        self.failed: list[BaseException] = []

    def post(self, call: Callable[[], None]) -> None:
        self.posted.append(call)

    def turn(self) -> None:
        while self.posted:
            self.posted.pop(0)()


class Gate:
    """A job that says when it has begun and goes on when told."""

    def __init__(self, result: Any = None) -> None:
        self.result = result
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.ended_by: type[BaseException] | None = None

    def __call__(self, token: CancelToken) -> Any:
        self.begun.set()
        assert self.go_on.wait(WAIT_S)
        try:
            token.check()
        except BaseException as error:
            self.ended_by = type(error)
            raise
        return self.result


@pytest.fixture
def window() -> Window:
    return Window()


@pytest.fixture
def scheduler(window: Window) -> Iterator[Scheduler]:
    scheduler = Scheduler(window.post)
    yield scheduler
    assert scheduler.close(WAIT_S)


def submit(scheduler: Scheduler, window: Window, job: Callable[[CancelToken], Any], key: str = "run") -> int:
    return scheduler.submit(job, window.done.append, window.failed.append, key)


def test_a_result_reaches_the_caller_through_post_only(scheduler: Scheduler, window: Window) -> None:
    ran_on: list[threading.Thread] = []
    submit(scheduler, window, lambda _token: ran_on.append(threading.current_thread()) or 7)
    assert scheduler.wait(WAIT_S)
    assert window.done == [], "delivered from the worker"
    window.turn()
    assert window.done == [7]
    assert ran_on != [threading.current_thread()]
    assert ran_on[0].daemon


def test_there_is_no_thread_before_the_first_job_and_one_after_many(
    scheduler: Scheduler, window: Window
) -> None:
    before = threading.active_count()
    workers = set()
    for _round in range(3):
        submit(scheduler, window, lambda _token: workers.add(threading.current_thread()))
        assert scheduler.wait(WAIT_S)
        window.turn()
    assert len(workers) == 1
    assert threading.active_count() == before + 1
    unused = Scheduler(window.post)
    assert threading.active_count() == before + 1
    assert unused.close()


def test_generations_rise(scheduler: Scheduler, window: Window) -> None:
    assert [submit(scheduler, window, lambda _token: None, key) for key in ("a", "b", "a")] == [1, 2, 3]


def test_a_newer_job_cancels_the_running_one_and_replaces_the_queued_one(
    scheduler: Scheduler, window: Window
) -> None:
    running, queued, newest = Gate("running"), Gate("queued"), Gate("newest")
    submit(scheduler, window, running)
    assert running.begun.wait(WAIT_S)
    submit(scheduler, window, queued)
    submit(scheduler, window, newest)
    newest.go_on.set()
    running.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert running.ended_by is Cancelled
    assert not queued.begun.is_set(), "a replaced job ran"
    assert (window.done, window.failed) == (["newest"], [])


class Deaf:
    """A job that never looks at its token."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, _token: CancelToken) -> str:
        self.begun.set()
        assert self.go_on.wait(WAIT_S)
        if self.error is not None:
            raise self.error
        return "old"


@pytest.mark.parametrize("error", [None, ValueError("old")])
def test_an_old_job_that_does_not_look_at_its_token_is_dropped_all_the_same(
    scheduler: Scheduler, window: Window, error: Exception | None
) -> None:
    deaf, newer = Deaf(error), Gate("new")
    submit(scheduler, window, deaf)
    assert deaf.begun.wait(WAIT_S)
    submit(scheduler, window, newer)
    deaf.go_on.set()
    assert newer.begun.wait(WAIT_S)
    window.turn()  # the old answer has arrived, the new one has not
    assert (window.done, window.failed) == ([], [])
    newer.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert (window.done, window.failed) == (["new"], [])


def test_a_result_that_waits_for_delivery_is_dropped_by_a_newer_submission(
    scheduler: Scheduler, window: Window
) -> None:
    submit(scheduler, window, lambda _token: "old")
    assert scheduler.wait(WAIT_S)
    newer = Gate("new")
    submit(scheduler, window, newer)
    window.turn()  # the old delivery comes by while the new job runs
    assert window.done == []
    newer.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert window.done == ["new"]


@pytest.mark.parametrize("error", [ValueError("bad"), KeyError("bad")])
def test_an_error_is_delivered_and_the_next_job_works(
    scheduler: Scheduler, window: Window, error: BaseException
) -> None:
    def fail(_token: CancelToken) -> None:
        raise error

    submit(scheduler, window, fail)
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert window.failed == [error]
    submit(scheduler, window, lambda _token: "fine")
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert window.done == ["fine"]


def test_keys_do_not_cancel_each_other_and_take_turns(scheduler: Scheduler, window: Window) -> None:
    first = Gate("a1")
    submit(scheduler, window, first, "a")
    assert first.begun.wait(WAIT_S)
    submit(scheduler, window, lambda _token: "b", "b")
    submit(scheduler, window, lambda _token: "c1", "c")
    submit(scheduler, window, lambda _token: "c2", "c")
    first.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert window.done == ["a1", "b", "c2"]


def test_deliveries_to_many_keys_never_wait_in_a_row(scheduler: Scheduler, window: Window) -> None:
    for key in "abc":
        submit(scheduler, window, lambda _token, key=key: key, key)
        assert scheduler.wait(WAIT_S)
    assert len(window.posted) == 1
    window.turn()
    assert window.done == ["a", "b", "c"]


def test_a_callback_that_raises_does_not_keep_the_others_from_coming(
    scheduler: Scheduler, window: Window
) -> None:
    def explode(_result: object) -> None:
        raise RuntimeError("in the window")

    scheduler.submit(lambda _token: 1, explode, window.failed.append, "a")
    submit(scheduler, window, lambda _token: 2, "b")
    assert scheduler.wait(WAIT_S)
    with pytest.raises(RuntimeError, match="in the window"):
        window.posted.pop(0)()
    window.turn()
    assert (window.done, window.failed) == ([2], [])


def test_a_callback_may_submit_again(scheduler: Scheduler, window: Window) -> None:
    def again(result: int) -> None:
        window.done.append(result)
        if result < 3:
            scheduler.submit(lambda _token: result + 1, again, window.failed.append)

    scheduler.submit(lambda _token: 1, again, window.failed.append)
    for _round in range(3):
        assert scheduler.wait(WAIT_S)
        window.turn()
    assert window.done == [1, 2, 3]


def test_busy_from_submission_to_delivery(scheduler: Scheduler, window: Window) -> None:
    gate = Gate()
    assert not scheduler.is_busy()
    submit(scheduler, window, gate)
    assert scheduler.is_busy()
    assert not scheduler.idle
    assert not scheduler.is_busy("another key")
    gate.go_on.set()
    assert scheduler.wait(WAIT_S)
    assert scheduler.idle
    assert scheduler.is_busy(), "computed, but nobody has it yet"
    window.turn()
    assert not scheduler.is_busy()


class Result:
    """A large result: countable and weakly referenced."""

    def __init__(self) -> None:
        self.numbers = bytes(8 * 1024 * 1024)


def test_300_results_of_8_mib_leave_at_most_one_alive(scheduler: Scheduler, window: Window) -> None:
    # The window is busy all the while: it never turns its event loop.
    alive: weakref.WeakSet[Result] = weakref.WeakSet()
    most = 0

    def make(_token: CancelToken) -> Result:
        nonlocal most
        result = Result()
        alive.add(result)
        most = max(most, len(alive))
        return result

    gc.disable()  # nothing may hang on a collection
    try:
        for _edit in range(300):
            submit(scheduler, window, make)
            assert scheduler.wait(WAIT_S)
            assert len(window.posted) == 1
        assert most == 1
        window.turn()
        assert len(window.done) == 1
        window.done.clear()
        assert len(alive) == 0, "the worker keeps a delivered result"
    finally:
        gc.enable()


def test_what_a_dropped_job_holds_is_let_go(scheduler: Scheduler, window: Window) -> None:
    alive: weakref.WeakSet[Result] = weakref.WeakSet()

    def job_with_input() -> Callable[[CancelToken], int]:
        data = Result()
        alive.add(data)
        return lambda _token: len(data.numbers)

    gate = Gate()
    submit(scheduler, window, gate)
    assert gate.begun.wait(WAIT_S)
    for _edit in range(50):
        submit(scheduler, window, job_with_input())
        assert len(alive) == 1
    gate.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert len(window.done) == 1
    assert len(alive) == 0


def test_nothing_is_delivered_after_close(window: Window) -> None:
    scheduler = Scheduler(window.post)
    submit(scheduler, window, lambda _token: "computed before close")
    assert scheduler.wait(WAIT_S)
    assert scheduler.close(WAIT_S)
    window.turn()
    submit(scheduler, window, lambda _token: "submitted after close")
    assert scheduler.idle
    window.turn()
    assert (window.done, window.failed) == ([], [])
    assert scheduler.close(), "twice is fine"


def test_close_cancels_the_running_job_and_ends_the_worker(window: Window) -> None:
    scheduler = Scheduler(window.post)
    began, ended = threading.Event(), threading.Event()

    def stages(token: CancelToken) -> None:
        began.set()
        try:
            while True:
                token.check()
        finally:
            ended.set()

    submit(scheduler, window, stages)
    assert began.wait(WAIT_S)
    assert scheduler.close(WAIT_S)
    assert ended.is_set()
    assert window.posted == []


def test_close_does_not_wait_for_a_long_stage(window: Window) -> None:
    scheduler = Scheduler(window.post)
    gate = Gate("late")
    submit(scheduler, window, gate)
    assert gate.begun.wait(WAIT_S)
    assert not scheduler.close(timeout=0.0)
    gate.go_on.set()
    assert scheduler.close(WAIT_S)
    assert window.posted == []


def test_the_newest_of_many_submitters_wins(scheduler: Scheduler, window: Window) -> None:
    # The order in which threads come is not ours to say; that the last generation is the one delivered is.
    start = threading.Barrier(4)
    generations: list[int] = []

    def drag(name: int) -> None:
        start.wait(WAIT_S)
        for edit in range(50):
            generations.append(submit(scheduler, window, lambda _token, edit=edit: (name, edit)))

    threads = [threading.Thread(target=drag, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert sorted(generations) == list(range(1, 201))
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert len(window.done) == 1
    assert window.done[0][1] == 49, "each thread's last edit is its 49th, and one of them was the last of all"


def test_a_token_is_quiet_until_cancelled() -> None:
    token = CancelToken()
    token.check()
    assert not token.cancelled
    token.cancel()
    assert token.cancelled
    with pytest.raises(Cancelled):
        token.check()


def test_whoever_gets_a_result_finds_the_scheduler_free() -> None:
    """The window may take a result while the worker is still on its way out of the job."""
    busy: list[bool] = []
    begins, delivered = threading.Event(), threading.Event()

    def deliver_at_once(call: Callable[[], None]) -> None:
        call()  # on the worker, before it has finished with the job
        delivered.set()

    scheduler = Scheduler(deliver_at_once)
    scheduler.submit(
        lambda token: begins.wait(WAIT_S),
        lambda result: busy.append(scheduler.is_busy()),
        lambda error: None,
    )
    assert scheduler.is_busy()
    begins.set()
    assert delivered.wait(WAIT_S)
    assert busy == [False]
    assert scheduler.wait(WAIT_S) and scheduler.idle
    assert scheduler.close(WAIT_S)


# --- how far, and stopping -------------------------------------------------------------------------


def test_a_job_says_how_far_it_is_and_what_is_done_stays_done(scheduler: Scheduler, window: Window) -> None:
    gate, told = Gate(), threading.Event()

    def job(token: CancelToken) -> Any:
        token.progress.part(0.5, 1.0).at(0.5)
        token.progress.at(0.25)
        told.set()
        return gate(token)

    assert scheduler.busy() is None
    submit(scheduler, window, job, "decode")
    assert told.wait(WAIT_S)
    busy = scheduler.busy()
    assert isinstance(busy, Busy)
    assert (busy.key, busy.share) == ("decode", 0.75) and 0.0 <= busy.seconds < WAIT_S
    gate.go_on.set()
    assert scheduler.wait(WAIT_S)
    assert scheduler.busy() is None


def test_a_stopped_job_answers_at_once_though_it_is_in_the_middle_of_a_stage(
    scheduler: Scheduler, window: Window
) -> None:
    running, other = Gate("late"), Gate("other")
    submit(scheduler, window, running)
    assert running.begun.wait(WAIT_S)
    submit(scheduler, window, other, "other")
    assert scheduler.stop("run")
    window.turn()
    assert [type(error) for error in window.failed] == [Stopped]
    assert scheduler.busy() is None, "nobody waits for it any more"
    assert not scheduler.stop("run"), "stopped once"
    running.go_on.set()
    other.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert running.ended_by is Cancelled
    assert window.done == ["other"] and len(window.failed) == 1
    submit(scheduler, window, lambda _token: "next")
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert window.done == ["other", "next"]


def test_a_queued_job_that_is_stopped_never_begins(scheduler: Scheduler, window: Window) -> None:
    running, queued = Gate(), Gate()
    submit(scheduler, window, running, "first")
    assert running.begun.wait(WAIT_S)
    submit(scheduler, window, queued, "second")
    assert scheduler.stop("second") and not scheduler.stop("third")
    running.go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert not queued.begun.is_set() and [type(error) for error in window.failed] == [Stopped]


def test_a_library_that_exits_ends_its_job_and_nothing_else(scheduler: Scheduler, window: Window) -> None:
    def leave(_token: CancelToken) -> None:
        raise SystemExit(3)

    submit(scheduler, window, leave)
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert [type(error) for error in window.failed] == [JobExit]
    assert str(window.failed[0]) == "sys.exit(3)"
    submit(scheduler, window, lambda _token: "next")
    assert scheduler.wait(WAIT_S)
    window.turn()
    assert window.done == ["next"]


@pytest.mark.parametrize("ends", ["delivered", "stopped", "replaced"])
def test_nothing_of_a_job_is_kept_when_it_is_over(scheduler: Scheduler, window: Window, ends: str) -> None:
    """Its function's contents and its result stand for a model of gigabytes."""
    begun, go_on = threading.Event(), threading.Event()

    def job_of(result: Result) -> Callable[[CancelToken], Result]:
        def job(_token: CancelToken) -> Result:
            begun.set()
            assert go_on.wait(WAIT_S)
            return result

        return job

    seen = weakref.ref(result := Result())
    scheduler.submit(job_of(result), lambda _result: None, lambda _error: None, "run")
    del result
    assert begun.wait(WAIT_S)
    if ends == "stopped":
        assert scheduler.stop("run")
    elif ends == "replaced":
        submit(scheduler, window, lambda _token: None)
    go_on.set()
    assert scheduler.wait(WAIT_S)
    window.turn()
    gc.collect()
    assert seen() is None
