"""`Watched`: a run in turns of less than a tenth of a second, each with a picture of all heads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attnviz.compute.execute import execute_job
from attnviz.core.head_scores import Head
from attnviz.core.progress import Check, never_cancelled
from attnviz.engines.engine import Engine
from attnviz.errors import InputError, Message
from attnviz.model.spec.experiment import Experiment
from attnviz.training.file import begun
from attnviz.training.optimiser import Settings
from attnviz.training.run import Course, HeadPlace, Measures, Moment, Record, Training, scores_of
from attnviz.training.tasks import Sampler

TURN_S = 0.05
"""Seconds of a turn with its picture: with a measure and what is painted, ten pictures a second follow."""
MOST_SHARE = 0.15
"""The share of the time that pictures take at most: turns of a large model are longer."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A run at one step, and the curves up to its last one.

    `heads` are those of `experiment`, which has the weights of the step, on the first held-out text; `scores`
    are theirs. `steps` are the kept steps and the last one. `reason` says why the run ended, None otherwise.
    """

    step: int
    experiment: Experiment
    heads: Mapping[HeadPlace, Head]
    scores: Mapping[tuple[str, str, int], float]
    moments: tuple[Moment, ...]
    measures: tuple[Measures, ...]
    steps: tuple[int, ...]
    nbytes: int
    record: Record
    reason: Message | None = None


class Watched:
    """A run that goes on in turns; one worker uses it at a time."""

    def __init__(self, training: Training, settings: Settings) -> None:
        self.training, self.settings = training, settings
        self._picture_s = 0.0
        """Seconds of the last picture."""
        self._lost: tuple[Moment, ...] = ()
        """The steps before the run diverged, behind its last kept state."""

    def turn(
        self,
        *,
        start: int | None = None,
        most: int | None = None,
        check: Check = never_cancelled,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Picture:
        """Take steps for a turn, or `most` steps, from the kept step `start` on, and picture the last one.

        A run that diverges returns to its last kept state, and the picture has the reason.
        """
        training, course, reason = self.training, self.training.course, None
        if start is not None and start != training.step:
            training.rewind(start)
        self._lost = ()
        until = time.monotonic() + max(TURN_S - self._picture_s, self._picture_s * (1 / MOST_SHARE - 1))
        last = self.settings.steps if most is None else min(training.step + most, self.settings.steps)
        try:
            while training.step < last and not is_stopped():
                check()
                training.advance()
                if training.step % course.measured == 0 or training.step == self.settings.steps:
                    training.measure()
                if most is None and time.monotonic() >= until:
                    break
            return self.look(training.step)
        except InputError as error:
            reason = error.message
        kept, moments = max(training.states), tuple(training.curves.moments)
        training.rewind(kept)
        self._lost = moments[len(training.curves.moments) :]
        return self.look(kept, reason)

    def look(self, step: int, reason: Message | None = None) -> Picture:
        """The picture of the last step, or of a kept one; nothing changes."""
        begun, training = time.monotonic(), self.training
        if step == training.step:
            experiment, heads = training.pictured()
        else:
            experiment = training.at(step)
            heads = training.heads(experiment)
        picture = Picture(
            step,
            experiment,
            heads,
            scores_of(heads),
            (*training.curves.moments, *self._lost),
            tuple(training.curves.measures),
            tuple(sorted({*training.states, training.step})),
            training.nbytes,
            training.record(),
            reason,
        )
        self._picture_s = max(time.monotonic() - begun, self._picture_s / 2)
        return picture

    def change(self, course: Course, settings: Settings) -> None:
        """Take the next steps with another batch size, rate, decay or number of steps."""
        self.settings = settings
        self.training.change(course, settings)


def resume(experiment: Experiment, record: Record, engine: str = "numpy", device: str = "auto") -> Watched:
    """A run that goes on from its record. Raises as `train` does."""
    return Watched(begun(experiment, record, engine, device).training, record.settings)


def begin(
    experiment: Experiment,
    sampler: Sampler,
    course: Course,
    settings: Settings,
    engine: str = "numpy",
    device: str = "auto",
) -> Watched:
    """A run before its first step, which is measured. Raises as `train` does."""

    def job(on: Engine) -> Watched:
        training = Training(on, experiment, sampler, course, settings)
        training.measure()
        return Watched(training, settings)

    return execute_job(experiment, job, engine, device, passes=6 * course.batch)
