"""Results of all numbers of a map, kept with these: the worker computes them before the window paints."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar, cast
from weakref import ref

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")

_KEPT: dict[int, tuple[ref[NDArray[Any]], dict[Hashable, object]]] = {}
"""By the identity of an array: the array, weakly, and its results."""


def kept(values: NDArray[np.floating], key: Hashable, compute: Callable[[], Result]) -> Result:
    """The result `key` of an array that nobody can write to, computed once; of another one, each time."""
    if values.flags.writeable:
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
