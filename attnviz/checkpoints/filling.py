"""Assignment of weights to the fields of an experiment, by the paths in the family tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from attnviz.checkpoints.families.family import Array
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.arrays import MAPPED_NUMBERS, Matrix, in_float64
from attnviz.model.spec.field import fields_of, plain
from attnviz.model.spec.memory_map import Computed, View, file_of
from attnviz.model.spec.parts import Explicit, ExplicitSinks
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.source import WrittenTable

Numbers = Array | Computed
"""Numbers in memory, in a file, or computed from a file's at each use."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def filled(value: _Struct, arrays: Mapping[str, Numbers], where: str = "") -> _Struct:
    """`value` with arrays in the fields that their paths name, each as the record that the field holds.

    Raises `ValueError` if a path leads through a part that this value lacks.
    """
    types = {field.name: field.type for field in fields_of(type(value))}
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


def filled_fields(fields: Mapping[str, Any], arrays: Mapping[str, Numbers]) -> dict[str, Any]:
    """The fields of a future struct, with arrays where their paths lead; see `filled`."""
    inner = {name: filled(fields[name], below, f"{name}.") for name, below in _by_field(arrays).items()}
    return {**fields, **inner}


def _by_field(arrays: Mapping[str, Numbers]) -> dict[str, dict[str, Numbers]]:
    """Arrays by the first step of their paths, and by what comes after it."""
    below: dict[str, dict[str, Numbers]] = {}
    for path, array in arrays.items():
        head, _, rest = path.partition(".")
        below.setdefault(head, {})[rest] = array
    return below


def written(annotation: Any, numbers: Numbers) -> Any:
    """Numbers as the record of explicit ones that a field of this type may hold."""
    kind = plain(annotation)
    members = get_args(kind) or (kind,)
    if Explicit in members:
        return Explicit(matrix_of(numbers))
    if WrittenTable in members:
        return WrittenTable(matrix_of(numbers))
    if WrittenRow in members:
        return WrittenRow(Matrix.taken(in_memory(numbers).reshape(1, -1)))
    if ExplicitSinks in members:
        return ExplicitSinks(tuple(in_float64(in_memory(numbers)).tolist()))
    return matrix_of(numbers)


def matrix_of(numbers: Numbers) -> Matrix:
    """The matrix of numbers: where they lie in their file, unless they are few."""
    if isinstance(numbers, Computed):
        return Matrix.lasting(numbers)
    file = file_of(numbers)
    if file is None or numbers.size < MAPPED_NUMBERS:
        return Matrix.taken(in_memory(numbers))
    return Matrix.lasting(View(file, numbers))


def in_memory(numbers: Numbers) -> Array:
    """Numbers in an array of their own: a slice of another one would keep all of that alive."""
    array = numbers.numbers() if isinstance(numbers, Computed) else numbers
    return array if array.base is None and array.flags.c_contiguous else np.array(array, order="C")
