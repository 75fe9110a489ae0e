"""The records of a run: its steps, its measures, its kept states, and all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, InputError, whole_number
from attnviz.model.io.tensors import Attached
from attnviz.model.spec.experiment import Experiment
from attnviz.training.optimiser import Settings
from attnviz.training.parameters import parameters_of
from attnviz.training.tasks import Sampler
from attnviz.training.trainable import with_length
from attnviz.training.words import with_text_of

HeadPlace = tuple[str, int]
"""A head: the site, and its number there."""
Heads = tuple[HeadPlace, ...]
"""Heads in data-flow order."""


class Moment(NamedTuple):
    """One step: the loss on its texts, before the step, the norm of the gradient, and the rate.

    `norms` are those by the parameters of each of `Curves.parts`.
    """

    step: int
    loss: float
    norm: float
    rate: float
    norms: tuple[float, ...] = ()


class Measures(NamedTuple):
    """The measures of a state: the loss of held-out texts, the share of right answers in them and in those of
    the last step, the scores of the heads by (score, site, head), and the heads that are off.
    """

    step: int
    loss: float
    accuracy: float
    trained_accuracy: float
    scores: dict[tuple[str, str, int], float]
    off: Heads = ()


class Kept(NamedTuple):
    """A state that a run keeps: the parameters by name, what the optimiser remembers, and the heads off."""

    numbers: dict[str, NDArray[np.floating]]
    moments: tuple[NDArray[np.floating], ...]
    off: Heads = ()

    @property
    def nbytes(self) -> int:
        """The bytes of its numbers."""
        return sum(one.nbytes for one in (*self.numbers.values(), *self.moments))


@dataclass(eq=False)
class Curves:
    """The measures of a run, in the order of its steps.

    A state whose heads were switched is measured before and after. `parts` are the sites whose parameters
    have a norm in each moment; the empty one has the vectors of the vocabulary.
    """

    moments: list[Moment] = field(default_factory=list)
    measures: list[Measures] = field(default_factory=list)
    parts: tuple[str, ...] = ()

    def first_above(self, accuracy: float) -> int | None:
        """See the function."""
        return first_above(self.measures, accuracy)


def first_above(measures: Sequence[Measures], accuracy: float) -> int | None:
    """The first measured step whose held-out accuracy is above a share."""
    return next((one.step for one in measures if one.accuracy > accuracy), None)


@dataclass(frozen=True)
class Course:
    """The texts in each batch and their seed, and after how many steps a run measures and keeps a state."""

    batch: int = 16
    seed: int = 0
    measured: int = 25
    kept: int = 25

    def __post_init__(self) -> None:
        for name in ("batch", "measured", "kept"):
            value = getattr(self, name)
            if value < 1:
                raise FieldError(name, value, whole_number(1))


@dataclass(frozen=True, eq=False)
class Record:
    """All that a run needs to go on exactly: its task, course and settings, its curves, and its states.

    `present` is the state of the `step`; `states` are those kept, of every `spacing`th step. Nothing of a
    record changes while the run goes on.
    """

    sampler: Sampler
    course: Course
    settings: Settings
    step: int
    spacing: int
    moments: tuple[Moment, ...]
    measures: tuple[Measures, ...]
    states: Mapping[int, Kept]
    present: Kept

    def attached(self) -> Attached:
        """The run as a file has it beside its document."""
        from attnviz.training.file import attached

        return attached(self)

    def with_text_of(self, trained: Experiment, present: Experiment) -> Experiment:
        """A trained experiment with the text of the present one."""
        return with_text_of(trained, present)

    def is_alike(self, one: Experiment, other: Experiment) -> bool:
        """True if two experiments differ in their texts alone, for the task of the run."""
        n = self.sampler.n_tokens
        try:
            return with_length(one, n) == with_length(other, n)
        except InputError:
            return False

    def step_of(self, experiment: Experiment) -> int | None:
        """The last state that has the weights of an experiment; None without one."""
        numbers = {one.name: one.numbers() for one in parameters_of(experiment)}

        def is_it(state: Kept) -> bool:
            known = state.numbers.items()
            return all(np.array_equal(mine, numbers[name].astype(mine.dtype)) for name, mine in known)

        states = {**self.states, self.step: self.present}
        return next((step for step in sorted(states, reverse=True) if is_it(states[step])), None)
