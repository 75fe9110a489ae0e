"""One step against a gradient: w ← w − η g, for all parameters, one matrix, or one number."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from attnviz.compute.budget import available_memory, human_bytes
from attnviz.compute.execute import execute_backward, execute_job
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.core.text import number
from attnviz.engines.backward.backward import value_of
from attnviz.errors import FieldError, InputError, Message, among, must_be, whole_number
from attnviz.model.gradient import Gradient
from attnviz.model.spec.experiment import Experiment
from attnviz.training.parameters import Array, Parameter, parameters_of, size_of

ALL = "all"
"""The choice of every parameter."""

_CHOICE = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[\s*(?P<row>-?\d+)\s*,\s*(?P<column>-?\d+)\s*\])?")


@dataclass(frozen=True)
class Weight:
    """One number of a parameter, and the derivative of the target by it."""

    name: str
    row: int
    column: int
    number: float
    slope: float

    def __str__(self) -> str:
        """`layers.0.self.projections.query[3, 2]`, as `take_step` reads it."""
        return f"{self.name}[{self.row}, {self.column}]"

    def after(self, rate: float) -> float:
        """w − η g."""
        return self.number - rate * self.slope


@dataclass(frozen=True, eq=False)
class Step:
    """A step of `rate` that changed `n` numbers: the target `before` and `after` it, and the new experiment.

    `predicted` is −η Σ g² of the changed numbers, the change to first order; `weight` has the largest
    |g| among them.
    """

    experiment: Experiment
    target: str
    rate: float
    before: float
    after: float
    predicted: float
    weight: Weight
    n: int

    @property
    def change(self) -> float:
        """`after` − `before`."""
        return self.after - self.before


def take_step(
    experiment: Experiment,
    target: str,
    rate: float,
    what: str = ALL,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Step:
    """One step of gradient descent on `target`, a cell or the loss, as `attnviz.backward` names it.

    `what` is "all", a parameter such as "layers.0.self.projections.query", or one of its numbers,
    "layers.0.self.projections.query[3, 2]". Raises `FieldError` for a rate that is not positive and finite,
    or a parameter that the experiment does not have or the target does not depend on, and `InputError` for a
    step whose numbers are too large for a number, or for the memory.
    """
    progress = progress_of(check)
    _check_rate(rate)
    _trace, gradient = execute_backward(experiment, target, engine, device, progress.part(0.0, 0.7))
    return step_along(gradient, rate, what, engine, device, progress.part(0.7, 1.0))


def step_along(
    gradient: Gradient,
    rate: float,
    what: str = ALL,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Step:
    """The same with a gradient that is known already."""
    _check_rate(rate)
    picked = chosen(gradient, what)
    for parameter, slopes in picked:
        if not np.isfinite(slopes).all():
            raise InputError(
                Message("The derivative by {name} must be a number; got NaN or ∞", name=parameter.name)
            )
    squared = sum(float(np.sum(slopes * slopes)) for _parameter, slopes in picked)
    moved, after = gradient.experiment, np.inf
    with np.errstate(over="ignore"), suppress(OverflowError):
        for parameter, slopes in picked:
            moved = parameter.put(moved, _along(parameter.numbers(), slopes, rate))
        after = execute_job(
            moved, lambda on: value_of(on, moved, gradient.target, check), engine, device, passes=2
        )
    if not np.isfinite(after):
        message = Message(
            "{target} must stay a number; it is {value} after a step of {rate} "
            "along a gradient of norm {norm}",
            target=gradient.target,
            value=number(after),
            rate=number(rate),
            norm=number(squared**0.5),
        )
        raise InputError(message)
    weight = max((weight_of(*pair) for pair in picked), key=lambda one: abs(one.slope))
    n = sum(int(np.count_nonzero(slopes)) for _parameter, slopes in picked)
    return Step(moved, gradient.target, rate, gradient.value, after, -rate * squared, weight, n)


def _along(numbers: Array, slopes: Array, rate: float) -> Array:
    """w − η g. Raises `OverflowError` where that is no number; −∞ of a mask stays."""
    moved = numbers - rate * slopes
    if np.isfinite(moved).sum() < np.isfinite(numbers).sum():
        raise OverflowError
    return np.asarray(moved)


def chosen(gradient: Gradient, what: str) -> list[tuple[Parameter, Array]]:
    """The parameters of a choice, each with its gradient: zero but in the chosen number.

    Raises `FieldError` for another choice.
    """
    match = _CHOICE.fullmatch(what.strip())
    name = what if match is None else match["name"]
    having = having_gradient(gradient)
    wanted = having if name == ALL else [one for one in having if one.name == name]
    if not wanted:
        raise FieldError("what", what, among([ALL, *(one.name for one in having)]))
    _check_memory(wanted)
    found = [(one, one.slopes(gradient)) for one in wanted]
    if match is None or match["row"] is None:
        return found
    if name == ALL:
        raise FieldError("what", what, must_be("a parameter, where one number is chosen"))
    parameter, slopes = found[0]
    row, column = int(match["row"]), int(match["column"])
    for axis, place, size in zip(("row", "column"), (row, column), slopes.shape, strict=True):
        if not -size <= place < size:
            raise FieldError(f"what.{axis}", place, whole_number(0, size - 1))
    alone = np.zeros_like(slopes)
    alone[row, column] = slopes[row, column]
    return [(parameter, alone)]


def having_gradient(gradient: Gradient) -> list[Parameter]:
    """The parameters that the target depends on."""
    return [one for one in parameters_of(gradient.experiment) if one.is_read(gradient)]


def weight_of(parameter: Parameter, slopes: Array) -> Weight:
    """The number of a parameter with the largest |g|."""
    row, column = np.unravel_index(int(np.abs(slopes).argmax()), slopes.shape)
    number = float(parameter.numbers()[row, column])
    return Weight(parameter.name, int(row), int(column), number, float(slopes[row, column]))


def _check_rate(rate: float) -> None:
    if not (np.isfinite(rate) and rate > 0):
        raise FieldError("rate", rate, must_be("a positive number"))


def _check_memory(parameters: list[Parameter]) -> None:
    """Refuse more new numbers than a quarter of the memory holds."""
    needed, quarter = 8 * size_of(parameters), available_memory() // 4
    if needed > quarter:
        message = Message(
            "A step may write a quarter of the available memory, {quarter}; got {size}: choose one matrix",
            quarter=human_bytes(quarter),
            size=human_bytes(needed),
        )
        raise InputError(message)
