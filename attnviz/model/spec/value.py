"""Self-check of a part of a document: the base struct and the form of its errors."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

import msgspec
import numpy as np
from msgspec import Struct

from attnviz.errors import FieldError, InputError, Message, must_be, of_length, size
from attnviz.model.errors.conversion import field_error
from attnviz.model.spec.arrays import MAX_DRAWN, Matrix
from attnviz.model.spec.field import Field, field_of, fields_of, is_nullable, plain


class Value(Struct, frozen=True, forbid_unknown_fields=True, weakref=True):
    """Base of every part of a document: immutable, compared by value, unknown keys refused.

    Construction checks the types, bounds, lengths and ranges that the annotations state (a list becomes the
    tuple that is meant), then calls `check` for what annotations cannot say. `where` is the prefix of a
    field's name in a message.

    Raises:
        FieldError: the field, its value, and the requirement that it breaks.
    """

    where: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, annotation, default, instances, items, field, is_null, valid in _fields(type(self)):
            value = getattr(self, name)
            # Every edit creates an experiment, also an edit that is only tried.
            if value is default or isinstance(value, instances):
                continue
            kind = type(value)
            if kind in SCALARS and ((kind is annotation and field is None) or (kind, value) in valid):
                continue
            if items and type(value) is tuple and all(isinstance(item, items) for item in value):
                continue
            if isinstance(value, np.generic | np.ndarray) and annotation is not Matrix:
                value = value.tolist()
            try:
                checked = msgspec.convert(value, annotation, dec_hook=as_matrix)
            except (msgspec.ValidationError, ValueError) as error:
                raise field_error(error, annotation, value, self.where + name) from None
            msgspec.structs.force_setattr(self, name, checked)
            if field is not None:
                field.check(self.where + name, checked, is_null)
            if kind in COUNTS and type(checked) is kind and len(valid) < MOST_VALID:
                valid.add((kind, checked))
        self.check()

    def changed(self, **fields: Any) -> Self:
        """The part with other values in some fields."""
        return msgspec.structs.replace(self, **fields)

    def check(self) -> None:
        """Raise `FieldError` where fields that are valid one by one are not valid together."""


Classes = tuple[type, ...]
Valid = set[tuple[type, Any]]

COUNTS = frozenset({bool, int, type(None)})
"""Types of which each field keeps the values that have passed its check, at most `MOST_VALID`."""
MOST_VALID = 256
SCALARS = COUNTS | {str}


@cache
def _fields(
    cls: type[Struct],
) -> tuple[tuple[str, Any, Any, Classes, Classes, Field | None, bool, Valid], ...]:
    """Of each field: name, annotation, default, classes whose instances are checked, those of items, what its
    annotation says of its range, whether it may be null, and scalars that need no further check."""
    fields = []
    for field in fields_of(cls):
        kind = plain(field.type)
        is_row = get_origin(kind) is tuple
        one = () if is_row else _ready(kind)
        items = _ready(get_args(kind)[0]) if is_row and get_args(kind)[1:] == (...,) else ()
        said = field_of(field.type) if _has_range(field.type) else None
        fields.append(
            (field.name, kind, field.default, one, items, said, is_nullable(field.type), _literals(kind))
        )
    return tuple(fields)


def _literals(annotation: Any) -> Valid:
    """The values that an annotation lists, each with its type."""
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return {(type(value), value) for value in parts}
    return set().union(*map(_literals, parts))


def _has_range(annotation: Any) -> bool:
    """True if the range declared at the field must be checked: that of a real number, or an even one."""
    said = field_of(annotation)
    return said is not None and (said.even or _is_real(annotation))


def _is_real(annotation: Any) -> bool:
    return annotation is float or any(map(_is_real, get_args(annotation)))


def _ready(annotation: Any) -> Classes:
    """The classes in an annotation whose instances have checked themselves."""
    classes = (annotation, *get_args(annotation))
    return tuple(c for c in classes if isinstance(c, type) and issubclass(c, Struct | Matrix))


def as_matrix(expected: type, value: Any) -> Any:
    """msgspec's hook for the one type that it does not know."""
    if expected is Matrix:
        return Matrix(value)
    raise NotImplementedError(f"no decoder for {expected}")


Refusal = InputError | None
"""The error of an unusable value, or none. A rule returns one: a check raises it, and a form shows it beside
an option that cannot be chosen.
"""


def require(condition: bool, field: str, value: object, requirement: Message) -> None:
    """Raise the `FieldError` of a field and its value where a requirement is not met."""
    if not condition:
        raise FieldError(field, value, requirement)


def refuse(refusal: Refusal) -> None:
    """Raise the error that a rule returned, if any."""
    if refusal is not None:
        raise refusal


def check_texts(field: str, texts: Collection[str], most: int) -> None:
    """Refuse a text that is too long: `field` for one alone, and its place for one of several."""
    if max(map(len, texts), default=0) <= most:  # every edit checks every token
        return
    index, text = next((index, text) for index, text in enumerate(texts) if len(text) > most)
    of_text = must_be("a text of at most {most:,} characters", most=most)
    raise FieldError(field.format(index=index), of_length(len(text)), of_text)


def check_drawn(field: str, shape: tuple[int, int]) -> None:
    """Refuse a matrix that is too large to be drawn."""
    # Every edit checks every matrix: the words are made for those that fail.
    if shape[0] * shape[1] > MAX_DRAWN:
        at_most = must_be("a matrix of at most {most:,} numbers", most=MAX_DRAWN)
        raise FieldError(field, size(shape), at_most)
