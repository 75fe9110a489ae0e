"""A run: steps on the texts of a task, its curves, and the states that are kept on its way."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnviz.compute.execute import execute, execute_job
from attnviz.core.dims import Array
from attnviz.core.head_scores import HEAD_SCORE_BY_ID, Head, Repeats
from attnviz.core.progress import Check, never_cancelled
from attnviz.core.text import number
from attnviz.engines.engine import Engine
from attnviz.errors import FieldError, InputError, Message, must_be, of_length
from attnviz.model.edit.edits import set_ids
from attnviz.model.edit.intact import off_heads, switch_off
from attnviz.model.spec.experiment import Experiment
from attnviz.training.batch import NOT_COUNTED, Batch, Outcome
from attnviz.training.optimiser import Optimiser, Settings
from attnviz.training.record import Course, Curves, HeadPlace, Heads, Kept, Measures, Moment, Record
from attnviz.training.tasks import Sampler, Texts
from attnviz.training.words import ids_of_words

Ids = NDArray[np.int64]
SCORES = ("previous", "induction", "entropy")
"""The scores of the heads that a run follows: rows of `HEAD_SCORES`."""
HELD_OUT_TEXTS = 64
"""Held-out texts whose loss and accuracy are measured."""
HELD_OUT = 2**31
"""The step whose texts are held out: no step of a run has this number."""
KEPT_BYTES = 64 * 2**20
"""Bytes of the states that a run keeps."""


class Diverged(InputError):
    """A run whose loss is no number any more."""


class Training:
    """A run under way on one engine; `advance` takes a step."""

    def __init__(
        self, engine: Engine, experiment: Experiment, sampler: Sampler, course: Course, settings: Settings
    ) -> None:
        self._engine, self._sampler, self.course = engine, sampler, course
        self._words = ids_of_words(experiment, sampler.n_words)
        self.experiment = experiment
        self._batch = Batch(engine, experiment, sampler.n_tokens)
        self._batches = {off_heads(experiment): self._batch}
        """The mechanism with each choice of heads that are off."""
        self.parameters = self._batch.parameters()
        self._optimiser = Optimiser(engine, settings, self.parameters)
        self.step = 0
        owners = self._batch.owners()
        self.curves = Curves(parts=tuple(dict.fromkeys(owners.values())))
        self._part_of = np.array([self.curves.parts.index(owners[name]) for name in self.parameters])
        self.states: dict[int, Kept] = {}
        self._kept = course.kept
        self.held_out = self.texts(HELD_OUT, HELD_OUT_TEXTS, is_held_out=True)
        if self.off:
            self._optimiser.frozen = self._numbers_of(self.off)
        self._last: tuple[Texts, Outcome] | None = None
        self._record: Record | None = None
        """The record of the present state, once made."""
        self._pictured: tuple[int, Experiment, dict[HeadPlace, Head]] | None = None
        """The step, experiment and heads of the last picture."""
        self._keep()

    def texts(self, step: int, count: int, *, is_held_out: bool = False) -> Texts:
        """The texts of a step in ids of the vocabulary, the same whenever they are drawn."""
        rng = np.random.default_rng([self.course.seed, step])
        drawn = self._sampler.texts(rng, count, is_held_out=is_held_out)
        targets = np.where(drawn.targets >= 0, self._words[drawn.targets], NOT_COUNTED)
        return Texts(self._words[drawn.ids], targets)

    def advance(self) -> Moment:
        """One step. Raises `Diverged` for a loss or a gradient that is no number; the parameters stay."""
        self._record = None
        texts = self.texts(self.step, self.course.batch)
        outcome = self._batch.loss_and_gradients(self.parameters, texts.ids, texts.targets, self.step)
        if not np.isfinite(outcome.loss):
            self._refuse(outcome.loss)
        taken = self._optimiser.step(self.parameters, outcome.gradients)
        self._last = texts, outcome
        squares = np.bincount(self._part_of, np.square(taken.norms), len(self.curves.parts))
        moment = Moment(self.step, outcome.loss, taken.norm, taken.rate, tuple(np.sqrt(squares).tolist()))
        self.curves.moments.append(moment)
        self.step += 1
        if self.step % self._kept == 0:
            self._keep()
        return moment

    def _refuse(self, loss: float) -> None:
        clip = self._optimiser.settings.clip
        lengths = [(min(one.norm, clip or one.norm) * one.rate, one.step) for one in self.curves.moments]
        if not lengths:
            raise Diverged(
                Message("The loss must be a number; it is {loss} before the first step.", loss=number(loss))
            )
        length, longest = max(lengths)
        message = Message(
            "The loss must be a number; it is {loss} at step {step}. The longest step before was {length}, "
            "the learning rate times the norm of the gradient at step {longest}.",
            loss=number(loss),
            step=self.step,
            length=number(length),
            longest=longest,
        )
        raise Diverged(message)

    def measure(self) -> Measures:
        """Measure the present state, and add it to the curves."""
        found = self.measured(self.step, self.scores(), self.off)
        self.curves.measures.append(found)
        self._record = None
        return found

    def measured(self, step: int, scores: dict[tuple[str, str, int], float], off: Heads) -> Measures:
        """The measures of the present step, or a kept one, with these scores and heads off."""
        held_out = self.outcome(self.held_out, step, off)
        trained, last = float("nan"), self._last
        if last is not None and step == self.step:
            trained = self._accuracy(*last)
        return Measures(step, held_out.loss, self._accuracy(self.held_out, held_out), trained, scores, off)

    def scores(self) -> dict[tuple[str, str, int], float]:
        """The scores of every head on the first held-out text."""
        return scores_of(self.pictured()[1])

    def pictured(self) -> tuple[Experiment, dict[HeadPlace, Head]]:
        """`present` and its `heads`, made once for each step."""
        if self._pictured is None or self._pictured[0] != self.step:
            experiment = self.present()
            self._pictured = self.step, experiment, self.heads(experiment)
        return self._pictured[1:]

    def heads(self, experiment: Experiment) -> dict[HeadPlace, Head]:
        """Every head of `present` or of a kept state, on the first held-out text."""
        trace = execute(experiment, self._engine.name, self._engine.device)
        repeats = Repeats(self.held_out.ids[0])
        found: dict[HeadPlace, Head] = {}
        for name in trace.sites:
            site = trace.site(name)
            for head in range(site.experiment.heads.n_heads):
                weights = site.matrix(site.raw_map, head, keep=False)
                found[name, head] = Head(weights, site.unseen(head), repeats)
        return found

    def present(self) -> Experiment:
        """The experiment with the present parameters, and the first held-out text as its tokens."""
        return self._with(self.parameters, self.off)

    def at(self, step: int, off: Heads | None = None) -> Experiment:
        """The experiment at a kept step, with the heads off that were, or others. Raises `FieldError` for
        another step.
        """
        kept = self._kept_state(step)
        return self._with(kept.numbers, kept.off if off is None else off)

    @property
    def off(self) -> Heads:
        """The heads that are off, in data-flow order."""
        return off_heads(self.experiment)

    def off_at(self, step: int) -> Heads:
        """The heads that are off at the present step, or were at a kept one."""
        return self.off if step == self.step else self._kept_state(step).off

    def switch(self, off: Heads) -> None:
        """From the next step on, these heads add nothing and learn nothing, and all others do.

        What they do to the loss is measured at once.
        """
        if off != self.off:
            self._set_off(off)
            self._pictured = None
            self.measure()

    def _set_off(self, off: Heads) -> None:
        self._batch = self._batch_with(off)
        self.experiment = switch_off(self.experiment, off)
        self._optimiser.frozen = self._numbers_of(off) if off else {}

    def _batch_with(self, off: Heads) -> Batch:
        if off not in self._batches:
            given = switch_off(self.experiment, off)
            self._batches[off] = Batch(self._engine, given, self._sampler.n_tokens)
        return self._batches[off]

    def _numbers_of(self, off: Heads) -> dict[str, Array]:
        """Masks of the numbers by which the loss has a derivative only while these heads are on."""
        with self._engine.active():
            without, present = (
                self._batch_with(heads).loss_and_gradients(self.parameters, *self.held_out).gradients
                for heads in (off, ())
            )
            masks = {name: (without[name] == 0) & (g != 0) for name, g in present.items() if name in without}
            return {name: mask for name, mask in masks.items() if bool(self._engine.xp.any(mask))}

    def outcome(self, texts: Texts, step: int, off: Heads | None = None) -> Outcome:
        """The loss and the logits of texts at the present step, or a kept one; see `at`."""
        if step == self.step:
            return self._batch_with(self.off if off is None else off).loss(self.parameters, *texts)
        kept, engine = self._kept_state(step), self._engine
        with engine.active():
            numbers = {name: engine.asarray(one) for name, one in kept.numbers.items()}
        return self._batch_with(kept.off if off is None else off).loss(numbers, *texts)

    def predictions(self, outcome: Outcome) -> Ids:
        """The most probable next token of each position, (text, token)."""
        return outcome.predictions(self._engine)

    def rewind(self, step: int) -> None:
        """Go back to a kept step: what was measured and kept after it is dropped, and the run goes on from
        there as a fresh run to it would. Raises `FieldError` for another step.
        """
        self._go_to(step, self._kept_state(step))
        curves = self.curves
        curves.moments = [one for one in curves.moments if one.step < step]
        curves.measures = [one for one in curves.measures if one.step <= step]
        self.states = {at: kept for at, kept in self.states.items() if at <= step}

    def _go_to(self, step: int, state: Kept) -> None:
        """Take the numbers of a state."""
        engine = self._engine
        with engine.active():
            for name, numbers in state.numbers.items():
                self.parameters[name][...] = engine.asarray(numbers)
            self._optimiser.moments = tuple(
                engine.xp.asarray(engine.asarray(one), copy=True) for one in state.moments
            )
        self.step = self._optimiser.count = step
        self._set_off(state.off)
        self._last = self._pictured = self._record = None

    def record(self) -> Record:
        """The run as it is, the same as long as nothing changes; a training of the same experiment that
        restores it goes on where this one is.
        """
        if self._record is None:
            curves, states = self.curves, dict(self.states)
            self._record = Record(
                self._sampler,
                self.course,
                self._optimiser.settings,
                self.step,
                self._kept,
                tuple(curves.moments),
                tuple(curves.measures),
                states,
                states[self.step] if self.step in states else self._state(),
            )
        return self._record

    def restore(self, record: Record) -> None:
        """Go on from a record of a run of the same experiment, task, course and optimiser."""
        parts = self.curves.parts
        strange = next((one for one in record.moments if len(one.norms) != len(parts)), None)
        if strange is not None:
            each = must_be("one norm for each of {n} parts", n=len(parts))
            raise FieldError(f"moments[{strange.step}].norms", of_length(len(strange.norms)), each)
        self.curves = Curves(list(record.moments), list(record.measures), parts)
        self.states, self._kept = dict(record.states), record.spacing
        self._go_to(record.step, record.present)
        self._record = record

    def change(self, course: Course, settings: Settings) -> None:
        """Take the next steps with another size of the batch, or other settings of the same optimiser."""
        if (course, settings) != (self.course, self._optimiser.settings):
            self._record = None
        self.course, self._optimiser.settings = course, settings

    @property
    def nbytes(self) -> int:
        """The bytes of the kept states."""
        return sum(one.nbytes for one in self.states.values())

    def _kept_state(self, step: int) -> Kept:
        if step not in self.states:
            raise FieldError("step", step, must_be("a kept step, such as {last}", last=max(self.states)))
        return self.states[step]

    def _with(self, parameters: dict[str, Array], off: Heads) -> Experiment:
        given = switch_off(self.experiment, off)
        return set_ids(self._batch.put(given, parameters), self.held_out.ids[0].tolist())

    def _accuracy(self, texts: Texts, outcome: Outcome) -> float:
        """The share of right answers."""
        is_asked = texts.targets >= 0
        return float((self.predictions(outcome) == texts.targets)[is_asked].mean())

    def _state(self) -> Kept:
        """A copy of the present numbers."""
        with self._engine.active():
            copied = {name: self._engine.to_numpy(one).copy() for name, one in self.parameters.items()}
            moments = tuple(self._engine.to_numpy(one).copy() for one in self._optimiser.moments)
        return Kept(copied, moments, self.off)

    def _keep(self) -> None:
        """Keep the present state; when the states need more than their bytes, every second one goes."""
        self.states[self.step] = self._state()
        size = self.states[self.step].nbytes
        while len(self.states) * size > KEPT_BYTES and len(self.states) > 2:
            self._kept *= 2
            last = max(self.states)
            self.states = {
                step: state for step, state in self.states.items() if step % self._kept == 0 or step == last
            }


def scores_of(heads: Mapping[HeadPlace, Head]) -> dict[tuple[str, str, int], float]:
    """`SCORES` of heads, by (score, site, head)."""
    return {
        (score, *place): HEAD_SCORE_BY_ID[score].of(head) for place, head in heads.items() for score in SCORES
    }


@dataclass(frozen=True, eq=False)
class Run:
    """A run that has ended: the trained experiment, its curves, and its states by step."""

    experiment: Experiment
    training: Training

    @property
    def curves(self) -> Curves:
        """The measures of its steps."""
        return self.training.curves

    @property
    def steps(self) -> tuple[int, ...]:
        """The kept steps."""
        return tuple(sorted(self.training.states))

    def at(self, step: int) -> Experiment:
        """The experiment at a kept step. Raises `FieldError` for another one."""
        return self.training.at(step)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trained experiment with the run beside it into a `.safetensors` file; a `.json` file has
        the experiment alone. Returns the path. Raises `DocumentError`.
        """
        from attnviz.training.file import save_run

        return save_run(self.experiment, self.training.record(), path)


def train(
    experiment: Experiment,
    sampler: Sampler,
    course: Course,
    settings: Settings,
    engine: str = "numpy",
    device: str = "auto",
    told: Callable[[Training], None] = lambda training: None,
    check: Check = never_cancelled,
    is_over: Callable[[Training], bool] = lambda training: False,
    record: Record | None = None,
) -> Run:
    """Train an experiment on the texts of a task; `told` hears of each measured state.

    With the `record` of a run of the experiment, it goes on from there. The run ends after `settings.steps`,
    or before the first step at which it `is_over`. Raises `FieldError` for an experiment that cannot be
    trained, or sizes that do not fit it, and `Diverged`.
    """

    def job(on: Engine) -> Run:
        training = Training(on, experiment, sampler, course, settings)
        if record is not None:
            training.restore(record)
        if training.step not in (one.step for one in training.curves.measures[-1:]):
            training.measure()
            told(training)
        while training.step < settings.steps and not is_over(training):
            check()
            training.advance()
            if training.step % course.measured == 0:
                training.measure()
                told(training)
        if training.curves.measures[-1].step != training.step:
            training.measure()
            told(training)
        return Run(training.present(), training)

    return execute_job(experiment, job, engine, device, passes=6 * course.batch)
