"""`TrainingLive`: the run that is watched, turn by turn in a worker of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.scheduler import Scheduler
from attnviz.core.progress import Progress
from attnviz.errors import Message
from attnviz.gui.live.answer import Answer

if TYPE_CHECKING:
    from attnviz.model.spec.experiment import Experiment
    from attnviz.training.optimiser import Settings
    from attnviz.training.run import Course, Record
    from attnviz.training.tasks import Sampler
    from attnviz.training.turns import Picture, Watched


@dataclass(frozen=True, eq=False)
class Plan:
    """A run to begin: the model, its task, and the engine."""

    experiment: Experiment
    sampler: Sampler
    course: Course
    settings: Settings
    engine: str
    device: str
    record: Record | None = None
    """A run of the model that goes on, with this course and these settings."""
    shown: int | None = None
    """The step of it that is shown first; None: the last one."""


class Stop:
    """Set on the window's thread, read in the worker: the turn under way ends after its step."""

    def __init__(self) -> None:
        self.is_set = False


@dataclass(frozen=True, eq=False)
class Turn:
    """One question: steps from the step `start` on (`most` of them at most), or with 0 only its picture.

    Without a run, the plan is begun first.
    """

    plan: Plan
    watched: Watched | None
    start: int | None
    most: int | None
    stop: Stop = field(default_factory=Stop)


def compute(turn: Turn, check: Progress) -> tuple[Watched, Picture]:
    """The run and its picture, in a worker."""
    from attnviz.training.turns import begin, resume

    plan, where = turn.plan, (turn.plan.engine, turn.plan.device)
    watched = turn.watched
    if watched is None and plan.record is not None:
        watched = resume(plan.experiment, plan.record, *where)
    elif watched is None:
        watched = begin(plan.experiment, plan.sampler, plan.course, plan.settings, *where)
    if turn.most == 0:
        return watched, watched.look(watched.training.step if turn.start is None else turn.start)
    watched.change(plan.course, plan.settings)
    picture = watched.turn(start=turn.start, most=turn.most, check=check, is_stopped=lambda: turn.stop.is_set)
    return watched, picture


class TrainingLive(QObject):
    """Plays a run, shows its kept states, and forgets it with its plan."""

    changed = Signal()
    """Another picture has come, or a problem, or none stays; or the run plays, or has stopped."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._answer: Answer[Turn, tuple[Watched, Picture]] = Answer("training", compute, self, in_turn=True)
        self._answer.answered.connect(self._on_answered)
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(0)
        self._next.timeout.connect(self._go_on)
        self.plan: Plan | None = None
        self.picture: Picture | None = None
        """The picture that is shown; None while the run is begun."""
        self.is_playing = False
        self._watched: Watched | None = None
        self._step = 0
        """The step that is shown, or is to be."""

    def serve(self, scheduler: Scheduler) -> None:
        """Have this worker compute."""
        self._answer.serve(scheduler)

    @property
    def problem(self) -> Message | None:
        """Why the plan has no run."""
        return self._answer.problem

    @property
    def is_due(self) -> bool:
        """True while a turn is under way."""
        return self._answer.is_due

    def begin(self, plan: Plan | None) -> None:
        """Forget the run, and show the first state of another one, or none."""
        self._forget()
        self.plan = plan
        if plan is not None:
            self._ask(Turn(plan, None, plan.shown, 0))
        self.changed.emit()

    @Slot()
    def forget(self) -> None:
        """Nothing of the run stays."""
        self.begin(None)

    def change(self, plan: Plan) -> None:
        """Take the next steps with the settings of another plan for the same run."""
        self.plan = plan

    def play(self) -> None:
        """Go on from the step that is shown: what came after it is dropped."""
        if self.can_go_on and not self.is_playing:
            self.is_playing = True
            self._go_on()

    def pause(self) -> None:
        """Stop after the step under way, whose picture follows."""
        if self.is_playing:
            self.is_playing = False
            self._next.stop()
            if self._answer.asked is not None:
                self._answer.asked.stop.is_set = True
            self.changed.emit()

    def step(self) -> None:
        """Pause, and take one step from the one that is shown."""
        self.pause()
        if self.can_go_on and not self.is_due:
            self._turn(1)

    def look(self, step: int) -> None:
        """Pause, and show a kept step, or the last one."""
        self.pause()
        if self.plan is not None and self.picture is not None and step in self.picture.steps:
            self._step = step
            self._ask(Turn(self.plan, self._watched, step, 0))

    @property
    def can_go_on(self) -> bool:
        """True if steps remain behind the one that is shown."""
        return self.plan is not None and self.problem is None and self._step < self.plan.settings.steps

    @Slot()
    def _go_on(self) -> None:
        """Take the next turn; the last one is painted while the worker is at it."""
        if self.is_playing and not self.is_due:
            self._turn(None)
        self.changed.emit()

    def _turn(self, most: int | None) -> None:
        assert self.plan is not None
        start = None if self._watched is None else self._step
        self._ask(Turn(self.plan, self._watched, start, most))

    def _ask(self, turn: Turn) -> None:
        self._answer.ask(turn)

    @Slot()
    def _on_answered(self) -> None:
        result = self._answer.result
        if result is None:
            self.is_playing = False
        else:
            self._watched, self.picture = result
            if not self._answer.is_due:
                self._step = self.picture.step
            ended = self.picture.reason is not None or not self.can_go_on
            self.is_playing = self.is_playing and not ended
            if self.is_playing:
                self._next.start()
                return
        self.changed.emit()

    def _forget(self) -> None:
        self._next.stop()
        self._answer.clear()
        self.is_playing, self._watched, self.picture, self._step = False, None, None, 0
