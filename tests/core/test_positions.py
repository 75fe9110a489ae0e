"""Position encodings against complex arithmetic, the papers' numbers and plain loops."""

from __future__ import annotations

import cmath
import math

import array_api_compat.numpy as xp
import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.core.positions import (
    alibi_bias,
    alibi_slopes,
    dynamic_ntk_base,
    linear_scaling,
    llama3_scaling,
    pair_of,
    rope_angles,
    rope_frequencies,
    rotate,
    sinusoidal,
    t5_buckets,
    turning,
    yarn_attention_factor,
    yarn_ends,
    yarn_ramp,
    yarn_scaling,
)

Floats = NDArray[np.float64]

Q = np.array([[1.0, 0.5, -0.3, 0.8]])
K = np.array([[0.2, 1.0, 0.4, -0.6]])


def turned(x: Floats, positions: list[int], pairing: str, n_rotated: int | None = None) -> Floats:
    """RoPE of base 10,000 on (token, d)."""
    frequencies = rope_frequencies(n_rotated or x.shape[-1], 10_000.0)
    angles = rope_angles(np.array(positions), frequencies)
    result: Floats = rotate(xp, x, turning(np.cos(angles), np.sin(angles), pairing), pairing)
    return result


def pair_score(q_position: int, k_position: int, pairing: str) -> float:
    return float((turned(Q, [q_position], pairing) @ turned(K, [k_position], pairing).T)[0, 0])


# --- sinusoidal ------------------------------------------------------------------------------------


def test_sinusoidal_numbers_of_position_1() -> None:
    np.testing.assert_allclose(
        sinusoidal(np.array([1]), 4, 10_000.0)[0], [0.841471, 0.540302, 0.010000, 0.999950], atol=5e-7
    )


@pytest.mark.parametrize(("d_model", "base"), [(2, 10_000.0), (5, 10_000.0), (8, 50.0)])
def test_sinusoidal_cell_by_cell(d_model: int, base: float) -> None:
    positions = [0, 1, 7, 1000]
    expected = [
        [
            (math.cos if feature % 2 else math.sin)(t / base ** ((feature - feature % 2) / d_model))
            for feature in range(d_model)
        ]
        for t in positions
    ]
    found = sinusoidal(np.array(positions), d_model, base)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# --- rotary ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pairing", "score"), [("interleaved", -1.169916), ("half_split", -0.027288)])
def test_rope_score_of_a_pair_depends_on_the_distance_alone(pairing: str, score: float) -> None:
    assert pair_score(5, 2, pairing) == pytest.approx(score, abs=5e-7)
    assert pair_score(105, 102, pairing) == pytest.approx(score, abs=5e-7)
    assert pair_score(100_005, 100_002, pairing) == pytest.approx(pair_score(5, 2, pairing), abs=1e-9)
    assert pair_score(4, 2, pairing) != pytest.approx(score, abs=1e-3)
    assert pair_score(0, 0, pairing) == pytest.approx(0.1, abs=1e-15)


@pytest.mark.parametrize("pairing", ["interleaved", "half_split"])
@pytest.mark.parametrize("position", [0, 1, 5, 105, 100_000])
def test_rope_keeps_lengths(pairing: str, position: int) -> None:
    length = np.linalg.norm(turned(Q, [position], pairing))
    assert length == pytest.approx(1.407125, abs=5e-7)
    assert length == pytest.approx(math.sqrt(1.98), rel=1e-14)


@pytest.mark.parametrize("pairing", ["interleaved", "half_split"])
@pytest.mark.parametrize("n_rotated", [2, 4, 8])
def test_rope_is_multiplication_of_complex_numbers(pairing: str, n_rotated: int) -> None:
    d_head = 8
    x = np.random.default_rng(0).standard_normal((2, 3, d_head))
    positions = [0, 4, 1000]
    expected = x.copy()
    for pair in range(n_rotated // 2):
        first, second = (
            (2 * pair, 2 * pair + 1) if pairing == "interleaved" else (pair, pair + n_rotated // 2)
        )
        for head in range(2):
            for row, t in enumerate(positions):
                number = complex(x[head, row, first], x[head, row, second])
                number *= cmath.exp(1j * t * 10_000.0 ** (-2 * pair / n_rotated))
                expected[head, row, first], expected[head, row, second] = number.real, number.imag
    np.testing.assert_allclose(turned(x, positions, pairing, n_rotated), expected, rtol=1e-11, atol=1e-13)


def test_rope_frequencies_and_multipliers() -> None:
    np.testing.assert_allclose(rope_frequencies(4, 10_000.0), [1.0, 0.01], rtol=1e-15)
    np.testing.assert_allclose(rope_frequencies(6, 1e6), [1.0, 1e-2, 1e-4], rtol=1e-12)
    np.testing.assert_allclose(rope_frequencies(6, 1e6, (2.0, 0.0)), [2.0, 0.0, 1e-4], rtol=1e-12)
    np.testing.assert_allclose(rope_angles(np.array([3]), np.array([0.5, 2.0])), [[1.5, 6.0]])


@pytest.mark.parametrize("pairing", ["interleaved", "half_split"])
def test_pair_of_names_the_features_that_turn_together(pairing: str) -> None:
    n_rotated, d_head = 6, 8
    for feature in range(d_head):
        one = np.zeros((1, d_head))
        one[0, feature] = 1.0
        touched = set(np.flatnonzero(turned(one, [1], pairing, n_rotated)[0]).tolist())
        pair = pair_of(feature, n_rotated, pairing)
        assert touched == (set(pair) if pair else {feature})


@pytest.mark.parametrize("pairing", ["interleaved", "half_split"])
def test_features_before_the_first_rotated_one_stay(pairing: str) -> None:
    x = np.random.default_rng(4).standard_normal((2, 5, 9))
    angles = np.random.default_rng(5).standard_normal((5, 2))
    turned_by = turning(np.cos(angles), np.sin(angles), pairing)
    turned = rotate(np, x, turned_by, pairing, 3)
    np.testing.assert_array_equal(turned[..., :3], x[..., :3])
    np.testing.assert_array_equal(turned[..., 7:], x[..., 7:])
    np.testing.assert_array_equal(turned[..., 3:7], rotate(np, x[..., 3:7], turned_by, pairing))
    pairs = [pair_of(feature, 4, pairing, 3) for feature in range(9)]
    assert pairs[:3] == pairs[7:] + [None] == [None] * 3
    expected = [(3, 4), (3, 4), (5, 6), (5, 6)] if pairing == "interleaved" else [(3, 5), (4, 6)] * 2
    assert pairs[3:7] == expected


# --- ALiBi -----------------------------------------------------------------------------------------


def test_alibi_slopes_of_eight_heads() -> None:
    assert alibi_slopes(8).tolist() == [1 / 2**h for h in range(1, 9)]


def test_alibi_slopes_where_the_heads_are_no_power_of_two() -> None:
    """Press et al.: those of 8 heads, then every other one of 16."""
    root = math.sqrt(0.5)
    expected = [1 / 2**h for h in range(1, 9)] + [root, root / 2, root / 4, root / 8]
    np.testing.assert_allclose(alibi_slopes(12), expected, rtol=1e-14)
    np.testing.assert_allclose(alibi_slopes(16), [root ** (h + 1) for h in range(16)], rtol=1e-13)
    np.testing.assert_allclose(alibi_slopes(3), [1 / 16, 1 / 256, 1 / 4], rtol=1e-14)
    assert alibi_slopes(1).tolist() == [1 / 256]


def test_alibi_bias_falls_with_the_distance_on_both_sides() -> None:
    found = alibi_bias(np.array([0.5, 0.25]), np.array([2, 3]), np.array([0, 2, 7]))
    assert found.tolist() == [
        [[-1.0, 0.0, -2.5], [-1.5, -0.5, -2.0]],
        [[-0.5, 0.0, -1.25], [-0.75, -0.25, -1.0]],
    ]


# --- RoPE's scalings -------------------------------------------------------------------------------


def test_linear_scaling_makes_positions_slower() -> None:
    frequencies = rope_frequencies(8, 10_000.0)
    here = rope_angles(np.array([12]), linear_scaling(frequencies, 4.0))
    np.testing.assert_allclose(here, rope_angles(np.array([3]), frequencies), rtol=1e-15)


def test_dynamic_ntk_grows_past_the_original_length_only() -> None:
    assert dynamic_ntk_base(10_000.0, 2.0, 100, 100, 8) == 10_000.0
    assert dynamic_ntk_base(10_000.0, 2.0, 100, 7, 8) == 10_000.0
    assert dynamic_ntk_base(10_000.0, 2.0, 100, 200, 8) == pytest.approx(10_000.0 * 3 ** (8 / 6), rel=1e-14)
    assert dynamic_ntk_base(10_000.0, 2.0, 100, 200, 2) == 10_000.0
    # The slowest pair then turns as if positions were divided by the stretch, the fastest as before.
    slow = rope_frequencies(8, dynamic_ntk_base(10_000.0, 2.0, 100, 200, 8))
    plain = rope_frequencies(8, 10_000.0)
    np.testing.assert_allclose(slow[[0, 3]] / plain[[0, 3]], [1.0, 1 / 3], rtol=1e-12)
    assert dynamic_ntk_base(1e300, 1e9, 1, 10_000, 4) == math.inf


def test_yarn_keeps_fast_pairs_and_divides_slow_ones() -> None:
    ramp = yarn_ramp(64, 10_000.0, 2048, 32.0, 1.0)
    assert yarn_ends(64, 10_000.0, 2048, 32.0, 1.0) == (8.0, 21.0)
    np.testing.assert_allclose(ramp[[0, 8, 9, 20, 21, 31]], [0, 0, 1 / 13, 12 / 13, 1, 1], rtol=1e-14)
    plain = rope_frequencies(64, 10_000.0)
    scaled = yarn_scaling(plain, ramp, 16.0)
    np.testing.assert_allclose((scaled / plain)[[0, 8, 21, 31]], [1, 1, 1 / 16, 1 / 16], rtol=1e-14)
    assert yarn_attention_factor(16.0) == pytest.approx(1.277258872, rel=1e-9)
    assert yarn_attention_factor(1.0) == 1.0


def test_equal_ends_of_the_ramp_are_a_step() -> None:
    low, high = yarn_ends(4, 1e12, 10, 1.0, 0.99)
    assert (low, high) == (0.0, 1.0)
    low, high = yarn_ends(2, 1e300, 6, 0.99, 0.98)
    assert 0 < high - low <= 1
    assert yarn_ramp(4, 10.0, 1, 2.0, 1.0).tolist() == [0.0, 0.0]


def test_llama_3_divides_pairs_of_few_turns() -> None:
    frequencies = 2 * math.pi * np.array([5.0, 4.0, 2.5, 1.0, 0.3]) / 1000
    found = llama3_scaling(frequencies, 8.0, 1.0, 4.0, 1000) / frequencies
    np.testing.assert_allclose(found, [1, 1, 0.5 + 0.5 / 8, 1 / 8, 1 / 8], rtol=1e-12)


# --- T5's buckets ----------------------------------------------------------------------------------


def test_t5_buckets_of_few_distances_by_hand() -> None:
    keys = np.array([0, 5, 9, 10, 11, 12, 14, 100])
    both = t5_buckets(np.array([10]), keys, 8, 8, True)[0]
    # Four buckets a side: distances 0 and 1 alone, 2 and 3, from 4 on.
    assert both.tolist() == [3, 3, 1, 0, 5, 6, 7, 7]
    one_way = t5_buckets(np.array([10]), keys, 8, 8, False)[0]
    assert one_way.tolist() == [7, 5, 1, 0, 0, 0, 0, 0]
