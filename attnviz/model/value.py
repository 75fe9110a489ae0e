"""How a part of a document checks itself: the base struct and the sentence that an error is."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, ClassVar, get_args

import msgspec
import numpy as np
from msgspec import Struct

from attnviz.model.arrays import Matrix
from attnviz.model.faults import FieldError, sentence


class Value(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every part of a document: immutable, compared by value, unknown keys refused.

    Construction checks the types, bounds and lengths that the annotations state (a list becomes the
    tuple that is meant), then calls `check` for what annotations cannot say. `where` is what stands before
    the name of a field in a message.

    Raises:
        ValueError: one sentence with the field, its value, and what would be legal.
    """

    where: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, annotation, instances in _fields(type(self)):
            value = getattr(self, name)
            if isinstance(value, instances):
                continue
            if isinstance(value, np.generic | np.ndarray) and annotation is not Matrix:
                value = value.tolist()
            try:
                checked = msgspec.convert(value, annotation, dec_hook=as_matrix)
            except (msgspec.ValidationError, ValueError) as error:
                raise ValueError(sentence(error, annotation, value, self.where + name)) from None
            msgspec.structs.force_setattr(self, name, checked)
        self.check()

    def check(self) -> None:
        """Raise `ValueError` where fields that are legal one by one are not legal together."""


@cache
def _fields(cls: type[Struct]) -> tuple[tuple[str, Any, tuple[type, ...]], ...]:
    """(name, annotation, classes whose instances need no further check) of each field."""
    found = []
    for field in msgspec.structs.fields(cls):
        classes = (field.type, *get_args(field.type))
        ready = tuple(c for c in classes if isinstance(c, type) and issubclass(c, Struct | Matrix))
        found.append((field.name, field.type, ready))
    return tuple(found)


def as_matrix(expected: type, value: Any) -> Any:
    """msgspec's hook for the one type that it does not know."""
    if expected is Matrix:
        return Matrix(value)
    raise NotImplementedError(f"no decoder for {expected}")


def require(condition: bool, field: str, value: object, legal: str) -> None:
    """Raise the one-sentence `ValueError` that names field, value and what is legal."""
    if not condition:
        raise FieldError(field, value, legal)


def require_finite(field: str, value: float) -> None:
    """Refuse NaN and the infinities."""
    require(math.isfinite(value), field, value, "a finite number")
