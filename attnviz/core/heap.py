"""Freed memory that the C library keeps for its next use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def trimmed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """`function`, with `trim` after it, when its own objects are gone."""

    @wraps(function)
    def and_trim(*given: Given.args, **named: Given.kwargs) -> Result:
        result = function(*given, **named)
        trim()
        return result

    return and_trim


def trim() -> None:
    """Give the system back what was freed and is kept; nothing where the C library has no such call.

    It pays after a task that takes much memory in small pieces, once: what is given back is fetched again.
    """
    give_back = _malloc_trim()
    if give_back is not None:
        give_back(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """That of the GNU C library."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return trim
