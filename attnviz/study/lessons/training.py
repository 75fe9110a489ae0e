"""`SceneTraining`: the training with which a scene begins, and what its document has learned at the end.

Lessons are read at the start of the window, so that nothing of a training is imported before one is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import FieldError, among, must_be, whole_number
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.training.record import Measures

MOST = {"steps": 5000, "batch": 512}
MOST_KNOWN = 16
"""Trained experiments that are remembered: a claim and its document, or two steps, train once."""
_COURSE: dict[str, type] = {"batch": int, "seed": int}
_SETTINGS: dict[str, type] = {"rate": float, "decay": float}
_NUMBERS = _COURSE | _SETTINGS
"""The numbers that a line may give after the task and the steps."""


@dataclass(frozen=True)
class SceneTraining:
    """The task, the number of steps, and further numbers of the run by name; others are the usual ones."""

    task: str
    steps: int
    numbers: tuple[tuple[str, float], ...] = ()


class Trained(NamedTuple):
    """A trained experiment, whose text is a held-out one, and the measures of its last state."""

    experiment: Experiment
    measures: Measures


_KNOWN: list[tuple[Experiment, SceneTraining, Trained]] = []


def trained(experiment: Experiment, training: SceneTraining, check: Check = never_cancelled) -> Trained:
    """The experiment after a training, which takes seconds; `check` is called before each step, may raise.

    The last results are remembered. Raises `FieldError` for a task that is none or does not fit the
    experiment, and for numbers that no training has.
    """
    from attnviz.training.optimiser import Settings
    from attnviz.training.record import Course
    from attnviz.training.run import train
    from attnviz.training.tasks import made_task

    for before, same, result in tuple(_KNOWN):
        if same == training and before == experiment:
            return result
    given: dict[str, Any] = dict(training.numbers)
    steps, task = training.steps, made_task(training.task)
    _check_most("steps", steps)
    own = {name: given[name] for name in _COURSE if name in given}
    # Only the first and the last state are measured and kept.
    course = Course(**own, measured=steps, kept=steps)
    _check_most("batch", course.batch)
    settings = Settings(**{name: given[name] for name in _SETTINGS if name in given}, steps=steps)
    run = train(experiment, task, course, settings, check=check)
    result = Trained(run.experiment, run.curves.measures[-1])
    _KNOWN.append((experiment, training, result))
    del _KNOWN[:-MOST_KNOWN]
    return result


def _check_most(name: str, number: int) -> None:
    if not 1 <= number <= MOST[name]:
        raise FieldError(f"train.{name}", number, whole_number(1, MOST[name]))


def read_training(line: str) -> SceneTraining:
    """The training of a line such as `copy 250` or `addition 500 batch=512 rate=0.005`.

    Raises `FieldError`, and `ValueError` for what is no number.
    """
    task, *rest = line.split() or [""]
    if not rest or not rest[0].isdecimal() or len(rest[0]) > len(str(MOST["steps"])):
        raise FieldError("train", line, must_be("a task and a number of steps, such as copy 250"))
    numbers = []
    for part in rest[1:]:
        name, _equals, value = part.partition("=")
        if name not in _NUMBERS:
            raise FieldError("train", name, among(_NUMBERS))
        numbers.append((name, _NUMBERS[name](value)))
    return SceneTraining(task, int(rest[0]), tuple(numbers))
