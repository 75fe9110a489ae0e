"""From logits to a token: operations that reshape the distribution, and sampling.

Each operation takes one row of logits, (vocabulary,), −inf where a token is excluded, and returns a new
row of logits, so operations chain in any order. All is float64. A row that contains NaN or +inf, or that
excludes every token, raises a `ValueError` of one sentence.

Ties: greedy and top-p prefer the lower id, top-k keeps all tokens that equal the k-th.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.errors import NOT_NEGATIVE, POSITIVE, PROBABILITY, FieldError, Message, must_be, whole_number

Floats = NDArray[np.float64]

_LARGEST = float(np.finfo(np.float64).max)
_ROUNDING = 1e-12
"""Tolerance of the sum of a long row of probabilities: a sum this close to a threshold reaches it.

Ten equal tokens add up to 0.7999999999999999 after eight of them; a nucleus of 0.8 is eight tokens.
"""


def softmax(logits: ArrayLike) -> Floats:
    """π = exp(z − max z) ÷ Σ exp(z − max z), (vocabulary,); exactly 0 where z is −inf. Sums to 1."""
    row = _checked(logits)
    with np.errstate(over="ignore"):  # two ends of float64 differ by more than its largest number
        exponentials = np.exp(row - row.max())
    return np.asarray(exponentials / exponentials.sum())


def temperature(logits: ArrayLike, value: float) -> Floats:
    """z ÷ T; T = `value` is finite and at least 0. (Ackley, Hinton, Sejnowski 1985.)

    T = 0 is greedy decoding: all but the largest logit become −inf; of several largest, the one with the
    lowest id stays unchanged. For every T > 0, however small, the largest logits share the probability, and
    no token becomes −inf: if a quotient exceeds float64's range, the row is shifted so that its largest logit
    is 0 (which changes no probability), and smaller quotients are clipped to the range.
    """
    row = _checked(logits)
    _require(math.isfinite(value) and value >= 0, "temperature", value, NOT_NEGATIVE)
    if value == 0:
        return _keep(row, np.arange(row.size) == row.argmax())
    with np.errstate(over="ignore"):
        quotient = row / value
        if np.isinf(quotient[np.isfinite(row)]).any():
            quotient = _within_range((row - row.max()) / value, row)
    return quotient


def top_k(logits: ArrayLike, k: int) -> Floats:
    """z where z is at least the k-th largest logit, else −inf; k is at least 1. (Fan, Lewis, Dauphin 2018.)

    All tokens that equal the k-th largest stay, so ties at the threshold keep more than k. A k above the
    vocabulary, or above the number of tokens that are not excluded, removes nothing.
    """
    row = _checked(logits)
    _require(k >= 1, "k", k, whole_number(1))
    border = row.size - min(k, row.size)
    return _keep(row, row >= np.partition(row, border)[border])


def top_p(logits: ArrayLike, p: float) -> Floats:
    """z of the nucleus, else −inf: the fewest most probable tokens whose probabilities sum to p or more.

    Tokens are taken from the most probable on, equal ones by ascending id, while the sum of the previous ones
    is below p (0 to 1): the token that crosses p stays, and so does the first. p = 1 removes nothing. A sum
    within 1e-12 of p reaches it. (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration".)
    """
    row = _checked(logits)
    _require(0 <= p <= 1, "p", p, PROBABILITY)
    if p == 1:
        return row.copy()
    order = np.argsort(-row, kind="stable")
    reached = np.cumsum(softmax(row)[order])
    n_kept = 1 + int(np.searchsorted(reached, p - _ROUNDING, side="left"))
    keep = np.zeros(row.size, dtype=bool)
    keep[order[:n_kept]] = True
    return _keep(row, keep)


def min_p(logits: ArrayLike, p: float) -> Floats:
    """z where π ≥ p · max π, else −inf; p is from 0 to 1. (Nguyen et al. 2024, "Turning Up the Heat".)

    π ÷ max π is exp(z − max z). The most probable tokens always stay; p = 1 keeps only those, p = 0 removes
    nothing. A quotient that falls short of p by rounding alone (a part in 10¹²) stays.
    """
    row = _checked(logits)
    _require(0 <= p <= 1, "p", p, PROBABILITY)
    with np.errstate(over="ignore"):
        relative = np.exp(row - row.max())
    return _keep(row, relative >= p * (1 - _ROUNDING))


def repetition_penalty(logits: ArrayLike, penalty: float, seen: Sequence[int] | NDArray[np.int64]) -> Floats:
    """(vocabulary,): z ÷ θ where z > 0, z · θ elsewhere, for each id in `seen`, once regardless of its count.

    θ = `penalty` is finite and above 0; above 1 it makes seen tokens less probable. Keskar et al. 2019 (CTRL)
    divide every logit; division would make a negative one more probable, so it is multiplied, as is now
    customary. Results beyond float64's range are clipped to it.
    """
    row = _checked(logits)
    _require(math.isfinite(penalty) and penalty > 0, "penalty", penalty, POSITIVE)
    ids = np.unique(np.asarray(seen, dtype=np.int64))
    for id_ in ids[(ids < 0) | (ids >= row.size)][:1]:
        _require(False, "seen", int(id_), must_be("ids below {n}, the size of the vocabulary", n=row.size))
    penalised = row.copy()
    with np.errstate(over="ignore"):
        penalised[ids] = np.where(row[ids] > 0, row[ids] / penalty, row[ids] * penalty)
    return _within_range(penalised, row)


def draw(probabilities: ArrayLike, u: float) -> int:
    """Sample the id at a uniform random number u, 0 <= u < 1, from probabilities (vocabulary,).

    The inverse of the distribution function: ids in order divide [0, 1) into intervals as long as their
    probabilities, each with its lower end and without its upper one: the lowest id whose cumulative sum
    exceeds u. A token of probability 0 is never sampled. The sum may differ from 1 by a millionth: u is
    scaled by it, so that rounding favours no token.
    """
    row = _row("probabilities", probabilities)
    if not (row.size and row.min() >= 0 and row.max() <= 1):
        _refuse("probabilities", row, ~((row >= 0) & (row <= 1)), PROBABILITY)
    _require(0 <= u < 1, "u", u, must_be("a number of at least {least} and below {most}", least=0, most=1))
    cumulative = np.cumsum(row)
    total = float(cumulative[-1]) if row.size else 0.0
    _require(
        abs(total - 1) <= 1e-6, "probabilities", Message("the sum {sum}", sum=total), Message("must sum to 1")
    )
    return int(np.searchsorted(cumulative, u * total, side="right"))  # u < 1, so u · total < total


def can_sample(logits: ArrayLike) -> bool:
    """True if a row, (vocabulary,), can be sampled from: no NaN, no +inf, at least one finite number."""
    row = np.asarray(logits)
    return bool(row.size and math.isfinite(row.max()))  # NaN and +inf surface in the maximum


def _checked(logits: ArrayLike) -> Floats:
    """The row in float64; raises unless it can be sampled from."""
    row = _row("logits", logits)
    if can_sample(row):
        return row
    wrong = np.isnan(row) | (row == np.inf)
    _refuse("logits", row, wrong, must_be("a finite number, or −inf for an excluded token"))
    all_excluded = Message("−inf for all {n} tokens", n=row.size)
    _require(
        bool(np.isfinite(row).any()), "logits", all_excluded, Message("must have at least one finite number")
    )
    return row


def _row(field: str, values: ArrayLike) -> Floats:
    row = np.asarray(values, dtype=np.float64)
    _require(row.ndim == 1, field, row, must_be("one row of numbers, one for each token of the vocabulary"))
    return row


def _refuse(field: str, row: Floats, wrong: NDArray[np.bool_], requirement: Message) -> None:
    """Raise for the first element that is `wrong`, if any."""
    for index in np.flatnonzero(wrong)[:1]:
        _require(False, f"{field}[{index}]", float(row[index]), requirement)


def _keep(row: Floats, keep: NDArray[np.bool_]) -> Floats:
    return np.where(keep, row, -np.inf)


def _within_range(changed: Floats, row: Floats) -> Floats:
    """`changed`, with −inf only where `row` excludes a token."""
    return np.where(np.isneginf(row), -np.inf, np.clip(changed, -_LARGEST, _LARGEST))


def _require(condition: bool, field: str, value: object, requirement: Message) -> None:
    if not condition:
        raise FieldError(field, value, requirement)
