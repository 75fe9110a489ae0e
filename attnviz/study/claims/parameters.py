"""The parameters of functions of expressions: the kind of each argument, and its bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attnviz.errors import InputError, Message, among, must_be, quoted, verbatim, whole_number
from attnviz.model.expressions.kinds import KindId, Value, as_number, named, numbers


class Parameter(Protocol):
    """One parameter; `name` is that of the documentation."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def kind(self) -> KindId:
        """The kind of its arguments."""

    def read(self, function: str, value: Value) -> Value:
        """An argument of its kind, within its bounds. Raises `InputError`."""


@dataclass(frozen=True)
class Numbers:
    """A number or an array of at most `MOST_NUMBERS` numbers, which the budget counts.

    `needs_one` refuses an empty array; `is_grid` keeps the names along the axes.
    """

    name: str
    kind: KindId = "numbers"
    needs_one: bool = False
    is_grid: bool = False

    def read(self, function: str, value: Value) -> Value:
        if self.needs_one and not np.size(numbers(value)):
            raise _refused(function, self.name, must_be("at least one number"), Message("an empty array"))
        return value if self.is_grid else numbers(value)


@dataclass(frozen=True)
class Number:
    """One number within bounds."""

    name: str
    least: float = -np.inf
    most: float = np.inf
    kind: KindId = "numbers"

    def read(self, function: str, value: Value) -> Value:
        number = one_number(function, self.name, value)
        if not self.least <= number <= self.most:
            rule = must_be("a number from {least} to {most}", least=self.least, most=self.most)
            raise _refused(function, self.name, rule, f"{number:.15g}")
        return number


@dataclass(frozen=True)
class Whole:
    """One whole number within bounds."""

    name: str
    least: int
    most: int
    kind: KindId = "numbers"

    def read(self, function: str, value: Value) -> Value:
        number = one_number(function, self.name, value)
        if not (number.is_integer() and self.least <= number <= self.most):
            raise _refused(function, self.name, whole_number(self.least, self.most), f"{number:.15g}")
        return int(number)


@dataclass(frozen=True)
class Truth:
    """True or false."""

    name: str
    kind: KindId = "truth"

    def read(self, function: str, value: Value) -> Value:
        return value


@dataclass(frozen=True)
class Choice:
    """One of several texts."""

    name: str
    choices: Iterable[str]
    kind: KindId = "text"

    def read(self, function: str, value: Value) -> Value:
        if value not in self.choices:
            raise _refused(function, self.name, among(self.choices), quoted(value))
        return value


def require_kind(function: str, parameter: Parameter, kind: KindId) -> None:
    """Raise `InputError` for an argument of another kind."""
    if kind != parameter.kind:
        rule = Message("must be {kind}", kind=named(parameter.kind))
        raise _refused(function, parameter.name, rule, named(kind))


def one_number(function: str, name: str, value: Value) -> float:
    """An argument as one number. Raises `InputError` for an array."""
    if np.ndim(numbers(value)) != 0:
        raise _refused(function, name, must_be("one number"), str(np.shape(numbers(value))))
    return as_number(value)


def _refused(function: str, name: str, rule: Message, got: str | Message) -> InputError:
    return InputError(
        Message(
            "The argument {name} of {function} {rule}; got {got}.",
            name=verbatim(name),
            function=verbatim(function),
            rule=rule,
            got=got,
        )
    )
