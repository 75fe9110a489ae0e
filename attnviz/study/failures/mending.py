"""Mend a broken experiment: the fields that the failure changed are put back, all other edits stay."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from attnviz.model.spec.experiment import Experiment


def mended(present: Experiment, before: Experiment, broken: Experiment) -> Experiment:
    """`present`, in which everything that differs between `before` and `broken` is as it was before.

    Where undo has led to a state that has no place for it, such as one with other stacks, `present` itself.
    """
    try:
        made = _mended(present, before, broken)
    except ValueError:
        return present
    assert isinstance(made, Experiment)
    return made


def _mended(present: Any, before: Any, broken: Any) -> Any:
    if before == broken:
        return present
    if isinstance(before, Struct) and type(present) is type(before) is type(broken):
        fields = {
            name: _mended(getattr(present, name), getattr(before, name), getattr(broken, name))
            for name in before.__struct_fields__
            if getattr(before, name) != getattr(broken, name)
        }
        return replace(present, **fields)
    if isinstance(before, tuple) and isinstance(broken, tuple) and isinstance(present, tuple):
        if len(before) == len(broken) == len(present):
            return tuple(_mended(*parts) for parts in zip(present, before, broken, strict=True))
    return before
