"""`OPERATORS`: the signs of expressions, with the kinds of their operands and of their result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.errors import InputError, Message, verbatim
from attnviz.i18n import N_
from attnviz.model.expressions.budget import Budget, product, together
from attnviz.model.expressions.kinds import KindId, Value, named

ROUNDING = 1e-6
"""Relative difference of numbers that `==` calls equal: rounding of sums in float32."""


@dataclass(frozen=True)
class Operator:
    """A row of `OPERATORS`: its sign, the kinds that it takes, in words too, its result, and its formula.

    `fits` tells whether operands of some kinds belong together. `spend` counts the work of two operands.
    """

    id: str
    fits: Callable[..., bool]
    takes: str
    gives: KindId
    compute: Callable[..., Any]
    spend: Callable[..., None]

    def kind(self, *kinds: KindId) -> KindId:
        """The kind of the result. Raises `InputError` for operands of other kinds."""
        if not self.fits(*kinds):
            raise InputError(
                Message(
                    "The operator {sign} must have {takes}; got {got}.",
                    sign=verbatim(self.id),
                    takes=Message(self.takes),
                    got=named(kinds[0])
                    if len(kinds) == 1
                    else Message("{left} and {right}", left=named(kinds[0]), right=named(kinds[1])),
                )
            )
        return self.gives

    def value(self, budget: Budget, *operands: Value) -> Value:
        """The result. Raises `InputError` for arrays that do not fit, and for too much work."""
        self.spend(budget, *operands)
        with np.errstate(all="ignore"):
            return self.compute(*operands)


def _are_numbers(*kinds: KindId) -> bool:
    return all(kind == "numbers" for kind in kinds)


def _are_truths(*kinds: KindId) -> bool:
    return all(kind == "truth" for kind in kinds)


def _are_alike(left: KindId, right: KindId) -> bool:
    """True for two values that can be equal; null equals nothing but itself."""
    return "part" not in (left, right) and (left == right or "nothing" in (left, right))


def _of_each(budget: Budget, *operands: Value) -> None:
    budget.spend(0, together(*map(np.shape, operands)))


def _of_product(budget: Budget, left: Value, right: Value) -> None:
    budget.spend(*product(np.shape(left), np.shape(right)))


def equal(a: Any, b: Any) -> Any:
    """Numbers that are equal but for rounding: |a − b| ≤ `ROUNDING` · max(|a|, |b|). Only 0 equals 0."""
    if any(one is None or isinstance(one, str) for one in (a, b)):
        return type(a) is type(b) and a == b
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return (a == b) | (np.abs(a - b) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)))


_TWO_NUMBERS = N_("a number or an array on both sides")
_TWO_ALIKE = N_("two numbers or arrays, two texts or two conditions")


def _arithmetic(sign: str, compute: Callable[..., Any]) -> Operator:
    return Operator(sign, _are_numbers, _TWO_NUMBERS, "numbers", compute, _of_each)


def _comparison(sign: str, compute: Callable[..., Any], fits: Callable[..., bool], takes: str) -> Operator:
    return Operator(sign, fits, takes, "truth", lambda a, b: bool(np.all(compute(a, b))), _of_each)


SUMS = (_arithmetic("+", np.add), _arithmetic("-", np.subtract))
PRODUCTS = (
    _arithmetic("*", np.multiply),
    _arithmetic("/", np.divide),
    Operator("@", _are_numbers, _TWO_NUMBERS, "numbers", np.matmul, _of_product),
)
POWER = _arithmetic("^", np.power)
NEGATIVE = Operator("−", _are_numbers, N_("a number or an array behind it"), "numbers", np.negative, _of_each)
NOT = Operator("not", _are_truths, N_("a condition behind it"), "truth", operator.not_, _of_each)
COMPARISONS = (
    *(
        _comparison(sign, compute, _are_numbers, _TWO_NUMBERS)
        for sign, compute in (
            ("<", operator.lt),
            ("<=", operator.le),
            (">", operator.gt),
            (">=", operator.ge),
        )
    ),
    _comparison("==", equal, _are_alike, _TWO_ALIKE),
    _comparison("!=", lambda a, b: np.logical_not(equal(a, b)), _are_alike, _TWO_ALIKE),
)
OPERATORS: tuple[Operator, ...] = (*SUMS, *PRODUCTS, POWER, NEGATIVE, NOT, *COMPARISONS)
