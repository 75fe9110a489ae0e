"""Norms, activations and gated units against torch, against facts, and at the ends of every dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from half_precision import EVERY_HALF, assert_rounded, grid_step
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from attnviz.core.block import (
    ACTIVATION_BY_ID,
    ACTIVATIONS,
    CLAMP_LIMIT,
    GATED_UNIT_BY_ID,
    GATED_UNITS,
    layer_norm,
    rms_norm,
)
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.engines.torch_engine import TorchSpecial

torch = pytest.importorskip("torch")
torch_xp = pytest.importorskip("array_api_compat.torch")
F = torch.nn.functional

X = 3 * np.random.default_rng(4).standard_normal((2, 3, 5, 6)) + 0.4
UP = np.random.default_rng(5).standard_normal(X.shape)

TORCHS: dict[str, Any] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "identity": lambda x: x,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "tanh": torch.tanh,
    "relu_squared": lambda x: F.relu(x) ** 2,
}
LIMITS = {
    "relu": (0.0, math.inf),
    "gelu": (0.0, math.inf),
    "gelu_tanh": (0.0, math.inf),
    "silu": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "identity": (-math.inf, math.inf),
    "quick_gelu": (0.0, math.inf),
    "tanh": (-1.0, 1.0),
    "relu_squared": (0.0, math.inf),
}
"""Left and right of everything."""


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > 0 else math.exp(z) / (1 + math.exp(z))


def _slope(z: float) -> float:
    return math.sqrt(8 / math.pi) * (z + 0.044715 * z**3)


EXACT: dict[str, Callable[[float], float]] = {
    "relu": lambda z: max(0.0, z),
    "gelu": lambda z: 0.5 * z * math.erfc(-z * math.sqrt(0.5)),
    "gelu_tanh": lambda z: z * _sigmoid(_slope(z)),
    "silu": lambda z: z * _sigmoid(z),
    "sigmoid": _sigmoid,
    "identity": lambda z: z,
    "quick_gelu": lambda z: z * _sigmoid(1.702 * z),
    "tanh": math.tanh,
    "relu_squared": lambda z: max(0.0, z) ** 2,
}
"""Of one finite number, in float64 and in forms that lose no digits in the tails."""

TORCH_SPECIAL = TorchSpecial(torch)

every_activation = pytest.mark.parametrize("row", ACTIVATIONS, ids=lambda row: row.id)


def on_numpy(activation: str, x: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = ACTIVATION_BY_ID[activation].apply(np, x, NUMPY_SPECIAL)
    return found


def vectors(low: float, high: float) -> st.SearchStrategy[NDArray[np.float64]]:
    shapes = array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=8)
    return arrays(np.float64, shapes, elements=st.floats(low, high))


# Norms


def test_layer_norm_of_the_textbooks_eight_numbers() -> None:
    x = np.array([2.0, 4, 4, 4, 5, 5, 7, 9])
    np.testing.assert_array_equal(layer_norm(np, x, 0.0), [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2])
    np.testing.assert_allclose(rms_norm(np, x, 0.0), x / math.sqrt(29), rtol=1e-15)  # 29 = 5² + 4


@pytest.mark.parametrize("eps", [0.0, 1e-6, 1e-5, 0.3])
def test_norms_are_torchs(eps: float) -> None:
    x = torch.tensor(X)
    for norm, theirs in ((layer_norm, F.layer_norm), (rms_norm, F.rms_norm)):
        expected = theirs(x, (6,), eps=eps).numpy()
        np.testing.assert_allclose(norm(np, X, eps), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(norm(torch_xp, x, eps).numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_of_half_precision_are_torchs_also_where_squares_overflow(dtype: str) -> None:
    x = torch.tensor(X * 1000, dtype=getattr(torch, dtype))
    for norm, theirs in ((layer_norm, F.layer_norm), (rms_norm, F.rms_norm)):
        found, expected = norm(torch_xp, x, 1e-5), theirs(x.double(), (6,), eps=1e-5)
        assert found.dtype == x.dtype
        step = torch.finfo(x.dtype).eps
        np.testing.assert_allclose(found.double().numpy(), expected.numpy(), rtol=step, atol=1e-6)


def test_norms_of_float16_on_numpy_are_those_of_its_numbers_in_float64() -> None:
    x = (X * 5000).astype(np.float16)
    with np.errstate(over="raise", invalid="raise"):
        for norm in (layer_norm, rms_norm):
            found = norm(np, x, 1e-5)
            assert found.dtype == np.float16
            np.testing.assert_allclose(found, norm(np, x.astype(np.float64), 1e-5), rtol=2**-10, atol=1e-6)


@given(vectors(-100, 100))
def test_layer_norm_has_mean_zero_and_variance_one(x: NDArray[np.float64]) -> None:
    x[..., 0], x[..., -1] = -101.0, 101.0  # no row is constant
    found = layer_norm(np, x, 0.0)
    np.testing.assert_allclose(found.mean(axis=-1), 0.0, atol=1e-14)
    np.testing.assert_allclose(found.var(axis=-1), 1.0, rtol=1e-13)


@given(vectors(-100, 100), st.floats(-1000, 1000), st.floats(0.01, 100))
def test_layer_norm_forgets_shift_and_scale(x: NDArray[np.float64], shift: float, scale: float) -> None:
    x[..., 0], x[..., -1] = -101.0, 101.0
    np.testing.assert_allclose(layer_norm(np, scale * x + shift, 0.0), layer_norm(np, x, 0.0), atol=1e-9)


@given(vectors(-100, 100), st.floats(0.01, 100))
@example(np.full((2, 2), 5e-324), 100.0)
def test_rms_norm_forgets_the_scale_and_keeps_the_direction(x: NDArray[np.float64], scale: float) -> None:
    x[..., 0] = 101.0
    found = rms_norm(np, x, 0.0)
    np.testing.assert_allclose((found**2).mean(axis=-1), 1.0, rtol=1e-13)
    least = np.finfo(np.float64).smallest_normal  # what is smaller has fewer digits
    np.testing.assert_allclose(rms_norm(np, scale * x, 0.0), found, rtol=1e-13, atol=least)
    np.testing.assert_array_equal(rms_norm(np, -x, 0.0), -found)


def test_eps_keeps_rows_that_have_no_spread_finite() -> None:
    np.testing.assert_array_equal(layer_norm(np, np.full((1, 4), 7.0), 1e-5), 0.0)
    np.testing.assert_array_equal(rms_norm(np, np.zeros((1, 4)), 1e-5), 0.0)


# Activations


@every_activation
def test_an_activation_is_torchs(row: Any) -> None:
    z = np.concatenate((X.ravel(), np.linspace(-40, 40, 2001)))
    expected = TORCHS[row.id](torch.tensor(z)).numpy()
    found = row.apply(np, z, NUMPY_SPECIAL)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    on_torch = row.apply(torch_xp, torch.tensor(z), TORCH_SPECIAL)
    np.testing.assert_allclose(on_torch.numpy(), expected, rtol=1e-12, atol=1e-14)


def exact_halves(activation: str) -> NDArray[np.float64]:
    """The exact values at all numbers of float16, and the limits at its infinities."""
    exact = np.array([EXACT[activation](z) if math.isfinite(z) else z for z in EVERY_HALF.tolist()])
    with np.errstate(over="ignore"):
        exact[np.isinf(exact.astype(np.float16))] = math.inf  # a square
    exact[np.isneginf(EVERY_HALF)], exact[np.isposinf(EVERY_HALF)] = LIMITS[activation]
    return exact


def may_overflow(row: Any) -> Any:
    """NumPy's answer to an overflow: the square of a large number is infinite."""
    return "ignore" if row.id == "relu_squared" else "raise"


@every_activation
def test_every_float16_there_is(row: Any) -> None:
    """Within a step of the exact value, without a warning, on both libraries and any processor."""
    exact = exact_halves(row.id)
    with np.errstate(over=may_overflow(row), invalid="raise", divide="raise"):
        found = row.apply(np, EVERY_HALF, NUMPY_SPECIAL)
    assert found.dtype == np.float16 and len(found) == 2**16 - 2046
    assert_rounded(found, exact, EVERY_HALF)
    on_torch = row.apply(torch_xp, torch.tensor(EVERY_HALF), TORCH_SPECIAL)
    assert on_torch.dtype == torch.float16
    assert_rounded(on_torch.numpy(), exact, EVERY_HALF, may_flush=True)


class RoughSpecial(TorchSpecial):
    """Torch on a processor whose erf comes out a step of float32 lower, or higher, where it is not ±1."""

    def __init__(self, side: float) -> None:
        super().__init__(torch)
        self.side = torch.tensor(side)

    def erf(self, x: Any) -> Any:
        here = super().erf(x)
        return torch.where(here.abs() < 1, torch.nextafter(here, self.side), here)


@pytest.mark.parametrize("side", [-math.inf, math.inf])
def test_an_erf_that_is_rounded_to_its_neighbour_gives_a_float16_gelu_too(side: float) -> None:
    found = ACTIVATION_BY_ID["gelu"].apply(torch_xp, torch.tensor(EVERY_HALF), RoughSpecial(side))
    assert_rounded(found.numpy(), exact_halves("gelu"), EVERY_HALF, may_flush=True)


@every_activation
def test_a_float16_function_that_is_wrong_is_found(row: Any) -> None:
    finite = np.isfinite(EVERY_HALF)
    x, exact = EVERY_HALF[finite], exact_halves(row.id)[finite]
    assert_rounded(exact.astype(np.float16), exact, x)
    for other in ACTIVATIONS:
        if other is not row:
            with pytest.raises(AssertionError, match="wrong|inf location"):
                assert_rounded(exact_halves(other.id)[finite].astype(np.float16), exact, x, may_flush=True)
    inside = np.abs(exact) < 60000
    two_steps_off = (exact + 2.5 * grid_step(exact))[inside].astype(np.float16)
    with pytest.raises(AssertionError, match="wrong"):
        assert_rounded(two_steps_off, exact[inside], x[inside], may_flush=True)


@every_activation
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_largest_numbers_and_the_infinities_give_the_limits(row: Any, dtype: Any) -> None:
    low, high = LIMITS[row.id]
    largest = float(np.finfo(dtype).max)
    with np.errstate(over=may_overflow(row), invalid="raise", divide="raise"):
        found = row.apply(
            np, np.array([-math.inf, -largest, -60000, 60000, largest, math.inf], dtype), NUMPY_SPECIAL
        )
    if row.id == "identity":
        assert found.tolist() == [-math.inf, -largest, *np.array([-60000, 60000], dtype), largest, math.inf]
    elif row.id == "relu_squared":
        with np.errstate(over="ignore"):
            assert found.tolist() == [low, 0, 0, float(dtype(60000.0**2)), math.inf, high]
    elif row.id in ("sigmoid", "tanh"):
        assert found.tolist() == [low] * 3 + [high] * 3
    else:
        assert found.tolist() == [low, 0, 0, float(dtype(60000)), largest, high]
    assert np.isnan(row.apply(np, np.array([math.nan], dtype), NUMPY_SPECIAL)).all()


@every_activation
def test_bfloat16_on_torch_keeps_its_dtype(row: Any) -> None:
    z = torch.tensor(X, dtype=torch.bfloat16)
    found = row.apply(torch_xp, z, TORCH_SPECIAL)
    assert found.dtype == torch.bfloat16
    expected = TORCHS[row.id](z.double()).numpy()
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=2**-8, atol=1e-6)


def test_gelu_by_tanh_keeps_its_digits_in_the_left_tail() -> None:
    """(1 + tanh u) / 2 = 1 / (1 + exp(-2u)), of which the right side loses none."""
    z = np.array([-4.0, -6.0, -8.0])
    expected = [x / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in z]
    np.testing.assert_allclose(on_numpy("gelu_tanh", z), expected, rtol=1e-13)
    np.testing.assert_allclose(on_numpy("gelu_tanh", z.astype(np.float32)), expected, rtol=2e-5)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "quick_gelu"])
@given(z=vectors(-1e3, 1e3))
def test_a_share_of_z_and_what_is_left_of_it_make_z(activation: str, z: NDArray[np.float64]) -> None:
    """z·s(z) with s(z) + s(−z) = 1, so f(z) − f(−z) = z."""
    np.testing.assert_allclose(on_numpy(activation, z) - on_numpy(activation, -z), z, rtol=1e-14, atol=1e-14)


@given(vectors(-1e3, 1e3))
def test_a_sigmoid_and_its_mirror_image_sum_to_one(z: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(on_numpy("sigmoid", z) + on_numpy("sigmoid", -z), 1.0, rtol=1e-15)


@every_activation
def test_a_single_number_may_come_without_axes(row: Any) -> None:
    for z in (np.array(0.7), np.float64(0.7), np.array(0.7, dtype=np.float16)):
        found = row.apply(np, z, NUMPY_SPECIAL)
        assert found.shape == () and found.dtype == z.dtype
        assert found == row.apply(np, np.array([z]), NUMPY_SPECIAL)[0]


def test_erf_is_torchs_in_every_dtype_and_shape() -> None:
    z = np.concatenate((np.linspace(-7, 7, 4001), [1e-300, 1e300, math.inf, -math.inf, math.nan]))
    np.testing.assert_allclose(NUMPY_SPECIAL.erf(z), torch.erf(torch.tensor(z)).numpy(), rtol=4e-16)
    for dtype in (np.float16, np.float32):
        found = NUMPY_SPECIAL.erf(X.astype(dtype)[:, ::2].swapaxes(0, 2))
        assert found.dtype == dtype
        expected = torch.erf(torch.tensor(X.astype(dtype).astype(np.float64)[:, ::2].swapaxes(0, 2)))
        np.testing.assert_array_equal(found, expected.numpy().astype(dtype))


# Gated units


@every_activation
def test_a_gated_unit_is_torchs_activation_times_up(row: Any) -> None:
    expected = (TORCHS[row.id](torch.tensor(X)) * torch.tensor(UP)).numpy()
    np.testing.assert_allclose(
        GATED_UNIT_BY_ID[row.id].apply(np, X, UP, NUMPY_SPECIAL), expected, rtol=1e-12, atol=1e-14
    )


def test_the_gated_sigmoid_is_torchs_glu() -> None:
    both = torch.tensor(np.concatenate((UP, X), axis=-1))  # torch gates with the second half
    found = GATED_UNIT_BY_ID["sigmoid"].apply(np, X, UP, NUMPY_SPECIAL)
    np.testing.assert_allclose(found, F.glu(both).numpy(), rtol=1e-12)


def test_the_clamped_unit_stops_growing_at_its_limit() -> None:
    z = np.array([CLAMP_LIMIT, 60000.0, math.inf, -math.inf, -60000.0, 0.0])
    top = 7.0 / (1.0 + math.exp(-1.702 * 7.0))
    for dtype in (np.float16, np.float32, np.float64):
        gate, tall, low = z.astype(dtype), np.full(6, math.inf, dtype), np.full(6, -math.inf, dtype)
        with np.errstate(over="raise", invalid="raise"):
            highest = GATED_UNIT_BY_ID["clamped_swish"].apply(np, gate, tall, NUMPY_SPECIAL)
            lowest = GATED_UNIT_BY_ID["clamped_swish"].apply(np, gate, low, NUMPY_SPECIAL)
        assert highest.dtype == lowest.dtype == dtype
        step = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(highest, np.array([top, top, top, 0, 0, 0]) * 8, rtol=step)
        np.testing.assert_allclose(lowest, np.array([top, top, top, 0, 0, 0]) * -6, rtol=step)


def test_an_up_of_zero_lets_the_clamped_units_swish_through() -> None:
    gate = np.array([-2.0, 0.5, 3.0])
    expected = [z / (1 + math.exp(-1.702 * z)) for z in gate]
    np.testing.assert_allclose(
        GATED_UNIT_BY_ID["clamped_swish"].apply(np, gate, 0 * gate, NUMPY_SPECIAL), expected, rtol=1e-15
    )


# The tables


def test_every_activation_can_be_a_gate() -> None:
    assert list(ACTIVATION_BY_ID) == [
        "relu",
        "gelu",
        "gelu_tanh",
        "silu",
        "sigmoid",
        "identity",
        "quick_gelu",
        "tanh",
        "relu_squared",
    ]
    assert list(GATED_UNIT_BY_ID) == [*ACTIVATION_BY_ID, "clamped_swish"]
    assert all(row.title and row.formula and row.source for row in (*ACTIVATIONS, *GATED_UNITS))
    assert GATED_UNIT_BY_ID["silu"].formula == "gate · σ(gate) · up"
