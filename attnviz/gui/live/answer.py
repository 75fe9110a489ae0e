"""`Answer`: what a panel asks of a worker beside the run of the document, and the state of the question.

The question is a frozen value, equal to another one exactly if both have the same answer. A worker computes
it under the key of its job, which the status line announces and cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.errors import Message
from attnviz.gui.failure import failure_message, is_expected

Asked = TypeVar("Asked")
Result = TypeVar("Result")

TURN_MS = 50
"""Interval at which a question that waits for another job looks whether that is done."""


class Outdated(Exception):
    """The numbers of a question, held weakly, are gone: newer ones came, and another question follows."""


class Answer(QObject, Generic[Asked, Result]):
    """The latest question and the latest result. The newest question wins.

    It cancels the one under way; with `in_turn`, that is finished and shown first, so that pictures move
    during a drag. The earlier result stays until the new one arrives, or (`keeps=False`) goes at once; a
    failure takes it away. A question `after` another job waits until no job of that key is under way.
    """

    changed = Signal()
    """Another question is asked, or its result has arrived, or the reason why it has none."""
    answered = Signal()
    """`result` has arrived, or `problem` in its place."""

    def __init__(
        self,
        key: str,
        compute: Callable[[Asked, Progress], Result],
        parent: QObject | None = None,
        *,
        keeps: bool = True,
        in_turn: bool = False,
        after: str = "",
    ) -> None:
        super().__init__(parent)
        self._scheduler: Scheduler | None = None
        self._key, self._compute = key, compute
        self._keeps, self._in_turn, self._after = keeps, in_turn, after
        self.asked: Asked | None = None
        """The latest question."""
        self.result: Result | None = None
        self.of: Asked | None = None
        """The question that `result` answers."""
        self.problem: Message | None = None
        """Why the latest question has no result."""
        self._number = self._begun = 0
        """Number of the latest question, and of the latest that went to the worker."""
        self._is_running = False
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._turn.timeout.connect(self._begin)

    def serve(self, scheduler: Scheduler) -> None:
        """Have this worker compute the answers; before, a question waits."""
        self._scheduler = scheduler

    @property
    def is_due(self) -> bool:
        """True while the latest question waits for its result."""
        return self.asked is not None and self.of is not self.asked and self.problem is None

    @property
    def is_stale(self) -> bool:
        """True if the result is that of an earlier question."""
        return self.result is not None and self.of is not self.asked

    def ask(self, asked: Asked | None) -> None:
        """Ask, unless it is the latest question; None clears."""
        if asked is None:
            self.clear()
        elif asked != self.asked:
            self._ask(asked)

    @Slot()
    def again(self) -> None:
        """Ask the latest question once more: it was cancelled or has failed."""
        if self.asked is not None:
            self._ask(self.asked)

    def take(self, asked: Asked, result: Result) -> None:
        """A question whose result is known already."""
        self.stop()
        self.asked, self.of, self.result = asked, asked, result
        self.changed.emit()

    def stop(self) -> None:
        """Give the latest question up, and its job; an earlier result stays."""
        self._turn.stop()
        self._number += 1
        self.asked = self.problem = None
        self._cancel()

    @Slot()
    def clear(self) -> None:
        """Hold no question and no result."""
        self.stop()
        self.result = self.of = None
        self.changed.emit()

    def _ask(self, asked: Asked) -> None:
        self.asked, self.problem = asked, None
        self._number += 1
        if not self._keeps:
            self.result = self.of = None
        self.changed.emit()
        if self._after:
            self._cancel()
            self._turn.start(0)
        elif not (self._in_turn and self._is_running):
            self._begin()

    @Slot()
    def _begin(self) -> None:
        if self._scheduler is None or self.asked is None or self._begun == self._number:
            return
        if self._after and self._scheduler.is_busy(self._after):
            self._turn.start(TURN_MS)
            return
        self._begun, self._is_running = self._number, True
        asked, number = self.asked, self._number

        def job(token: CancelToken) -> Result:
            return self._compute(asked, token.progress)

        def done(result: Result) -> None:
            if self._ends(number):
                self.result, self.of = result, asked
                self.answered.emit()
                self.changed.emit()
                self._follow()

        def failed(error: BaseException) -> None:
            is_outdated = isinstance(error, Outdated)
            if self._ends(number):
                if not is_outdated:
                    self._fail(error, number)
                self._follow()
            if not is_outdated and not is_expected(error):
                raise error

        self._scheduler.submit(job, done, failed, key=self._key)

    def _fail(self, error: BaseException, number: int) -> None:
        if number == self._number:  # else a newer question takes its turn, whose answer is awaited
            self.result, self.of, self.problem = None, None, failure_message(error)
            self.answered.emit()
            self.changed.emit()

    def _cancel(self) -> None:
        self._is_running = False
        if self._scheduler is not None:
            self._scheduler.stop(self._key)

    def _ends(self, number: int) -> bool:
        """True if the question of this number is still computed; from now on none is."""
        is_wanted = self._is_running and number == self._begun
        self._is_running = self._is_running and not is_wanted
        return is_wanted

    def _follow(self) -> None:
        """Begin with the question that waited for the end of another one."""
        if self._number != self._begun and not self._is_running and self.asked is not None:
            self._begin()
