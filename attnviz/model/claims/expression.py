"""Expressions over the stages of a run, such as `weights[2].sum() == 1`: the tree of one.

An expression is parsed (see `parser.py`) and computed by its own nodes; it is never evaluated as code. It has
numbers, texts, names, arithmetic, comparisons, `and`, `or`, `not`, indices and the functions of `FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InputError, Message, quoted
from attnviz.i18n import N_
from attnviz.model.captions import Anchor

ROUNDING = 1e-6
"""Relative difference of numbers that `==` calls equal: rounding of sums in float32."""
Value = Any
"""A float, a bool, a text, an array, or a `Grid`."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix of one head with the names along its axes; empty where an axis has no names."""

    array: NDArray[Any]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class Names(Protocol):
    """The values of names and functions."""

    def name(self, name: str) -> Value:
        """The value of a name. Raises `InputError`."""

    def call(self, name: str, arguments: tuple[Value, ...]) -> Value:
        """The value of a function. Raises `InputError`."""


class Node(Protocol):
    """A part of an expression."""

    def value(self, names: Names) -> Value:
        """Its value. Raises `InputError`."""


@dataclass(frozen=True)
class Constant:
    """A number or a text."""

    held: float | str

    def value(self, names: Names) -> Value:
        return self.held


@dataclass(frozen=True)
class Name:
    """A stage, a size of the document, or a field of the selected attention."""

    name: str

    def value(self, names: Names) -> Value:
        return names.name(self.name)


@dataclass(frozen=True)
class Call:
    """A function of its arguments; `x.f(y)` is `f(x, y)`."""

    name: str
    arguments: tuple[Node, ...]

    def value(self, names: Names) -> Value:
        return names.call(self.name, tuple(one.value(names) for one in self.arguments))


@dataclass(frozen=True)
class Signed:
    """The negative of a number, or `not`."""

    operation: Callable[[Any], Any]
    of: Node

    def value(self, names: Names) -> Value:
        return self.operation(numbers(self.of.value(names)))


@dataclass(frozen=True)
class Binary:
    """An arithmetic operation of two operands."""

    operation: Callable[[Any, Any], Any]
    left: Node
    right: Node

    def value(self, names: Names) -> Value:
        left, right = numbers(self.left.value(names)), numbers(self.right.value(names))
        return _of_both(self.operation, left, right)


def _of_both(operation: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    """The result of an operation. Raises `InputError` for arrays that do not fit."""
    try:
        with np.errstate(all="ignore"):
            return operation(left, right)
    except ValueError:
        raise InputError(
            Message(
                "Both operands must have compatible shapes; got {left} and {right}.",
                left=str(np.shape(left)),
                right=str(np.shape(right)),
            )
        ) from None


@dataclass(frozen=True)
class Chain:
    """Comparisons of neighbours, `0 < a <= b`: true where all hold."""

    first: Node
    rest: tuple[tuple[Callable[[Any, Any], Any], Node], ...]

    def value(self, names: Names) -> Value:
        left, holds = numbers(self.first.value(names)), True
        for compare, node in self.rest:
            right = numbers(node.value(names))
            holds = holds and bool(np.all(_of_both(compare, left, right)))
            left = right
        return holds


@dataclass(frozen=True)
class Either:
    """`and` or `or` of two conditions; the second is computed only where it decides."""

    is_and: bool
    left: Node
    right: Node

    def value(self, names: Names) -> Value:
        first = as_truth(self.left.value(names))
        return as_truth(self.right.value(names)) if first == self.is_and else first


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

    def value(self, names: Names) -> Value:
        base = self.base.value(names)
        grid = base if isinstance(base, Grid) else Grid(np.asarray(numbers(base)))
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
        found = tuple(
            _place(place, names, grid.array.shape[axis], axes[axis] if axis < len(axes) else (), axis == 0)
            for axis, place in enumerate(self.places)
        )
        part = grid.array[found]
        if isinstance(base, Grid) and len(found) == 1 and part.ndim == 1:
            return Grid(part, grid.columns)
        return part if part.ndim else float(part)


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
    found = Anchor("query" if is_row else "key", token).position_in(tokens)
    if found is None:
        raise InputError(Message("A token must be one of the text; got {token}.", token=quoted(token)))
    return found


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
                value=f"{number:g}",
            )
        )
    return int(number)


def numbers(value: Value) -> Value:
    """A value without the names along its axes."""
    return value.array if isinstance(value, Grid) else value


def as_number(value: Value) -> float:
    """A value as one number. Raises `InputError`."""
    bare = numbers(value)
    if isinstance(bare, str) or np.ndim(bare) != 0:
        got = quoted(bare) if isinstance(bare, str) else str(np.shape(bare))
        raise InputError(Message("The expression must be one number; got {value}.", value=got))
    return float(bare)


def as_truth(value: Value) -> bool:
    """A value as a verdict. Raises `InputError`."""
    bare = numbers(value)
    if not isinstance(bare, bool | np.bool_):
        raise InputError(
            Message("The expression must be a condition, such as a < b; got {value}.", value=quoted(bare))
        )
    return bool(bare)


def transposed(grid: Grid) -> Grid:
    """The matrix with rows and columns exchanged."""
    return replace(grid, array=grid.array.T, rows=grid.columns, columns=grid.rows)
