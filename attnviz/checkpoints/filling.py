"""Assignment of weights to the fields of an experiment, by the paths in the family tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from attnviz.checkpoints.families.family import Array
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.arrays import Matrix, in_float64
from attnviz.model.spec.field import plain
from attnviz.model.spec.parts import Explicit, ExplicitSinks
from attnviz.model.spec.positions import WrittenTable
from attnviz.model.spec.rows import WrittenRow

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def filled(value: _Struct, arrays: Mapping[str, Array], where: str = "") -> _Struct:
    """`value` with arrays in the fields that their paths name, each as the record that the field holds.

    Raises `ValueError` if a path leads through a part that this value lacks.
    """
    types = {field.name: field.type for field in msgspec.structs.fields(value)}
    changes: dict[str, Any] = {}
    for name, inner in _by_field(arrays).items():
        present = getattr(value, name, None)
        if "" in inner:
            changes[name] = written(types[name], inner[""])
        elif present is None:
            holds = must_be("a part that holds the weights {names}", names=", ".join(inner))
            raise FieldError(f"{where}{name}", None, holds)
        else:
            changes[name] = filled(present, inner, f"{where}{name}.")
    return replace(value, **changes)


def filled_fields(fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """The fields of a future struct, with arrays where their paths lead; see `filled`."""
    inner = {name: filled(fields[name], below, f"{name}.") for name, below in _by_field(arrays).items()}
    return {**fields, **inner}


def _by_field(arrays: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
    """Arrays by the first step of their paths, and by what comes after it."""
    below: dict[str, dict[str, Array]] = {}
    for path, array in arrays.items():
        head, _, rest = path.partition(".")
        below.setdefault(head, {})[rest] = array
    return below


def written(annotation: Any, array: Array) -> Any:
    """An array as the record of explicit numbers that a field of this type may hold."""
    kind = plain(annotation)
    members = get_args(kind) or (kind,)
    if Explicit in members:
        return Explicit(Matrix.taken(array))
    if WrittenRow in members:
        return WrittenRow(Matrix.taken(array.reshape(1, -1)))
    if WrittenTable in members:
        return WrittenTable(Matrix.taken(array))
    if ExplicitSinks in members:
        return ExplicitSinks(tuple(in_float64(array).tolist()))
    return Matrix.taken(array)
