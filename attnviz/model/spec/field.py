"""`Field`: the description of one field of a document, at the field itself.

It is in the annotation of a struct's field, `Annotated[float, Field(...)]`. The check at construction, the
row of a form, the titles in messages, the schema and the page of fields are derived from it; the table of all
of them is `FIELDS`. The bounds of the whole numbers and of the texts that documents hold stand here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from attnviz.errors import FINITE, FieldError, Message, must_be
from attnviz.i18n import N_


@dataclass(frozen=True)
class Field:
    """One field. `title` and `hint` (one sentence, or a noun phrase) are messages.

    A number is at least `least` or above `above`, and at most `most` or below `below`; it is finite, and
    `even` on request. `rule` describes any other range. The bounds of whole numbers are in `msgspec.Meta`.

    A form shows the field if `when` holds for its part. There a number moves by `step` and has `digits`
    decimals; typing reaches the range `typed`, and a slider, if any, spans `usual`, by ratios if it is
    `logarithmic`, and resets to `normal`. A `seed` has a die. `options` are (value, title, hint) of a choice.
    """

    title: str
    hint: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    even: bool = False
    rule: Message | None = None
    when: Callable[[Any], bool] | None = None
    step: float | None = None
    digits: int = 2
    typed: tuple[float, float] | None = None
    usual: tuple[float, float] | None = None
    logarithmic: bool = False
    normal: float | None = None
    is_seed: bool = False
    options: tuple[tuple[str, str, str], ...] = ()

    def check(self, path: str, value: Any, is_nullable: bool) -> None:
        """Raise `FieldError` if the number, or one of a row of numbers, is out of range; null is accepted."""
        if isinstance(value, tuple):
            for index, one in enumerate(value):
                self.check(f"{path}[{index}]", one, False)
        elif isinstance(value, int | float) and not self.allows(value):
            raise FieldError(path, value, self.requirement(is_nullable))

    def allows(self, value: float) -> bool:
        """True if a number is in range."""
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
            and not (self.even and value % 2)
        )

    def requirement(self, is_nullable: bool = False) -> Message:
        """Requirement of a number."""
        if self.rule is not None:
            return self.rule
        if self.even:
            return must_be("an even number")
        if self.above is not None:
            if is_nullable:
                return must_be("a finite number above {least}, or null", least=self.above)
            return must_be("a finite number above {least}", least=self.above)
        if self.least is None:
            return FINITE
        if self.below is not None:
            return must_be("a number of at least {least} and below {most}", least=self.least, most=self.below)
        if self.most is not None:
            return must_be("a number from {least} to {most}", least=self.least, most=self.most)
        return must_be("a finite number of at least {least}", least=self.least)


def field_of(annotation: Any) -> Field | None:
    """The `Field` of an annotation; None without one."""
    extras = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    stated = [extra for extra in extras if isinstance(extra, Field)]
    return stated[-1] if stated else None  # the outermost: that of the field itself


def plain(annotation: Any) -> Any:
    """The annotation as msgspec reads it: the type, and the bounds of a whole number."""
    if get_origin(annotation) is not Annotated:
        return annotation
    base, *extras = get_args(annotation)
    bounds = next((extra for extra in extras if isinstance(extra, Meta)), None)
    return base if bounds is None else Annotated[base, bounds]


def bounds_of(annotation: Any) -> tuple[float | None, float | None]:
    """(least, most) that the annotation of a whole number states, null or not."""
    if isinstance(annotation, Meta):
        return annotation.ge, annotation.le  # type: ignore[return-value]
    bounds_of_parts = [bounds_of(part) for part in get_args(annotation)]
    return next((bounds for bounds in bounds_of_parts if bounds != (None, None)), (None, None))


def is_nullable(annotation: Any) -> bool:
    """True if null is allowed."""
    return type(None) in get_args(plain(annotation))


@cache
def fields_of(struct: type[Struct]) -> tuple[FieldInfo, ...]:
    """The fields of a struct; to evaluate their annotations takes long."""
    return fields(struct)


# --- bounds of whole numbers and of texts ----------------------------------------------------------

Positive = Annotated[int, Meta(ge=1, le=1_000_000)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Seed = Annotated[
    int, Meta(ge=0, le=2**32 - 1), Field(N_("Seed"), N_("Selects the random numbers"), is_seed=True)
]
Index = Annotated[int, Meta(ge=0, le=2**31)]

LONGEST_NAME = 1_000
"""Characters of a name: of a document, an attention, a class."""
LONGEST_TOKEN = 2_000
"""Characters of one token, which may be a word that nothing splits."""
LONGEST_TEXT = 10_000
"""Characters of a caption, of a paragraph of a lesson, and of a path: a window lays each out in one piece."""
