"""Sampling, one row of logits at a time: published numbers, borders, ties and the ends of float64."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.sampling import draw, min_p, repetition_penalty, softmax, temperature, top_k, top_p

OUT = -math.inf
LARGEST = float(np.finfo(np.float64).max)
ROWS = st.lists(
    st.one_of(st.floats(-30, 30), st.sampled_from([0.0, 1.0, -1.0, 2.5, OUT])), min_size=1, max_size=12
).filter(lambda row: any(map(math.isfinite, row)))

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "softmax": softmax,
    "temperature": lambda row: temperature(row, 0.7),
    "greedy": lambda row: temperature(row, 0.0),
    "top_k": lambda row: top_k(row, 2),
    "top_p": lambda row: top_p(row, 0.8),
    "top_p, all": lambda row: top_p(row, 1.0),
    "min_p": lambda row: min_p(row, 0.1),
    "repetition_penalty": lambda row: repetition_penalty(row, 1.3, [0]),
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))


def kept(row: Any) -> list[int]:
    return np.flatnonzero(np.isfinite(row)).tolist()


def of(*probabilities: float) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(np.array(probabilities))


# --- temperature -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, [0.831, 0.112, 0.041, 0.015]),
        (1, [0.579, 0.213, 0.129, 0.078]),
        (2, [0.409, 0.248, 0.193, 0.150]),
    ],
)
def test_four_logits_at_three_temperatures(value: float, expected: list[float]) -> None:
    found = softmax(temperature([2, 1, 0.5, 0], value))
    assert found.tolist() == pytest.approx(expected, abs=0.0005)
    assert found.sum() == pytest.approx(1, abs=1e-15)


def test_temperature_divides() -> None:
    assert temperature([3.0, -1.5, OUT], 0.5).tolist() == [6.0, -3.0, OUT]


def test_temperature_zero_leaves_the_largest_as_it_was_and_of_equal_ones_the_lowest_id() -> None:
    assert temperature([1.0, 2.5, OUT, 2.5, -3.0], 0).tolist() == [OUT, 2.5, OUT, OUT, OUT]
    assert softmax(temperature([7.0, 7.0, 7.0], 0)).tolist() == [1, 0, 0]
    assert softmax(temperature([-7.0, -6.0], -0.0)).tolist() == [0, 1]


@pytest.mark.parametrize("value", [1e-3, 1e-15, 1e-300, 5e-324])
def test_a_small_temperature_is_near_greedy_and_its_ties_share(value: float) -> None:
    """Above 0 equal tokens share, however near to 0; nothing overflows, nothing is removed."""
    found = temperature([2e10, 1e10, 2e10, -3e10, OUT], value)
    assert softmax(found).tolist() == [0.5, 0, 0.5, 0, 0]
    assert kept(found) == [0, 1, 2, 3]
    assert found[0] == found[2] > found[1] >= found[3]


def test_quotients_past_the_range_keep_their_order() -> None:
    """Divided one by one, both would be infinite and equal."""
    higher, lower = 4e8, 4e8 - 1e-6
    assert higher / 1e-300 == lower / 1e-300 == math.inf
    assert softmax(temperature([lower, higher], 1e-300)).tolist() == [0, 1]


def test_a_large_temperature_makes_all_equal_but_what_is_excluded() -> None:
    assert softmax(temperature([5.0, -5.0, OUT, 0.0], 1e300)).tolist() == [1 / 3, 1 / 3, 0, 1 / 3]


# --- what is kept ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, [2]), (2, [0, 2, 3]), (3, [0, 2, 3]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3]), (99, [0, 1, 2, 3])],
)
def test_top_k_keeps_all_that_equal_the_kth(k: int, expected: list[int]) -> None:
    logits = [1.0, 0.5, 3.0, 1.0, OUT]
    found = top_k(logits, k)
    assert kept(found) == expected
    assert found[expected].tolist() == [logits[id_] for id_ in expected]


@pytest.mark.parametrize(
    ("probabilities", "p", "expected"),
    [
        ((0.3, 0.1, 0.1, 0.5), 0.8, [0, 3]),  # .5 + .3 is .8: reached
        ((0.3, 0.1, 0.1, 0.5), 0.801, [0, 1, 3]),  # crossed by one of two equal ones: the lower id
        ((0.15, 0.3, 0.3, 0.25), 0.8, [1, 2, 3]),
        ((0.15, 0.3, 0.3, 0.25), 0.2, [1]),
        ((0.15, 0.3, 0.3, 0.25), 0.0, [1]),
        ((0.15, 0.3, 0.3, 0.25), 1.0, [0, 1, 2, 3]),
        ((0.6, 0.0, 0.4), 0.99, [0, 2]),
        ((0.6, 0.0, 0.4), 1.0, [0, 2]),
    ],
)
def test_the_nucleus(probabilities: tuple[float, ...], p: float, expected: list[int]) -> None:
    assert kept(top_p(of(*probabilities), p)) == expected


@pytest.mark.parametrize("n", [3, 7, 10, 100, 1000])
def test_a_nucleus_of_equal_tokens_is_the_first_ones_for_every_border(n: int) -> None:
    """m of n equal tokens have exactly the probability m/n, whatever a float64 sum of them says."""
    for m in range(1, n + 1, max(1, n // 37)):
        assert kept(top_p(np.full(n, 0.3), m / n)) == list(range(m))
        assert kept(top_p(np.full(n, 0.3), min(1.0, (m + 0.5) / n))) == list(range(min(n, m + 1)))


def test_a_nucleus_of_one_is_everything_down_to_no_probability_at_all() -> None:
    logits = [0.0, -2000.0, OUT, -40.0]
    assert top_p(logits, 1.0).tolist() == logits
    assert kept(top_p(logits, 1 - 1e-9)) == [0]


@given(ROWS, st.floats(0.01, 0.99))
def test_the_nucleus_is_the_smallest_that_reaches_p(row: list[float], p: float) -> None:
    probabilities = softmax(row)
    found = np.array(kept(top_p(row, p)))
    inside = math.fsum(probabilities[found])
    assert inside >= p - 1e-9
    assert inside - probabilities[found].min() < p + 1e-9
    outside = np.setdiff1d(np.arange(len(row)), found)
    assert probabilities[outside].max(initial=0) <= probabilities[found].min()


@pytest.mark.parametrize(
    ("probabilities", "p", "expected"),
    [
        ((0.9, 0.0274, 0.047, 0.0256), 0.05, [0, 2]),
        ((0.15, 0.3, 0.3, 0.25), 0.05, [0, 1, 2, 3]),
        ((0.97, 0.01, 0.01, 0.01), 0.05, [0]),
        ((0.4, 0.2, 0.1, 0.3), 0.5, [0, 1, 3]),  # .2 is exactly half of .4
        ((0.4, 0.4, 0.2, 0.0), 1.0, [0, 1]),
        ((0.4, 0.4, 0.2, 0.0), 0.0, [0, 1, 2]),
    ],
)
def test_min_p_is_measured_by_the_most_probable(
    probabilities: tuple[float, ...], p: float, expected: list[int]
) -> None:
    assert kept(min_p(of(*probabilities), p)) == expected


@pytest.mark.parametrize("n", range(1, 60))
def test_min_p_at_the_border_keeps_whatever_the_last_bit_says(n: int) -> None:
    """m/n of the largest, written as logarithms, are at the border of m/n."""
    for m in range(1, n + 1):
        assert kept(min_p([math.log(n) - 3, math.log(m) - 3], m / n)) == [0, 1]


def test_seen_tokens_are_penalised_once_on_either_side_of_zero() -> None:
    found = repetition_penalty([2.0, -2.0, 0.0, 3.0, OUT], 1.25, [0, 1, 1, 2, 4, 0])
    assert found.tolist() == [1.6, -2.5, 0.0, 3.0, OUT]
    assert repetition_penalty([2.0, -2.0], 0.5, [0, 1]).tolist() == [4.0, -1.0]
    assert repetition_penalty([2.0, -2.0], 3.0, []).tolist() == [2.0, -2.0]


@pytest.mark.parametrize("penalty", [1e-308, 1e308])
def test_a_penalty_past_the_range_excludes_nobody(penalty: float) -> None:
    found = repetition_penalty([5e10, -5e10, -1.0, OUT], penalty, [0, 1, 3])
    assert kept(found) == [0, 1, 2]
    assert np.isfinite(softmax(found)).all() and softmax(found).sum() == 1


# --- the draw --------------------------------------------------------------------------------------


def test_a_draw_is_the_interval_that_u_lies_in_lower_end_included() -> None:
    probabilities = [0.25, 0.0, 0.5, 0.25, 0.0]
    cases = [(0, 0), (0.2499, 0), (0.25, 2), (0.5, 2), (0.7499, 2), (0.75, 3), (np.nextafter(1, 0), 3)]
    assert [draw(probabilities, u) for u, _ in cases] == [id_ for _, id_ in cases]
    assert draw([0.0, 1.0], 0.0) == 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any))
def test_a_grid_of_u_draws_each_token_as_often_as_it_is_probable(shares: list[int]) -> None:
    """With the grid's points inside the intervals the counts are exact."""
    total = sum(shares)
    grid = [float(Fraction(2 * i + 1, 2 * total)) for i in range(total)]
    counts = Counter(draw(np.array(shares) / total, u) for u in grid)
    assert [counts[id_] for id_ in range(len(shares))] == shares


def test_u_next_to_one_draws_a_token_that_there_is() -> None:
    """Ten tenths add up to less than 1, and a u above their sum still means the last of them."""
    last = float(np.nextafter(1, 0))
    tenths = [0.1] * 10 + [0.0]
    assert np.cumsum(tenths)[-1] < 1 and draw(tenths, last) == 9
    for n in range(1, 300):
        probabilities = softmax(np.r_[np.linspace(-3, 3, n), OUT])
        assert draw(probabilities, last) == n - 1


# --- ends ------------------------------------------------------------------------------------------


@every_operation
def test_a_vocabulary_of_one(operation: Callable[[Any], Any]) -> None:
    assert softmax(operation([-3.0])).tolist() == [1.0]


@every_operation
def test_one_token_that_is_not_excluded(operation: Callable[[Any], Any]) -> None:
    logits = [OUT, OUT, -750.0, OUT]
    after = operation(logits)
    assert (after if operation is softmax else softmax(after)).tolist() == [0, 0, 1, 0]


@every_operation
def test_the_row_that_came_in_stays_as_it_was_and_shares_no_memory(operation: Callable[[Any], Any]) -> None:
    row = np.array([0.5, 2.0, OUT, -1.0])
    before = row.copy()
    assert not np.shares_memory(operation(row), row)
    np.testing.assert_array_equal(row, before)


@every_operation
def test_the_two_ends_of_float64(operation: Callable[[Any], Any]) -> None:
    after = operation([-LARGEST, LARGEST, LARGEST / 2])
    probabilities = after if operation is softmax else softmax(after)
    assert probabilities.tolist() == [0, 1, 0]


@every_operation
@given(row=ROWS)
def test_an_excluded_token_stays_so_and_something_is_always_left(
    operation: Callable[[Any], Any], row: list[float]
) -> None:
    after = operation(row)
    probabilities = after if operation is softmax else softmax(after)
    assert (probabilities[np.isneginf(row)] == 0).all()
    assert probabilities.sum() == pytest.approx(1, abs=1e-14)


@every_operation
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            [0.0, math.nan, math.nan],
            "logits[1] must be a finite number, or −inf for an excluded token; got nan.",
        ),
        ([math.inf, 0.0], "logits[0] must be a finite number, or −inf for an excluded token; got inf."),
        ([OUT, OUT], "logits must have at least one finite number; got −inf for all 2 tokens."),
        ([], "logits must have at least one finite number; got −inf for all 0 tokens."),
        (
            [[1.0, 2.0]],
            "logits must be one row of numbers, one for each token of the vocabulary; got array(1x2).",
        ),
    ],
)
def test_a_row_that_nothing_can_be_drawn_from_is_refused(
    operation: Callable[[Any], Any], row: Any, message: str
) -> None:
    with pytest.raises(ValueError) as error:
        operation(row)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: temperature([1.0], -1), "temperature must be a finite number of at least 0; got -1."),
        (lambda: temperature([1.0], math.nan), "temperature must be a finite number of at least 0; got nan."),
        (lambda: temperature([1.0], math.inf), "temperature must be a finite number of at least 0; got inf."),
        (lambda: top_k([1.0], 0), "k must be a whole number of at least 1; got 0."),
        (lambda: top_p([1.0], 1.5), "p must be a number from 0 to 1; got 1.5."),
        (lambda: min_p([1.0], math.nan), "p must be a number from 0 to 1; got nan."),
        (lambda: repetition_penalty([1.0], 0, []), "penalty must be a finite number above 0; got 0."),
        (
            lambda: repetition_penalty([1.0, 2.0], 2, [1, 2]),
            "seen must be ids below 2, the size of the vocabulary; got 2.",
        ),
        (
            lambda: repetition_penalty([1.0, 2.0], 2, [-1]),
            "seen must be ids below 2, the size of the vocabulary; got -1.",
        ),
        (lambda: draw([0.5, 0.5], 1), "u must be a number of at least 0 and below 1; got 1."),
        (lambda: draw([0.5, 0.5], math.nan), "u must be a number of at least 0 and below 1; got nan."),
        (lambda: draw([0.5, -0.5], 0), "probabilities[1] must be a number from 0 to 1; got -0.5."),
        (lambda: draw([], 0), "probabilities must sum to 1; got the sum 0.0."),
        (lambda: draw([0.5, 0.25], 0), "probabilities must sum to 1; got the sum 0.75."),
        (lambda: draw([math.nan], 0), "probabilities[0] must be a number from 0 to 1; got nan."),
        (lambda: draw([0.0, 0.0], 0), "probabilities must sum to 1; got the sum 0.0."),
    ],
)
def test_numbers_outside_of_what_is_legal_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message
