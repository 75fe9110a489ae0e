"""Forms as tables: one frozen record for each setting, and the rows built from them.

A record defines how a value is read and which pure edit writes it; the row paints it and brackets drags, so
that one gesture is one entry of the history. The type of a record is that of its functions:
`Number[Site]` belongs to one attention, `Number[Experiment]` to the whole experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from attnviz.gui.forms.subject import S
from attnviz.gui.widgets.segmented import Option
from attnviz.model.spec.value import Refusal

# Any, since what a field reads depends on the kind of the part: a base, where the position has one.
Read = Callable[[Any], Any]
Edit = Callable[[S, Any], S]


def always(subject: object) -> bool:
    """The row is always shown."""
    return True


def available(subject: object) -> Refusal:
    """No reason to disable the row."""
    return None


def options_available(subject: object, option: str) -> Refusal:
    """No reason to disable an option."""
    return None


@dataclass(frozen=True, kw_only=True)
class FormField(Generic[S]):
    """Common part of every row. `name` is the control's object name; `label` and `hint` are message ids.

    `path` is the document's field, of one attention or of the whole experiment: an error of that field is
    marked in the row.

    `edit` returns the site, or the experiment, with the value; a `ValueError` rejects it. `reason` is the
    rule by which the edit raises, without an edit: its error disables the row. With `from_start` all edits of
    one gesture start from the state before it, so that a drag past a small value does not lose numbers that
    only a large one can hold.
    """

    name: str
    label: str
    read: Read
    edit: Edit[S]
    path: str = ""
    hint: str = ""
    shown: Callable[[S], bool] = always
    reason: Callable[[S], Refusal] = available
    from_start: bool = False


@dataclass(frozen=True, kw_only=True)
class Number(FormField[S]):
    """A number that is dragged, scrolled or typed in place; `limits` may depend on the experiment."""

    minimum: float = -math.inf
    maximum: float = math.inf
    limits: Callable[[S], tuple[float, float]] | None = None
    decimals: int = 2
    step: float | None = None
    integer: bool = False


@dataclass(frozen=True, kw_only=True)
class Slider(FormField[S]):
    """A number with a slider from `minimum` to `maximum`; typing reaches from `lowest` to `highest`."""

    minimum: float
    maximum: float
    lowest: float
    highest: float
    default: float | None = None
    decimals: int = 2
    logarithmic: bool = False


@dataclass(frozen=True, kw_only=True)
class Switch(FormField[S]):
    """On or off."""


@dataclass(frozen=True, kw_only=True)
class Choice(FormField[S]):
    """One of a few; `options` are (id, label, tooltip) with message ids, a tooltip one a line.

    `why_not` disables single options, as `reason` does all. Without a `label` the choice is named by its
    `hint`. With `as_list` it is a drop-down list instead of joined buttons.
    """

    options: tuple[Option, ...]
    as_list: bool = False
    why_not: Callable[[S, str], Refusal] = options_available


@dataclass(frozen=True, kw_only=True)
class Seed(FormField[S]):
    """A whole number that selects random numbers, and a die that throws another."""


@dataclass(frozen=True, kw_only=True)
class Text(FormField[S]):
    """A line of text; live while it is valid, marked while it is not, and reset when the focus leaves."""

    placeholder: str = ""
