"""Colour ranges against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnviz.core.levels import (
    LONG,
    RANGE_BY_ID,
    RANGES,
    better_range,
    is_sink,
    levels,
    normalise,
    row_levels,
)

WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.1, 0.2, 0.5]])
SCORES = np.array([[-4.0, 2.0], [1.0, 0.0]])


def test_one_bright_cell_in_a_million_counts() -> None:
    values = np.zeros((1024, 1024), dtype=np.float32)
    values[701, 333] = 7.5
    assert levels(values, "head", signed=False) == (0.0, 7.5)
    assert levels(values, "head", signed=True) == (-7.5, 7.5)
    shown = normalise(values, "head", (0.0, 7.5))
    assert shown.dtype == np.float32
    assert np.argwhere(shown == 1.0).tolist() == [[701, 333]]


@pytest.mark.parametrize(
    ("range_id", "signed", "expected"),
    [
        ("head", False, (0.0, 1.0)),
        ("global", False, (0.0, 1.0)),
        ("row", False, (0.0, 1.0)),
        ("symmetric", False, (-1.0, 1.0)),
        ("log", False, (0.1, 1.0)),
        ("head", True, (-1.0, 1.0)),
        ("without_first", False, (0.0, 0.75)),
        ("without_first", True, (-0.75, 0.75)),
        ("percentile", False, (0.0, 1.0)),
    ],
)
def test_levels_of_weights(range_id: str, signed: bool, expected: tuple[float, float]) -> None:
    assert levels(WEIGHTS, range_id, signed) == pytest.approx(expected)


def test_signed_data_have_zero_at_the_centre() -> None:
    assert levels(SCORES, "head", True) == (-4.0, 4.0)
    shown = normalise(SCORES, "head", (-4.0, 4.0), signed=True)
    assert shown.tolist() == [[0.0, 0.75], [0.625, 0.5]]


def test_row_range_measures_each_row() -> None:
    shown = normalise(WEIGHTS, "row", (0.0, 1.0))
    assert shown[:, :].max(axis=1).tolist() == [1.0, 1.0, 1.0]
    assert shown[2].tolist() == pytest.approx([0.2, 0.4, 1.0])
    low, high = row_levels(WEIGHTS, signed=False)
    assert low.tolist() == [0, 0, 0]
    assert high.tolist() == [1.0, 0.75, 0.5]
    assert normalise(SCORES, "row", (-4.0, 4.0), signed=True).tolist() == [[0.0, 0.75], [1.0, 0.5]]


def test_logarithm_is_linear_in_powers_of_ten() -> None:
    values = np.array([[1.0, 0.1, 0.01, 0.0]])
    ends = levels(values, "log", signed=False)
    assert ends == pytest.approx((0.01, 1.0))
    assert normalise(values, "log", ends)[0].tolist() == pytest.approx([1.0, 0.5, 0.0, 0.0], abs=1e-6)
    tiny = np.array([[1.0, 1e-30]])
    assert levels(tiny, "log", signed=False) == pytest.approx((1e-6, 1.0))
    signed = np.array([[100.0, -1.0, 0.0, 0.001]])
    shown = normalise(signed, "log", levels(signed, "log", signed=True), signed=True)
    assert shown[0].tolist() == pytest.approx([1.0, 0.25, 0.5, 0.5])


def test_masked_nan_and_infinite_cells_do_not_count() -> None:
    values = np.array([[1.0, 99.0, math.nan], [math.inf, -math.inf, 2.0]])
    blocked = np.array([[False, True, False], [False, False, False]])
    assert levels(values, "head", False, blocked) == (0.0, 2.0)
    assert levels(values, "head", True, blocked) == (-2.0, 2.0)
    assert levels(values, "head", False) == (0.0, 99.0)
    shown = normalise(values, "head", (0.0, 2.0))
    assert math.isnan(shown[0, 2])
    assert shown[1].tolist() == [1.0, 0.0, 1.0]
    row = normalise(values, "row", (0.0, 2.0), blocked=blocked)
    assert row[0, 0] == 1.0


@pytest.mark.parametrize("range_id", [r.id for r in RANGES])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((0, 0)),
        np.zeros((0, 3)),
        np.zeros((2, 2)),
        np.full((2, 2), np.nan),
        np.full((2, 2), -np.inf),
        np.full((2, 2), 0.25),
        np.full((2, 2), -3.0),
        np.array([[1e-300, 1e300]]),
        np.array([[-1.7e308, 1.7e308]]),
        np.array([[5e-324, 0.0]]),
        np.array([[3e38, -3e38]], dtype=np.float32),
        np.array([[60000, 1e-7]], dtype=np.float16),
    ],
)
def test_ends_are_ordered_and_positions_legal(values: np.ndarray, signed: bool, range_id: str) -> None:
    ends = levels(values, range_id, signed)
    assert ends[0] < ends[1]
    assert np.isfinite(ends).all()
    shown = normalise(values, range_id, ends, signed)
    assert shown.shape == values.shape
    assert np.array_equal(np.isnan(shown), np.isnan(values))
    kept = shown[~np.isnan(shown)]
    assert ((kept >= 0) & (kept <= 1)).all()


def test_equal_values_have_the_colour_of_their_size() -> None:
    equal = np.full((2, 2), 0.25)
    assert levels(equal, "head", signed=False) == (0.0, 0.25)
    assert levels(np.full((2, 2), -3.0), "head", signed=False) == (-3.0, 0.0)
    assert levels(np.zeros((2, 2)), "head", signed=False) == (0.0, 1.0)
    assert levels(np.zeros((2, 2)), "head", signed=True) == (-1.0, 1.0)


def test_fully_masked_row() -> None:
    values = np.array([[0.0, 0.0], [0.5, 0.5]])
    blocked = np.array([[True, True], [False, False]])
    assert np.isfinite(normalise(values, "row", (0.0, 1.0), blocked=blocked)).all()


def test_unknown_range_is_named() -> None:
    with pytest.raises(
        ValueError,
        match=r"range must be one of 'row', 'head', 'global', 'log', 'symmetric', 'percentile', "
        r"'without_first'; got 'rows'\.",
    ):
        levels(WEIGHTS, "rows", signed=False)


def test_percentiles_leave_the_outermost_cells_out() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, 1001.0)).reshape(40, 25)
    low, high = np.quantile(values, [0.02, 0.98], method="nearest")
    assert levels(values, "percentile", signed=False) == (low, high) == (21, 980)
    assert levels(values - 500, "percentile", signed=True) == (-490, 490)
    blocked = values > 500
    assert levels(values, "percentile", False, blocked) == (11, 490)
    shown = normalise(values, "percentile", (21, 980))
    assert shown[values == 1000] == 1 and shown[values == 1] == 0


def test_of_many_equal_cells_the_percentiles_are_those_of_all() -> None:
    values = np.zeros((100, 100))
    values[0, 0] = 3.0
    assert levels(values, "percentile", signed=False) == (0.0, 3.0)
    assert levels(values, "percentile", signed=True) == (-3.0, 3.0)


def test_the_first_token_is_left_out_along_its_axis() -> None:
    values = np.array([[9.0, 1.0], [8.0, 2.0], [7.0, 3.0]])
    assert levels(values, "without_first", False, token_axis=1) == (0.0, 3.0)
    assert levels(values, "without_first", False, token_axis=0) == (0.0, 8.0)
    hidden = values == 3.0
    assert levels(values, "without_first", False, hidden, token_axis=1) == (0.0, 2.0)
    assert levels(values[:, :1], "without_first", False) == (0.0, 1.0)


N = 128
FUTURE = np.triu(np.ones((N, N), dtype=bool), 1)


def causal(scores: np.ndarray) -> np.ndarray:
    """Softmax over the keys that a causal mask leaves."""
    shifted = np.exp(np.where(FUTURE, -np.inf, scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


RANDOM = np.random.default_rng(2).standard_normal((N, N))
SINK = RANDOM + 8 * (np.arange(N) == 0)
DIAGONAL = RANDOM + 9 * np.eye(N)


@pytest.mark.parametrize(
    ("scores", "expected"), [(RANDOM, "row"), (SINK, "without_first"), (DIAGONAL, "log"), (6 * RANDOM, "")]
)
def test_the_range_tells_what_one_token_hides(scores: np.ndarray, expected: str) -> None:
    found = better_range(causal(scores), FUTURE)
    assert found == expected and (not found or found in RANGE_BY_ID)


def test_short_maps_and_maps_without_weight_need_none() -> None:
    short = slice(0, LONG - 1)
    assert better_range(causal(SINK)[short, short], FUTURE[short, short]) == ""
    assert better_range(np.zeros((N, N)), None) == ""
    assert better_range(np.full((N, N), np.nan), None) == ""


def test_a_sink_takes_over_three_tenths_and_twice_an_even_share() -> None:
    assert is_sink(causal(SINK), FUTURE) and is_sink(causal(SINK), None)
    assert not is_sink(causal(RANDOM), FUTURE)
    for n in (1, 2, 3, 4, 8, 128):
        even = causal(np.zeros((N, N)))[:n, :n]
        assert not is_sink(even, FUTURE[:n, :n]), "the first of few tokens has much of an even share"
    shares = np.full((10, 10), 0.0)
    for share, expected in ((0.29, False), (0.31, True)):
        shares[:] = (1 - share) / 9
        shares[:, 0] = share
        assert is_sink(shares, None) == expected
    assert not is_sink(np.full((10, 10), np.nan), None)
    assert not is_sink(np.ones((1, 8)), None) and not is_sink(np.ones((8, 1)), None)
