"""Fields by their paths: their values, and the edits that replace them.

A path names fields from an attention or the experiment on, such as `position.scaling.factor`; a mask is named
by its kind, `masks.window.left`, wherever that mask is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attnviz.model.edit.masks import find_mask, put_mask
from attnviz.model.fields import field_at
from attnviz.model.masks import MASKS
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import NAMED, Site

S = TypeVar("S", bound=Site | Experiment)

_MASKS = {f"masks.{family.tag}": family.kind for family in MASKS}


def fields_at(part: Any) -> tuple[str, ...]:
    """The names of the fields of a part; none of what is no part."""
    names: tuple[str, ...] = NAMED if isinstance(part, Site) else getattr(part, "__struct_fields__", ())
    return names


def part_at(subject: Site | Experiment, path: str) -> Any:
    """The part that a path names; None if it does not exist."""
    if path in _MASKS:
        return find_mask(subject, _MASKS[path])  # type: ignore[arg-type]
    part: Any = subject
    for name in path.split(".") if path else ():
        part = _value(part, name)
    return part


def value_at(subject: Site | Experiment, path: str) -> Any:
    """The value of the field at `path`; None if it is null, or does not exist."""
    part, _dot, name = path.rpartition(".")
    return _value(part_at(subject, part), name)


def _value(part: Any, name: str) -> Any:
    """A field by its name. A part has other attributes too, which no path names."""
    return getattr(part, name) if name in fields_at(part) else None


def is_shown(subject: Site | Experiment, path: str) -> bool:
    """True if the field at `path` has a value that is in use."""
    if value_at(subject, path) is None:
        return False
    row, part = field_at(path), part_at(subject, path.rpartition(".")[0])
    return row is None or row.field.when is None or row.field.when(part)


def put_at(subject: S, path: str, value: Any) -> S:
    """`subject` with another value of the field at `path`; as it is where it has no such field."""
    part_path, _dot, name = path.rpartition(".")
    part = part_at(subject, part_path)
    if name not in fields_at(part):
        return subject
    changed = part.changed(**{name: value})
    if part_path in _MASKS:
        return put_mask(subject, changed)  # type: ignore[arg-type, return-value]
    return put_at(subject, part_path, changed) if part_path else changed


def putting(path: str) -> Callable[[S, Any], S]:
    """The edit that puts a value in the place of the field at `path`."""
    return lambda subject, value: put_at(subject, path, value)
