"""`FIELDS`: every field of an experiment, with its description from its declaration.

Forms, titles in messages, the schema, the page of fields and the tests read this table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from msgspec.structs import FieldInfo

from attnviz.model.spec.attention import Attention
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.field import Field, bounds_of, field_of, fields_of, is_nullable
from attnviz.model.spec.value import Value

_LAYER = re.compile(r"^(?:layers|encoder)\[\d+\]\.(?:cross\.)?|^cross\.")
_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class FieldRow:
    """A field of the struct `owner`, and its description; `path` is the path in its errors."""

    path: str
    owner: type[Value]
    name: str
    annotation: Any
    default: Any
    field: Field

    @property
    def id(self) -> str:
        """Unique name of the field."""
        return self.path

    @property
    def kind(self) -> Any:
        """Its type, without bounds and without null."""
        kind = _bare(self.annotation)
        inner = [part for part in get_args(kind) if part is not type(None)]
        return _bare(inner[0]) if is_nullable(kind) and len(inner) == 1 else kind

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most that a control offers."""
        least, most = bounds_of(self.annotation)
        said = self.field
        least = least if least is not None else said.least if said.least is not None else said.above
        most = most if most is not None else said.most if said.most is not None else said.below
        infinite = float("inf")
        return said.typed or (-infinite if least is None else least, infinite if most is None else most)


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _structs(annotation: Any) -> Iterator[type[Value]]:
    """The structs that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, Value):
        yield annotation
    for part in get_args(annotation):
        yield from _structs(part)


@cache
def rows_of(owner: type[Value]) -> tuple[FieldRow, ...]:
    """The fields of a struct that say something of themselves."""
    return tuple(
        FieldRow(owner.where + field.name, owner, field.name, field.type, field.default, said)
        for field in fields_of(owner)
        if (said := field_of(field.type)) is not None
    )


def structs_below(owner: type[Value]) -> tuple[type[Value], ...]:
    """`owner` and all structs in its fields, each once, outer ones first."""
    structs = [owner]
    for struct in structs:
        for field in fields_of(struct):
            structs += [below for below in _structs(field.type) if below not in structs]
    return tuple(dict.fromkeys(structs))


if TYPE_CHECKING:
    STRUCTS: tuple[type[Value], ...]
    FIELDS: tuple[FieldRow, ...]


def __getattr__(name: str) -> Any:
    """`STRUCTS` and `FIELDS`, read when first needed: the first frame does not wait for them."""
    if name not in _TABLES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TABLES[name]()


@cache
def _structs_of_all() -> tuple[type[Value], ...]:
    return structs_below(Experiment)


@cache
def _fields_of_all() -> tuple[FieldRow, ...]:
    """Each field once, also where several structs have it, as attentions and layers do."""
    rows = (row for owner in reversed(_structs_of_all()) for row in reversed(rows_of(owner)))
    return tuple({(row.path, row.field): row for row in rows}.values())[::-1]


_TABLES = {"STRUCTS": _structs_of_all, "FIELDS": _fields_of_all}


@cache
def _by_path() -> dict[str, FieldRow]:
    return {row.path: row for row in reversed(_fields_of_all())}


def place_of_field(path: str) -> str:
    """A path without the layer that it is in: which field, or which item of one, in every attention."""
    return _LAYER.sub("", path).removeprefix("writing.")


def place_in_attention(path: str) -> str:
    """A path without its layer and indices: the same for every attention."""
    return _INDEX.sub("", _LAYER.sub("", path))


@cache
def field_at(path: str) -> FieldRow | None:
    """The field at a path, from an attention, the experiment or the part that checks itself.

    None if it does not exist, or if it depends on the kind of a part.
    """
    place = place_in_attention(path)
    if place in _by_path():
        return _by_path()[place]
    rows, _fields = _along(place)
    return rows[0] if len({row.field for row in rows}) == 1 else None


@cache
def is_field(path: str) -> bool:
    """True if a document may have a field at the path, from an attention or the experiment on."""
    place = place_in_attention(path)
    return place in _by_path() or bool(_along(place)[1])


def _along(place: str) -> tuple[list[FieldRow], list[FieldInfo]]:
    """The rows and the fields, of structs of all kinds, at the end of a path."""
    kinds: tuple[type[Value], ...] = (Attention, Experiment)
    rows: list[FieldRow] = []
    fields: list[FieldInfo] = []
    for name in place.split("."):
        tagged = tuple(kind for kind in kinds if kind.__struct_config__.tag == name)
        if tagged:
            kinds = tagged
            continue
        rows = [row for kind in kinds for row in rows_of(kind) if row.name == name]
        fields = [field for kind in kinds for field in fields_of(kind) if field.name == name]
        kinds = tuple(dict.fromkeys(struct for field in fields for struct in _structs(field.type)))
    return rows, fields
