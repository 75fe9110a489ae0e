"""Equal matrices of several documents held once: presets of one model have the same weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from attnviz.model.spec.arrays import Matrix

Part = TypeVar("Part", bound=Struct)


def sharing(part: Part, others: Iterable[Struct]) -> Part:
    """`part` with the matrices of `others` in place of its own equal ones; itself if none is equal."""
    known: dict[Matrix, Matrix] = {}
    seen: set[int] = set()
    for other in others:
        for matrix in matrices_in(other, seen):
            known.setdefault(matrix, matrix)
    shared = _with_known(part, known) if known else part
    assert isinstance(shared, type(part))
    return shared


def matrices_in(part: Any, seen: set[int]) -> Iterator[Matrix]:
    """Every matrix in `part` that is not in `seen` (identities), which grows; each once."""
    if not isinstance(part, Matrix | Struct | tuple) or id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, Matrix):
        yield part
    elif isinstance(part, Struct):
        for field in part.__struct_fields__:
            yield from matrices_in(getattr(part, field), seen)
    elif part and isinstance(part[0], Struct | Matrix):  # not the 50,000 merges of a vocabulary
        for item in part:
            yield from matrices_in(item, seen)


def _with_known(part: Any, known: dict[Matrix, Matrix]) -> Any:
    """`part` with known matrices; the same object where nothing changes."""
    if isinstance(part, Matrix):
        equal = known.get(part, part)
        return equal if equal.stored == part.stored else part
    if isinstance(part, Struct):
        old = {field: getattr(part, field) for field in part.__struct_fields__}
        new = {field: _with_known(value, known) for field, value in old.items()}
        changed = {field: value for field, value in new.items() if value is not old[field]}
        return replace(part, **changed) if changed else part
    if isinstance(part, tuple) and part and isinstance(part[0], Struct | Matrix):
        items = tuple(_with_known(item, known) for item in part)
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    return part
