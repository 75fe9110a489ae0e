"""Kinds of a closed set that a table of the tests lacks, said in one sentence: which, and where to add it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def require_all(place: str, found: Collection[type], wanted: Iterable[type]) -> None:
    """Raise unless every kind of `wanted` is in `found`, the table or module at `place`."""
    lacking = [kind.__name__ for kind in wanted if kind not in found]
    assert not lacking, f"{place} lacks {', '.join(lacking)}: add it there."


def row_of_kind(place: str, table: Mapping[type, T], kind: type) -> T:
    """The row of `kind` in the table at `place`; raises if that lacks it."""
    require_all(place, table, (kind,))
    return table[kind]
