"""`TrainingLive`: the run that is watched, turn by turn in a worker of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, overload

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.scheduler import Scheduler
from attnviz.core.progress import Progress
from attnviz.errors import InputError, Message
from attnviz.gui.live.answer import Answer

if TYPE_CHECKING:
    from attnviz.model.spec.experiment import Experiment
    from attnviz.training.differences import Difference
    from attnviz.training.optimiser import Settings
    from attnviz.training.record import Course, HeadPlace, Heads, Record
    from attnviz.training.tasks import Sampler
    from attnviz.training.turns import Beside, Picture, Watched


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
class Other:
    """Run B, which takes the steps of run A: its plan and, once it has begun, the run.

    `difference` is the row of `DIFFERENCES` that made it; empty for the run before.
    """

    plan: Plan
    difference: str
    watched: Watched | None = None


@dataclass(frozen=True, eq=False)
class Turn:
    """One question: steps from the step `start` on (`most` of them at most), or with 0 only its picture.

    Without a run, the plan is begun first. The heads `off` are switched off before; None leaves them as they
    are.
    """

    plan: Plan
    watched: Watched | None
    start: int | None
    most: int | None
    off: Heads | None = None
    other: Other | None = None
    stop: Stop = field(default_factory=Stop)


class Answered(NamedTuple):
    """A run and its picture; of run B itself and its curves."""

    watched: Watched
    picture: Picture
    other: Other | None
    beside: Beside | None


def compute(turn: Turn, check: Progress) -> Answered:
    """The run and its picture, in a worker.

    A run B that is behind takes all the steps of the turn: the other one waits for it. A turn that is stopped
    brings it to the same step.
    """
    plan, other, stopped = turn.plan, turn.other, lambda: turn.stop.is_set
    watched = _begun(plan) if turn.watched is None else turn.watched
    step = watched.training.step if turn.start is None else turn.start
    if turn.most == 0:
        picture = watched.look(step, turn.off)
        return Answered(watched, picture, *_follow(other, 0, plan, check, stopped))
    watched.change(plan.course, plan.settings)
    if other is not None:
        other, beside = _follow(other, step, plan, check, stopped)
        if beside.reason is None and beside.step < step:
            return Answered(watched, watched.look(step, turn.off, is_quick=True), other, beside)
    share = 1.0 if other is None else 0.5
    picture = watched.turn(
        start=turn.start, most=turn.most, off=turn.off, share=share, check=check, is_stopped=stopped
    )
    return Answered(watched, picture, *_follow(other, picture.step, plan, check, lambda: False))


def _begun(plan: Plan) -> Watched:
    from attnviz.training.turns import begin, resume

    where = plan.engine, plan.device
    if plan.record is not None:
        return resume(plan.experiment, plan.record, *where)
    return begin(plan.experiment, plan.sampler, plan.course, plan.settings, *where)


@overload
def _follow(
    other: Other, step: int, plan: Plan, check: Progress, is_stopped: Callable[[], bool]
) -> tuple[Other, Beside]: ...
@overload
def _follow(
    other: Other | None, step: int, plan: Plan, check: Progress, is_stopped: Callable[[], bool]
) -> tuple[Other | None, Beside | None]: ...
def _follow(
    other: Other | None, step: int, plan: Plan, check: Progress, is_stopped: Callable[[], bool]
) -> tuple[Other | None, Beside | None]:
    """Run B, which takes steps up to one of run A; one that cannot begin has its reason.

    A run with a difference takes the settings of run A, the run before keeps its own.
    """
    from attnviz.training.differences import DIFFERENCE_BY_ID
    from attnviz.training.turns import Beside

    if other is None:
        return None, None
    try:
        watched = _begun(other.plan) if other.watched is None else other.watched
    except InputError as error:
        return other, Beside(0, (), (), error.message)
    row = DIFFERENCE_BY_ID.get(other.difference)
    if row is None:
        watched.change(other.plan.course, replace(other.plan.settings, steps=plan.settings.steps))
    else:
        watched.change(plan.course, row.settings(plan.settings))
    return replace(other, watched=watched), watched.follow(step, check, is_stopped)


def other_of(plan: Plan, row: Difference | None) -> Other | None:
    """Run B with a difference from a run; None without one, or where the model cannot have it."""
    if row is None:
        return None
    try:
        made = row.model(plan.experiment)
    except ValueError:
        return None
    return Other(replace(plan, experiment=made, settings=row.settings(plan.settings)), row.id)


def has_the_texts(one: Plan, other: Plan) -> bool:
    """True for two runs of the same task with the same sizes and words."""
    known, others = one.experiment.vocabulary, other.experiment.vocabulary
    if known is None or others is None:
        return False
    return one.sampler == other.sampler and known.tokens == others.tokens


class TrainingLive(QObject):
    """Plays a run, shows its kept states, and forgets it with its plan."""

    changed = Signal()
    """Another picture has come, or a problem, or none stays; or the run plays, or has stopped."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._answer: Answer[Turn, Answered] = Answer("training", compute, self, in_turn=True)
        self._answer.answered.connect(self._on_answered)
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(0)
        self._next.timeout.connect(self._go_on)
        self.plan: Plan | None = None
        self.picture: Picture | None = None
        """The picture that is shown; None while the run is begun."""
        self.other: Other | None = None
        self.beside: Beside | None = None
        """The curves of run B; None while it is begun."""
        self.is_playing = False
        self.speed = 0
        """Steps in a second; 0: without a pause."""
        self._watched: Watched | None = None
        self._step = 0
        """The step that is shown, or is to be."""
        self._off: Heads | None = None
        """The heads that are to be off from the shown step on; None: those that are."""

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

    def begin(self, plan: Plan | None, other: Other | None = None, *, waits: bool = False) -> None:
        """Forget the run, and show the first state of another one, beside a run B, or none.

        One that `waits` begins with its first step.
        """
        self._forget()
        self.plan, self.other = plan, other
        if plan is not None and not waits:
            self._ask(Turn(plan, None, plan.shown, 0, other=other))
        self.changed.emit()

    @property
    def is_waiting(self) -> bool:
        """True for a run that begins with its first step."""
        return self.plan is not None and self.picture is None and not self.is_due and self.problem is None

    def compare(self, other: Other | None) -> None:
        """Pause, and show another run B, or none; it takes the steps of the run once that plays."""
        self.pause()
        self.other, self.beside = other, None
        if self.plan is not None:
            self._ask(Turn(self.plan, self._watched, self._start, 0, self._off, other))
        self.changed.emit()

    def kept(self) -> Other | None:
        """The run as a run B beside another one; None before its first step."""
        if self.plan is None or self._watched is None or self.picture is None or not self.picture.moments:
            return None
        return Other(self.plan, "", self._watched)

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

    def drop_before(self) -> None:
        """The next run has none before it as run B."""
        self._watched = None
        if self.other is not None and not self.other.difference:
            self.other = self.beside = None

    def swap(self) -> None:
        """Pause; run B becomes run A, seen at its last step, and run A run B."""
        kept, other = self.kept(), self.other
        if kept is None or other is None or other.watched is None or self.is_due:
            return
        self._forget()
        self.plan, self._watched, self.other = other.plan, other.watched, kept
        self._step = other.watched.training.step
        self._ask(Turn(self.plan, self._watched, None, 0, None, kept))
        self.changed.emit()

    def look(self, step: int) -> None:
        """Pause, and show a kept step, or the last one."""
        self.pause()
        if self.plan is not None and self.picture is not None and step in self.picture.steps:
            self._step, self._off = step, None
            self._ask(Turn(self.plan, self._watched, step, 0, other=self.other))

    def switch(self, place: HeadPlace) -> None:
        """Switch a head off, or on again: its picture answers, and the next steps are without it."""
        if self.plan is None or self.picture is None:
            return
        off = set(self.picture.off if self._off is None else self._off) ^ {place}
        self._off = tuple(head for head in self.picture.heads if head in off)
        if not self.is_playing:
            self._ask(Turn(self.plan, self._watched, self._step, 0, self._off, self.other))

    def set_speed(self, speed: int) -> None:
        """Take `speed` steps in a second; 0: without a pause."""
        self.speed = speed
        self._next.setInterval(1000 // speed if speed else 0)
        if self.is_playing and self._answer.asked is not None:
            self._answer.asked.stop.is_set = True

    @property
    def can_go_on(self) -> bool:
        """True if steps remain behind the one that is shown, or run B has not come so far."""
        if self.plan is None or self.problem is not None:
            return False
        beside, last = self.beside, self.plan.settings.steps
        is_behind = beside is not None and beside.reason is None and beside.step < min(self._step, last)
        return self._step < last or is_behind

    @Slot()
    def _go_on(self) -> None:
        """Take the next turn; the last one is painted while the worker is at it."""
        if self.is_playing and not self.is_due:
            self._turn(1 if self.speed else None)
        self.changed.emit()

    @property
    def _start(self) -> int | None:
        return None if self._watched is None else self._step

    def _turn(self, most: int | None) -> None:
        assert self.plan is not None
        self._ask(Turn(self.plan, self._watched, self._start, most, self._off, self.other))

    def _ask(self, turn: Turn) -> None:
        self._answer.ask(turn)

    @Slot()
    def _on_answered(self) -> None:
        result = self._answer.result
        if result is None:
            self.is_playing = False
        else:
            of = self._answer.of
            self._watched, self.picture, other, beside = result
            if of is not None and other is not None and self._is_other(of.other):
                self.other, self.beside = other, beside
            if of is not None and self._off == of.off and self.picture.switched is None:
                self._off = None
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
        self.other = self.beside = self._off = None

    def _is_other(self, asked: Other | None) -> bool:
        """True if a question had the present run B."""
        present = self.other
        return asked is not None and present is not None and asked.plan is present.plan
