"""Forms as tables: one frozen record for each thing that can be set, and the rows that are made of them.

A record says how a value is read from the experiment and which pure edit writes it; the row paints it and
brackets drags, so that one gesture is one entry of the history.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import _
from attnviz.model.spec.experiment import Experiment

# Any, since what a field reads depends on the kind of the part: a base, where the position has one.
Read = Callable[[Any], Any]
Edit = Callable[[Experiment, Any], Experiment]


def replacing(*path: str) -> Edit:
    """The edit that puts a value in the place of the field at `path`: `replacing("dropout", "p")`."""

    def edit(experiment: Experiment, value: Any) -> Experiment:
        parts = [attrgetter(".".join(path[:depth]))(experiment) for depth in range(1, len(path))]
        for part, name in zip(reversed((experiment, *parts)), reversed(path), strict=True):
            value = replace(part, **{name: value})
        return value  # type: ignore[no-any-return]

    return edit


def always(experiment: Experiment) -> bool:
    """The rows that every experiment shows."""
    return True


def available(experiment: Experiment) -> str:
    """No reason to disable the row."""
    return ""


def options_available(experiment: Experiment, option: str) -> str:
    """No reason to disable an option."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Field:
    """What every row has. `name` is the control's object name; `label` and `hint` are message ids.

    `path` is the document's field of one attention (of the whole experiment with `whole`): an error of that
    field is marked in the row.

    `edit` returns the experiment with the value; a `ValueError` refuses it. `reason` is why the row cannot
    be used at present (empty: it can). With `from_start` all edits of one gesture start from what was there
    before it, so that a drag past a small value does not lose what only a large one can hold. `whole`: the
    functions take the whole experiment, not the one attention that is looked at.
    """

    name: str
    label: str
    read: Read
    edit: Edit
    path: str = ""
    hint: str = ""
    shown: Callable[[Experiment], bool] = always
    reason: Callable[[Experiment], str] = available
    from_start: bool = False
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Number(Field):
    """A number that is dragged, turned or typed where it stands; `limits` may depend on the experiment."""

    minimum: float = -math.inf
    maximum: float = math.inf
    limits: Callable[[Experiment], tuple[float, float]] | None = None
    decimals: int = 2
    step: float | None = None
    integer: bool = False


@dataclass(frozen=True, kw_only=True)
class Slider(Field):
    """A number with a slider from `minimum` to `maximum`; typing reaches from `lowest` to `highest`."""

    minimum: float
    maximum: float
    lowest: float
    highest: float
    default: float | None = None
    decimals: int = 2
    logarithmic: bool = False


@dataclass(frozen=True, kw_only=True)
class Switch(Field):
    """On or off."""


@dataclass(frozen=True, kw_only=True)
class Choice(Field):
    """One of a few; `options` are (id, label, tooltip) with message ids, a tooltip one a line.

    `why_not` disables single options. Without a `label` the choice is named by its `hint`. With `as_list` it
    is a drop-down list instead of joined buttons.
    """

    options: tuple[Option, ...]
    as_list: bool = False
    why_not: Callable[[Experiment, str], str] = options_available

    def shown_options(self) -> tuple[Option, ...]:
        """The options in the present language."""
        return tuple((id_, _(label), "\n".join(map(_, tip.split("\n")))) for id_, label, tip in self.options)


@dataclass(frozen=True, kw_only=True)
class Seed(Field):
    """A whole number that selects random numbers, and a die that throws another."""


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """A line of text; live while it is legal, marked while it is not, and put back when it is left."""

    placeholder: str = ""
