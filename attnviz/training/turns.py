"""`Watched`: a run in turns of less than a tenth of a second, each with a picture of all heads."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from attnviz.compute.execute import execute_job
from attnviz.core.head_scores import Head
from attnviz.core.progress import Check, never_cancelled
from attnviz.engines.engine import Engine
from attnviz.errors import InputError, Message
from attnviz.model.spec.experiment import Experiment
from attnviz.training.file import begun
from attnviz.training.optimiser import Settings
from attnviz.training.record import Course, HeadPlace, Heads, Kept, Measures, Moment, Record
from attnviz.training.run import Training, scores_of
from attnviz.training.tasks import Sampler, Texts
from attnviz.training.written import ROWS, Prompt, Written, rows, written

TURN_S = 0.05
"""Seconds of a turn with its picture: with a measure and what is painted, ten pictures a second follow."""
MOST_SHARE = 0.15
"""The share of the time that pictures take at most: turns of a large model are longer."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A run at one step, and the curves up to its last one.

    `heads` are those of `experiment`, which has the weights of the step, on the first held-out text; `scores`
    are theirs. `steps` are the kept steps and the last one. `reason` says why the run ended, None otherwise.
    `parts` have the norms of the moments, `off` are the heads that are off in the experiment. `losses` are
    −log p of the `targets` of the texts of the prompt, one after the other, 0 where the task does not ask.
    `written` are words that kept states write. `switched` has the measures of a kept step with other heads
    off than it had.
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
    parts: tuple[str, ...]
    off: Heads
    losses: tuple[float, ...]
    targets: tuple[int, ...]
    prompt: Prompt
    written: tuple[Written, ...]
    switched: Measures | None = None
    reason: Message | None = None


class Beside(NamedTuple):
    """The curves of a run beside another one, up to its step, and why it has ended, None otherwise."""

    step: int
    moments: tuple[Moment, ...]
    measures: tuple[Measures, ...]
    reason: Message | None


class Watched:
    """A run that goes on in turns; one worker uses it at a time."""

    def __init__(self, training: Training, settings: Settings) -> None:
        self.training, self.settings = training, settings
        self._picture_s = 0.0
        """Seconds of the last picture."""
        self._lost: tuple[Moment, ...] = ()
        """The steps before the run diverged, behind its last kept state."""
        self._prompt = Prompt.of(training.held_out)
        self._written: dict[int, tuple[Kept, Written]] = {}
        """The words of kept states."""
        self._reason: Message | None = None
        """Why the run has ended beside another one."""

    def turn(
        self,
        *,
        start: int | None = None,
        most: int | None = None,
        off: Heads | None = None,
        share: float = 1.0,
        check: Check = never_cancelled,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Picture:
        """Take steps for a `share` of a turn, or `most` steps, from the kept step `start` on, and picture the
        last one.

        The heads `off` are switched off before, and all others on; None leaves them as they are. A run that
        diverges returns to its last kept state, and the picture has the reason.
        """
        training = self.training
        if start is not None and start != training.step:
            training.rewind(start)
        if off is not None:
            training.switch(off)
        self._lost = ()
        seconds = share * max(TURN_S - self._picture_s, self._picture_s * (1 / MOST_SHARE - 1))
        last = self.settings.steps if most is None else training.step + most
        try:
            self._advance(last, seconds if most is None else math.inf, check, is_stopped)
            return self.look(training.step, is_quick=True)
        except InputError as error:
            reason = error.message
        kept, moments = max(training.states), tuple(training.curves.moments)
        training.rewind(kept)
        self._lost = moments[len(training.curves.moments) :]
        return replace(self.look(kept), reason=reason)

    def _advance(self, last: int, seconds: float, check: Check, is_stopped: Callable[[], bool]) -> None:
        """Take steps up to one of the run, and measure every few, for some seconds."""
        training, last = self.training, min(last, self.settings.steps)
        until = time.monotonic() + seconds
        while training.step < last and not is_stopped():
            check()
            training.advance()
            if training.step % training.course.measured == 0 or training.step == self.settings.steps:
                training.measure()
            if time.monotonic() >= until:
                break

    def follow(
        self,
        step: int,
        check: Check = never_cancelled,
        is_stopped: Callable[[], bool] = lambda: False,
        seconds: float = TURN_S,
    ) -> Beside:
        """Beside another run: take steps up to that of the other one, for some seconds, without a picture."""
        try:
            if self._reason is None:
                self._advance(step, seconds, check, is_stopped)
        except InputError as error:
            self._reason = error.message
        training = self.training
        curves = training.curves
        return Beside(training.step, tuple(curves.moments), tuple(curves.measures), self._reason)

    def look(self, step: int, off: Heads | None = None, *, is_quick: bool = False) -> Picture:
        """The picture of the last step, or of a kept one.

        Other heads `off` hold for the last step from now on, for a kept one in the picture alone. A quick
        picture has the words of one more state at most.
        """
        if off is not None and step == self.training.step:
            self.training.switch(off)
        begun, training = time.monotonic(), self.training
        own = training.off_at(step)
        off = own if off is None else off
        if step == training.step:
            experiment, heads = training.pictured()
        else:
            experiment = training.at(step, off)
            heads = training.heads(experiment)
        texts = Texts(*(one[: len(self._prompt.ids)] for one in training.held_out))
        scores = scores_of(heads)
        picture = Picture(
            step,
            experiment,
            heads,
            scores,
            (*training.curves.moments, *self._lost),
            tuple(training.curves.measures),
            tuple(sorted({*training.states, training.step})),
            training.nbytes,
            training.record(),
            training.curves.parts,
            off,
            tuple(training.outcome(texts, step, off).losses.ravel().tolist()),
            tuple(texts.targets.ravel().tolist()),
            self._prompt,
            self._rows(1 if is_quick else ROWS),
            None if off == own else training.measured(step, scores, off),
        )
        self._picture_s = max(time.monotonic() - begun, self._picture_s / 2)
        return picture

    def _rows(self, most: int) -> tuple[Written, ...]:
        """The words of the states that have a row, with `most` new ones."""
        training, known = self.training, self._written
        wanted = rows(sorted(training.states))
        self._written = {
            step: known[step] for step in wanted if step in known and known[step][0] is training.states[step]
        }
        missing = [step for step in wanted if step not in self._written]
        for step in missing[:most]:
            self._written[step] = training.states[step], written(training, self._prompt, step)
        return tuple(self._written[step][1] for step in wanted if step in self._written)

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
