"""A scheduler that runs jobs on one worker thread: the caller never waits, and only the newest answer counts.

Each key has three one-slot places, so nothing grows: the *mailbox* holds the newest job not yet begun, the
worker runs one job, the *outbox* holds the newest result not yet delivered. A new submission empties all
three of that key's older work: the queued job is replaced, the running one is cancelled at its next
`token.check()`, the waiting result is released at once. Hence 300 submissions during a drag hold one result,
not 300.

No Qt here: results reach the caller's thread through `post`, which the window supplies (gui/bridge.py).
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

from attnviz.core.progress import Progress

Result = TypeVar("Result")

EXIT_WAIT_S = 5.0
"""Longest wait at the interpreter's exit for a stage of an unclosed scheduler."""

ANSWERED = ""
"""The key of a finished job while the worker hands its result over; no submission has it."""

Post = Callable[[Callable[[], None]], None]
"""Passes a callable to the caller's thread, which calls it soon and in order; callable from any thread."""


class Cancelled(Exception):
    """A newer submission, or closing, made this job obsolete. Raised by `CancelToken.check`."""


class Stopped(Exception):
    """The user stopped the job: the answer of `Scheduler.stop`."""


class JobExit(RuntimeError):
    """A job called the interpreter's exit, as a library's `sys.exit` does; the program continues."""


class CancelToken:
    """Lets a job ask between its stages whether to continue, and report its progress."""

    def __init__(self) -> None:
        self._cancelled = False
        self.share: float | None = None
        """Completed share of the job, from 0 to 1; None if the job does not report it."""

    @property
    def progress(self) -> Progress:
        """The progress that the job calls between its stages: the check, and the report of the completed
        share.
        """
        return Progress(self.check, self.report)

    def report(self, share: float) -> None:
        """Report that the job is complete to `share`; from any thread. The share never decreases."""
        self.share = max(share, self.share or 0.0)

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        self._cancelled = True

    def check(self) -> None:
        """Raise Cancelled if the job was cancelled."""
        if self._cancelled:
            raise Cancelled


@dataclass(frozen=True, slots=True, eq=False)
class _Ticket:
    """One submission."""

    key: str
    generation: int
    job: Callable[[CancelToken], Any]
    done: Callable[[Any], None]
    failed: Callable[[BaseException], None]
    token: CancelToken


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """The job that the worker runs; without the callable itself, so that nothing keeps it alive."""

    key: str
    generation: int
    token: CancelToken
    failed: Callable[[BaseException], None]
    began: float


@dataclass(frozen=True, slots=True)
class Busy:
    """A running job: its key, the seconds since its start, and the completed share (None: unknown)."""

    key: str
    seconds: float
    share: float | None


@dataclass(frozen=True, slots=True, eq=False)
class _Letter:
    """The answer to one submission: the callback to call, and its argument."""

    key: str
    generation: int
    callback: Callable[[Any], None]
    content: Any


class Scheduler:
    """Latest wins, per key; jobs of different keys share the one worker.

    `post` must not raise. With `inline=True`, no thread runs and `post` is unused: `submit` runs the job and
    its callback before it returns, under the same rules (for tests and for scripts).
    """

    def __init__(self, post: Post, *, inline: bool = False) -> None:
        self.submitted: Callable[[], None] | None = None
        """Called at the end of every `submit`, on the caller's thread: whoever shows jobs begins to look."""
        self._post = post
        self._inline = inline
        self._changed = threading.Condition()
        # Everything below requires the lock of `_changed`, which the holding thread may acquire again.
        self._generations = itertools.count(1)
        self._newest: dict[str, int] = {}
        self._mailbox: dict[str, _Ticket] = {}
        self._outbox: dict[str, _Letter] = {}
        self._running: _Running | None = None
        self._posted = False
        self._closed = False
        self._worker: threading.Thread | None = None

    def submit(
        self,
        job: Callable[[CancelToken], Result],
        done: Callable[[Result], None],
        failed: Callable[[BaseException], None],
        key: str = "run",
    ) -> int:
        """Run `job(token)` soon and answer, through `post`, with `done(result)` or `failed(error)`.

        A newer submission of the same `key`, or `close`, suppresses the answer. Returns
        the submission's generation: numbers rise by one over all keys. After `close` it does nothing.
        """
        with self._changed:
            ticket = _Ticket(key, next(self._generations), job, done, failed, CancelToken())
            if self._closed:
                return ticket.generation
            self._newest[key] = ticket.generation
            self._outbox.pop(key, None)
            if self._running is not None and self._running.key == key:
                self._running.token.cancel()
            if not self._inline:
                self._mailbox[key] = ticket
                self._start_worker()
                self._changed.notify_all()
        if self._inline:
            letter = _answer(ticket)
            if letter is not None and self._is_wanted(letter):
                letter.callback(letter.content)
        elif self.submitted is not None:
            self.submitted()
        return ticket.generation

    def busy(self) -> Busy | None:
        """The running job that a caller waits for; None if no such job runs."""
        with self._changed:
            running = self._running
            if running is None or running.token.cancelled or running.key == ANSWERED:
                return None
            return Busy(running.key, time.monotonic() - running.began, running.token.share)

    def stop(self, key: str) -> bool:
        """Cancel the newest submission of `key`, running or queued: it answers `failed(Stopped())` at once.

        A job in the middle of a stage ends at its next check; its result is dropped. Returns whether
        a job was cancelled.
        """
        with self._changed:
            running = self._running
            if running is not None and (running.key != key or running.token.cancelled):
                running = None
            given_up = self._mailbox.pop(key, running)
            if given_up is None:
                return False
            if running is not None:
                running.token.cancel()
            generation = self._newest[key] = next(self._generations)
        self._send(_Letter(key, generation, given_up.failed, Stopped()))
        return True

    @property
    def idle(self) -> bool:
        """True if the worker has no job and none is queued; every result has been posted."""
        with self._changed:
            return self._is_idle()

    def is_busy(self, key: str = "run") -> bool:
        """True if a submission of `key` is queued, running or not yet delivered; false after the delivery.

        A caller that wants pictures during a drag, and not only after it, submits its newest edit when this
        turns false.
        """
        with self._changed:
            running = self._running is not None and self._running.key == key
            return running or key in self._mailbox or key in self._outbox

    def wait(self, timeout: float | None = None) -> bool:
        """Block until `idle`, at most `timeout` seconds; return `idle`. Never call it in a window."""
        with self._changed:
            return self._changed.wait_for(self._is_idle, timeout)

    def close(self, timeout: float = 0.25) -> bool:
        """Cancel everything and end the worker; no callback follows. Safe to call again.

        Waits at most `timeout` seconds for a job in the middle of a stage, and returns whether the worker has
        ended. If it has not, the process must end through `end_process`.
        """
        with self._changed:
            self._closed = True
            self._mailbox.clear()
            self._outbox.clear()
            if self._running is not None:
                self._running.token.cancel()
            worker = self._worker
            self._changed.notify_all()
        if worker is None or worker is threading.current_thread():
            return True
        worker.join(timeout)
        if worker.is_alive():
            return False
        atexit.unregister(self._close_at_exit)
        return True

    def _close_at_exit(self) -> None:
        """Close for programs that do not: a long stage delays the exit, but does not crash it."""
        self.close(EXIT_WAIT_S)

    def _is_idle(self) -> bool:
        return not self._mailbox and self._running is None

    def _is_wanted(self, letter: _Letter) -> bool:
        with self._changed:
            return not self._closed and self._newest[letter.key] == letter.generation

    def _start_worker(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._work, name="attnviz-compute", daemon=True)
            self._worker.start()
            atexit.register(self._close_at_exit)

    def _work(self) -> None:
        while (ticket := self._take()) is not None:
            try:
                self._send(_answer(ticket))
            finally:
                # An idle worker must not keep the last job and its arrays alive.
                del ticket
                with self._changed:
                    self._running = None
                    self._changed.notify_all()

    def _take(self) -> _Ticket | None:
        """The next job, or None after the scheduler was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._mailbox))
            if self._closed:
                return None
            ticket = self._mailbox.pop(next(iter(self._mailbox)))
            self._running = _Running(
                ticket.key, ticket.generation, ticket.token, ticket.failed, time.monotonic()
            )
            return ticket

    def _send(self, letter: _Letter | None) -> None:
        """Place a letter that is still wanted in the outbox, and ensure that one delivery is pending."""
        if letter is None:
            return
        with self._changed:
            if not self._is_wanted(letter):
                return
            # From here on the key is busy by its letter only. The letter may be delivered before this thread
            # continues, and its receiver must not wait for another one.
            if self._running is not None and self._running.generation == letter.generation:
                self._running = replace(self._running, key=ANSWERED)
            self._outbox[letter.key] = letter
            post_it = not self._posted
            self._posted = True
        if post_it:
            self._post(self._deliver)

    def _deliver(self) -> None:
        """On the caller's thread: call back for one key; schedule another delivery for the others."""
        with self._changed:
            self._posted = False
            if not self._outbox:  # dropped in the meantime
                return
            letter = self._outbox.pop(next(iter(self._outbox)))
            again = self._posted = bool(self._outbox)
        if again:
            self._post(self._deliver)
        letter.callback(letter.content)


def _answer(ticket: _Ticket) -> _Letter | None:
    """Run the job; None if it was cancelled."""
    try:
        ticket.token.check()
        result = ticket.job(ticket.token)
    except Cancelled:
        return None
    except KeyboardInterrupt:  # only on the main thread, inline: the user interrupted it at the terminal
        raise
    except SystemExit as error:
        exit_ = JobExit(f"sys.exit({error.code!r})")
        exit_.__cause__ = error
        return _Letter(ticket.key, ticket.generation, ticket.failed, exit_)
    except BaseException as error:
        return _Letter(ticket.key, ticket.generation, ticket.failed, error)
    return _Letter(ticket.key, ticket.generation, ticket.done, result)


def end_process(code: int) -> NoReturn:
    """End the process now, with a job in the middle of a stage: after `Scheduler.close` has returned False.

    An ordinary exit is unsafe then. OpenBLAS joins its threads and unmaps its buffers while the product is
    still running: the process hangs for ever or crashes. Torch aborts when its thread requests an interpreter
    that has ended. Standard streams and logs are flushed; `atexit` functions and destructors do not run, so
    save first.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a program without a console has no streams
            stream.flush()
    os._exit(code)
