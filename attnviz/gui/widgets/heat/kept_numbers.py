"""Results of all numbers of a map, kept with these: the worker computes them before the window paints."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TypeVar, cast
from weakref import ref

import numpy as np

from attnviz.core.matrix import AnyMatrix

Result = TypeVar("Result")

_KEPT: dict[int, tuple[ref[AnyMatrix], dict[Hashable, object]]] = {}
"""By the identity of an array: the array, weakly, and its results."""


def kept(values: AnyMatrix, key: Hashable, compute: Callable[[], Result]) -> Result:
    """The result `key` of an array that nobody can write to, computed once; of another one, each time."""
    if isinstance(values, np.ndarray) and values.flags.writeable:
        return compute()
    entry = _KEPT.get(id(values))
    if entry is None or entry[0]() is not values:
        entry = _KEPT[id(values)] = (ref(values, partial(_forget, id(values))), {})
    results = entry[1]
    if key not in results:
        results[key] = compute()
    return cast(Result, results[key])


def _forget(identity: int, _gone: object) -> None:
    _KEPT.pop(identity, None)
