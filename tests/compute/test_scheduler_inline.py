"""The scheduler without a thread: the same rules, at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from attnviz.compute.scheduler import CancelToken, Scheduler


class Answers:
    """The delivered results."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.failed: list[BaseException] = []


def submit(scheduler: Scheduler, answers: Answers, job: Callable[[CancelToken], Any]) -> int:
    return scheduler.submit(job, answers.done.append, answers.failed.append)


def never(_call: Callable[[], None]) -> None:
    raise AssertionError("inline delivers without post")


def test_inline_runs_at_once_on_this_thread() -> None:
    scheduler, answers = Scheduler(never, inline=True), Answers()
    assert submit(scheduler, answers, lambda _token: threading.current_thread()) == 1
    assert answers.done == [threading.current_thread()]
    assert scheduler.idle
    assert scheduler.close()
    submit(scheduler, answers, lambda _token: "after close")
    assert len(answers.done) == 1


def test_inline_reports_errors_and_lets_a_keyboard_interrupt_through() -> None:
    scheduler, answers = Scheduler(never, inline=True), Answers()
    submit(scheduler, answers, lambda _token: 1 // 0)
    assert [type(error) for error in answers.failed] == [ZeroDivisionError]

    def interrupted(_token: CancelToken) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        submit(scheduler, answers, interrupted)


def test_inline_drops_a_result_that_was_overtaken_while_it_was_made() -> None:
    scheduler, answers = Scheduler(never, inline=True), Answers()

    def outer(_token: CancelToken) -> str:
        submit(scheduler, answers, lambda _token: "inner")
        return "outer"

    submit(scheduler, answers, outer)
    assert answers.done == ["inner"]
