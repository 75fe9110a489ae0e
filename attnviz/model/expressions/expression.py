"""Expressions over the stages of a run, such as `weights[2].sum() == 1`: the tree of one.

An expression is parsed (see `parser.py`), its kinds are checked, and its own nodes compute it; it is never
evaluated as code. It has numbers, texts, names, arithmetic, comparisons, `and`, `or`, `not`, indices and the
functions of `FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attnviz.errors import InputError, Message, quoted
from attnviz.i18n import N_
from attnviz.model.captions import Anchor
from attnviz.model.expressions.budget import Budget
from attnviz.model.expressions.kinds import (
    Absent,
    Grid,
    KindId,
    Value,
    as_number,
    kind_of,
    must_be_truth,
    named,
    numbers,
)
from attnviz.model.expressions.operators import Operator


class Names(Protocol):
    """The values of names and functions, and the work that they may take."""

    @property
    def budget(self) -> Budget:
        """The rest of it."""

    def kind(self, name: str) -> KindId:
        """The kind of a name. Raises `InputError`."""

    def name(self, name: str) -> Value:
        """The value of a name. Raises `InputError`."""

    def kind_of_call(self, name: str, kinds: Sequence[KindId]) -> KindId:
        """The kind of a function of arguments. Raises `InputError`."""

    def call(self, name: str, arguments: tuple[Value, ...]) -> Value:
        """The value of a function. Raises `InputError`."""

    def member(self, part: Value, name: str) -> Value:
        """The value of a field of a part. Raises `InputError`."""


class Node(Protocol):
    """A part of an expression. Its `value` is computed only after its `kind` has been found."""

    def kind(self, names: Names) -> KindId:
        """The kind of its value, without computing it. Raises `InputError` for operands of other kinds."""

    def value(self, names: Names) -> Value:
        """Its value. Raises `InputError`."""


@dataclass(frozen=True)
class Constant:
    """A number or a text."""

    held: float | str

    def kind(self, names: Names) -> KindId:
        return kind_of(self.held)

    def value(self, names: Names) -> Value:
        return self.held


@dataclass(frozen=True)
class Name:
    """A stage, a size of the document, or a field of the selected attention."""

    name: str

    def kind(self, names: Names) -> KindId:
        return names.kind(self.name)

    def value(self, names: Names) -> Value:
        return names.name(self.name)


@dataclass(frozen=True)
class Call:
    """A function of its arguments; `x.f(y)` is `f(x, y)`, and `x.f` of a part its field."""

    name: str
    arguments: tuple[Node, ...]

    def kind(self, names: Names) -> KindId:
        kinds = [one.kind(names) for one in self.arguments]
        return kind_of(self._member(names)) if kinds == ["part"] else names.kind_of_call(self.name, kinds)

    def value(self, names: Names) -> Value:
        values = tuple(one.value(names) for one in self.arguments)
        if len(values) == 1 and kind_of(values[0]) == "part":
            return names.member(values[0], self.name)
        return names.call(self.name, values)

    def _member(self, names: Names) -> Value:
        """The field of a part. Parts are fields of the document: to find one takes no work."""
        return names.member(self.arguments[0].value(names), self.name)


@dataclass(frozen=True)
class Signed:
    """The negative of a number, or `not`."""

    operator: Operator
    of: Node

    def kind(self, names: Names) -> KindId:
        return self.operator.kind(self.of.kind(names))

    def value(self, names: Names) -> Value:
        return self.operator.value(names.budget, numbers(self.of.value(names)))


@dataclass(frozen=True)
class Binary:
    """An arithmetic operation of two operands."""

    operator: Operator
    left: Node
    right: Node

    def kind(self, names: Names) -> KindId:
        return self.operator.kind(self.left.kind(names), self.right.kind(names))

    def value(self, names: Names) -> Value:
        left, right = numbers(self.left.value(names)), numbers(self.right.value(names))
        return self.operator.value(names.budget, left, right)


@dataclass(frozen=True)
class Chain:
    """Comparisons of neighbours, `0 < a <= b`: true where all hold."""

    first: Node
    rest: tuple[tuple[Operator, Node], ...]

    def kind(self, names: Names) -> KindId:
        left = self.first.kind(names)
        for compare, node in self.rest:
            right = node.kind(names)
            compare.kind(left, right)
            left = right
        return "truth"

    def value(self, names: Names) -> Value:
        left, holds = numbers(self.first.value(names)), True
        for compare, node in self.rest:
            right = numbers(node.value(names))
            holds = compare.value(names.budget, left, right) and holds
            left = right
        return holds


@dataclass(frozen=True)
class Either:
    """`and` or `or` of two conditions; the second is computed only where it decides."""

    is_and: bool
    left: Node
    right: Node

    def kind(self, names: Names) -> KindId:
        must_be_truth(self.left.kind(names))
        with suppress(Absent):  # `block.residual and …` holds back what only a document with a block has
            must_be_truth(self.right.kind(names))
        return "truth"

    def value(self, names: Names) -> Value:
        first = self.left.value(names)
        if first != self.is_and:
            return first
        must_be_truth(self.right.kind(names))
        return self.right.value(names)


@dataclass(frozen=True)
class Stretch:
    """Indices from `first` up to `last`, exclusive: `2:5`."""

    first: Node | None
    last: Node | None


@dataclass(frozen=True)
class At:
    """Part of an array; a text along an axis of tokens names its token."""

    base: Node
    places: tuple[Node | Stretch, ...]

    def kind(self, names: Names) -> KindId:
        base = self.base.kind(names)
        if base != "numbers":
            raise InputError(Message("An index needs an array; got {value}.", value=named(base)))
        for place in self.places:
            if isinstance(place, Stretch):
                for end in (place.first, place.last):
                    _must_be_place("numbers" if end is None else end.kind(names), "numbers")
            else:
                _must_be_place(place.kind(names), "numbers", "text")
        return "numbers"

    def value(self, names: Names) -> Value:
        base = self.base.value(names)
        grid = base if isinstance(base, Grid) else Grid(np.asarray(base))
        axes = (grid.rows, grid.columns)
        if not grid.array.ndim:
            raise InputError(Message("An index needs an array; got a single number."))
        if len(self.places) > grid.array.ndim:
            raise InputError(
                Message(
                    "An index must have at most {most} numbers; got {n}.",
                    most=grid.array.ndim,
                    n=len(self.places),
                )
            )
        numbers = tuple(
            _place(place, names, grid.array.shape[axis], axes[axis] if axis < len(axes) else (), axis == 0)
            for axis, place in enumerate(self.places)
        )
        part = grid.array[numbers]
        if isinstance(base, Grid) and len(numbers) == 1 and part.ndim == 1:
            return Grid(part, grid.columns)
        return part if part.ndim else float(part)


def _must_be_place(kind: KindId, *known: KindId) -> None:
    if kind not in known:
        raise InputError(
            Message("An index must be a whole number or the text of a token; got {value}.", value=named(kind))
        )


def _place(
    place: Node | Stretch, names: Names, length: int, tokens: tuple[str, ...], is_row: bool
) -> int | slice:
    """An index along an axis of a length, whose tokens may be named."""
    if isinstance(place, Stretch):
        ends = [
            None if end is None else whole(end.value(names), N_("index"), -length, length)
            for end in (place.first, place.last)
        ]
        return slice(*ends)
    return at_place(place.value(names), tokens, length, is_row=is_row)


def at_place(value: Value, tokens: tuple[str, ...], length: int, *, is_row: bool) -> int:
    """The index along an axis: a number, or the text of one of its tokens. Raises `InputError`."""
    if isinstance(value, str):
        return position_of(value, tokens, is_row)
    return whole(value, N_("index"), -length, length - 1)


def position_of(token: str, tokens: tuple[str, ...], is_row: bool) -> int:
    """Position of a token along an axis: of equal ones the last query, the first key, as in captions."""
    position = Anchor("query" if is_row else "key", token).position_in(tokens)
    if position is None:
        raise InputError(Message("A token must be one of the text; got {token}.", token=quoted(token)))
    return position


def whole(value: Value, what: str, least: int, most: int) -> int:
    """A value as a whole number within bounds; `what`, a message, names it. Raises `InputError`."""
    number = as_number(value)
    if not (number.is_integer() and least <= number <= most):
        raise InputError(
            Message(
                "The {what} must be a whole number from {least} to {most}; got {value}.",
                what=Message(what),
                least=least,
                most=most,
                value=f"{number:.15g}",
            )
        )
    return int(number)
