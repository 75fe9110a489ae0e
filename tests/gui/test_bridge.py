"""The bridge: posted from any thread, run in order on the GUI thread, survives errors, silent after close."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QEventLoop, QTimer
from pytestqt.qtbot import QtBot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.bridge import Bridge

WAIT_S = 20.0
WAIT_MS = 20_000


@pytest.fixture
def bridge(qapp: object) -> Iterator[Bridge]:
    bridge = Bridge()
    yield bridge
    bridge.close()


def on_another_thread(call: Callable[[], object]) -> None:
    """Run `call` on a thread of its own, to its end."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(WAIT_S)
    assert not thread.is_alive()


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """The errors that reach sys.excepthook."""
    errors: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _where: errors.append(error))
    return errors


def test_runs_in_order_on_the_gui_thread(bridge: Bridge, qtbot: QtBot) -> None:
    ran: list[tuple[int, threading.Thread]] = []

    def post_many() -> None:
        for number in range(100):
            bridge.post(lambda number=number: ran.append((number, threading.current_thread())))

    on_another_thread(post_many)
    assert ran == [], "run on the thread that posted"
    qtbot.waitUntil(lambda: len(ran) == 100, timeout=WAIT_MS)
    assert ran == [(number, threading.current_thread()) for number in range(100)]


def test_posting_on_the_gui_thread_waits_for_the_event_loop_too(bridge: Bridge, qtbot: QtBot) -> None:
    ran: list[str] = []
    bridge.post(lambda: ran.append("posted"))
    ran.append("after post")
    qtbot.waitUntil(lambda: len(ran) == 2, timeout=WAIT_MS)
    assert ran == ["after post", "posted"]


def test_an_error_is_reported_once_and_the_next_call_runs(
    bridge: Bridge, qtbot: QtBot, hooked: list[BaseException]
) -> None:
    ran: list[str] = []
    error = ValueError("in a callable")

    def fail() -> None:
        raise error

    on_another_thread(lambda: [bridge.post(call) for call in (fail, lambda: ran.append("next"))])
    qtbot.waitUntil(lambda: ran == ["next"], timeout=WAIT_MS)
    assert hooked == [error]


def test_nothing_runs_after_close(bridge: Bridge, qtbot: QtBot) -> None:
    ran: list[str] = []
    bridge.post(lambda: ran.append("before"))
    bridge.close()
    bridge.post(lambda: ran.append("after"))
    later = Bridge()
    later.post(lambda: ran.append("a later bridge"))
    qtbot.waitUntil(lambda: len(ran) == 1, timeout=WAIT_MS)
    assert ran == ["a later bridge"]


def test_a_callable_may_close_the_bridge(bridge: Bridge, qtbot: QtBot) -> None:
    ran: list[str] = []
    for call in (lambda: ran.append("first"), bridge.close, lambda: ran.append("too late")):
        bridge.post(call)
    qtbot.waitUntil(lambda: len(ran) == 1, timeout=WAIT_MS)
    qtbot.wait(0)
    assert ran == ["first"]


def test_a_callable_that_posts_again_lets_the_event_loop_turn(bridge: Bridge, qtbot: QtBot) -> None:
    # A callable that reposts itself must not keep a timer, or a paint, from coming.
    turns: list[int] = []
    timer_came: list[int] = []

    def again() -> None:
        turns.append(len(turns))
        if len(turns) == 1:
            QTimer.singleShot(0, lambda: timer_came.append(len(turns)))
        if not timer_came and len(turns) < 10_000:
            bridge.post(again)

    bridge.post(again)
    qtbot.waitUntil(lambda: bool(timer_came), timeout=WAIT_MS)
    assert timer_came[0] < 10_000


def test_close_lets_go_of_what_waits(bridge: Bridge) -> None:
    class Held:
        def call(self) -> None:
            raise AssertionError("ran after close")

    held = Held()
    alive = weakref.ref(held)
    bridge.post(held.call)
    del held
    assert alive() is not None
    bridge.close()
    assert alive() is None


def test_a_callable_with_its_own_event_loop_does_not_hold_up_later_ones(bridge: Bridge, qtbot: QtBot) -> None:
    ran: list[str] = []
    loop = QEventLoop()

    def modal() -> None:
        ran.append("dialog opens")
        loop.exec()
        ran.append("dialog closed")

    def close_dialog() -> None:
        ran.append("inside")
        loop.quit()

    bridge.post(modal)
    bridge.post(close_dialog)
    qtbot.waitUntil(lambda: len(ran) == 3, timeout=WAIT_MS)
    assert ran == ["dialog opens", "inside", "dialog closed"]


def test_posting_to_a_bridge_that_qt_has_deleted_is_quiet(qapp: object) -> None:
    bridge = Bridge()
    shiboken6.delete(bridge)
    errors: list[BaseException] = []

    def post() -> None:
        try:
            bridge.post(lambda: None)
        except BaseException as error:
            errors.append(error)

    on_another_thread(post)
    assert errors == []


def test_the_scheduler_delivers_through_the_bridge(bridge: Bridge, qtbot: QtBot) -> None:
    scheduler = Scheduler(bridge.post)
    got: list[Any] = []

    def job(_token: CancelToken) -> threading.Thread:
        return threading.current_thread()

    def done(worker: threading.Thread) -> None:
        got.append((worker, threading.current_thread()))

    try:
        scheduler.submit(job, done, got.append)
        qtbot.waitUntil(lambda: bool(got), timeout=WAIT_MS)
    finally:
        assert scheduler.close(WAIT_S)
    worker, receiver = got[0]
    assert receiver is threading.current_thread()
    assert worker is not receiver
