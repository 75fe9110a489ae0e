"""`KINDS`: the kinds of values in expressions, which are checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InputError, Message
from attnviz.i18n import N_

KindId = Literal["numbers", "truth", "text", "nothing", "part"]

KINDS: dict[KindId, str] = {
    "numbers": N_("a number or an array"),
    "truth": N_("a condition"),
    "text": N_("a text"),
    "nothing": N_("null"),
    "part": N_("a part with fields"),
}
"""The name of each kind in messages. Null is a field that is off; a part has fields of its own."""

Value = Any
"""A float, a bool, a text, an array, a `Grid`, None, or a part of the document."""


class Absent(InputError):
    """A name that this document does not have: another document, or a later edit, may have it."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix of one head with the names along its axes; empty where an axis has no names."""

    array: NDArray[Any]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def kind_of(value: Value) -> KindId:
    """The kind of a value."""
    if value is None:
        return "nothing"
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, str):
        return "text"
    return "numbers" if isinstance(value, int | float | np.ndarray | np.generic | Grid) else "part"


def named(kind: KindId) -> Message:
    """A kind, as a message names it."""
    return Message(KINDS[kind])


def numbers(value: Value) -> Value:
    """A value without the names along its axes."""
    return value.array if isinstance(value, Grid) else value


def floats(value: Value) -> Value:
    """Numbers as floats, whole ones and conditions too: arithmetic treats all alike."""
    if isinstance(value, Grid):
        return (
            value if value.array.dtype.kind == "f" else replace(value, array=value.array.astype(np.float64))
        )
    if np.ndim(value) == 0:
        return float(value)
    return value if value.dtype.kind == "f" else value.astype(np.float64)


def transposed(grid: Grid) -> Grid:
    """The matrix with rows and columns exchanged."""
    return replace(grid, array=grid.array.T, rows=grid.columns, columns=grid.rows)


def must_be_number(kind: KindId) -> None:
    """Raise `InputError` for a kind that is no number."""
    if kind != "numbers":
        raise InputError(Message("The expression must be one number; got {value}.", value=named(kind)))


def must_be_truth(kind: KindId) -> None:
    """Raise `InputError` for a kind that is no condition."""
    if kind != "truth":
        raise InputError(
            Message("The expression must be a condition, such as a < b; got {value}.", value=named(kind))
        )


def as_number(value: Value) -> float:
    """A value of numbers as one number. Raises `InputError` for an array."""
    bare = numbers(value)
    if np.ndim(bare) != 0:
        raise InputError(
            Message("The expression must be one number; got {value}.", value=str(np.shape(bare)))
        )
    return float(bare)
