"""Progress of a run: reported between its stages by the computation, read by whoever waits.

A `Progress` is also a `Check`: calling it raises if the run was cancelled. A part of a job gets its own
progress, from 0 to 1, and is independent of the others.
"""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[[], None]
Report = Callable[[float], None]
"""Takes the completed share of a job, from 0 to 1."""


def never_cancelled() -> None:
    """The check of a job that nobody cancels."""


def _unheard(share: float) -> None:
    """The report of a job that nobody watches."""


class Progress:
    """A check, with a report of the completed share: `start` to `end` of the whole job."""

    __slots__ = ("_check", "_end", "_report", "_start")

    def __init__(self, check: Check, report: Report = _unheard, start: float = 0.0, end: float = 1.0) -> None:
        self._check, self._report = check, report
        self._start, self._end = start, end

    def __call__(self) -> None:
        """Raise what the check raises if the job was cancelled."""
        self._check()

    def at(self, share: float) -> None:
        """Report that this part is complete to `share`, from 0 to 1; raise if the job was cancelled."""
        self._report(self._start + share * (self._end - self._start))
        self._check()

    def part(self, start: float, end: float) -> Progress:
        """The progress between two shares of this part."""
        size = self._end - self._start
        return Progress(self._check, self._report, self._start + start * size, self._start + end * size)

    def step(self, index: int, count: int) -> Progress:
        """The progress of one of `count` equal parts, counted from 0."""
        return self if count == 1 else self.part(index / count, (index + 1) / count)


def progress_of(check: Check) -> Progress:
    """`check` itself if it is a progress, else a progress without a listener."""
    return check if isinstance(check, Progress) else Progress(check)
