"""`Budget`: the work that expressions may still take, counted before each operation.

The count is the same on every machine, so that a claim is computed everywhere or nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import InputError, Message

MOST_NUMBERS = 2**26
"""Numbers of an array that an operation reads or computes: one head of 8,192 tokens."""

MOST_WORK = 2**31
"""Work of an expression: seconds of one core. One product of two numbers is 1."""

AT_ONCE = 2**28
"""Work of the expressions that a window computes before its next frame."""

OF_A_NUMBER = 16
"""Work of a number that an operation computes: it is allocated, written and read again."""


class Budget:
    """The rest of `most`; `check` is called before each operation and may raise."""

    def __init__(self, most: int = MOST_WORK, check: Check = never_cancelled) -> None:
        self._most = self._left = most
        self._check = check

    def spend(self, work: int, shape: Sequence[int] = ()) -> None:
        """Count an operation of some work, and the array of a shape that it computes.

        Raises `InputError` if that is more than is left, or if the array is too large.
        """
        self._check()
        count = prod(shape)
        if count > MOST_NUMBERS:
            raise InputError(
                Message(
                    "An array in an expression must have at most {most:,} numbers; got {n:,}.",
                    most=MOST_NUMBERS,
                    n=count,
                )
            )
        self._left -= work + OF_A_NUMBER * count
        if self._left < 0:
            raise InputError(
                Message(
                    "An expression must take at most {most:,} operations; got more.",
                    most=self._most,
                )
            )


def together(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an operation number by number. Raises `InputError` for arrays that do not fit."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise _unfit(*shapes) from None


def product(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """The work and the shape of a matrix product. Raises `InputError` for arrays that do not fit."""
    if not left or not right or left[-1] != right[max(len(right) - 2, 0)]:
        raise _unfit(left, right)
    shape = (*left[:-1], *right[:-2], *right[-1:]) if len(right) > 1 else left[:-1]
    return prod(shape) * left[-1], shape


def _unfit(*shapes: tuple[int, ...]) -> InputError:
    first, *rest = shapes
    return InputError(
        Message(
            "Both operands must have compatible shapes; got {left} and {right}.",
            left=str(first),
            right=", ".join(map(str, rest)),
        )
    )
