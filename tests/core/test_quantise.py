"""Quantised rows: the steps and whole numbers that others compute, and the bound of the error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.core.quantise import largest, quantise, quantised_bytes


def test_a_row_worked_out_by_hand() -> None:
    whole, steps = quantise(np, np.array([[1.0, -0.5, 0.26, 0.0]]), 4)
    assert steps.tolist() == [[1 / 7]]
    assert whole.tolist() == [[7, -4, 2, 0]]  # 3.5 rounds to the even 4, 1.82 to 2
    whole, steps = quantise(np, np.zeros((2, 3)), 4)
    assert (whole * steps).tolist() == [[0, 0, 0]] * 2


@pytest.mark.parametrize("bits", [4, 8])
def test_torch_quantises_alike(bits: int) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(bits).standard_normal((3, 5, 16))
    whole, steps = quantise(np, x, bits)
    found = whole * steps
    for head in range(3):
        for token in range(5):
            row, step = torch.tensor(x[head, token], dtype=torch.float32), float(steps[head, token, 0])
            other = torch.fake_quantize_per_tensor_affine(row, step, 0, -largest(bits), largest(bits))
            np.testing.assert_allclose(found[head, token], other.numpy(), rtol=1e-6, atol=0)
    assert np.abs(whole).max() == largest(bits)


@given(arrays(np.float64, (2, 7), elements=st.floats(-1e6, 1e6)), st.sampled_from([4, 8]))
@example(np.full((2, 7), 5e-324), 4)
def test_the_error_is_half_a_step_at_most(x: np.ndarray, bits: int) -> None:
    whole, steps = quantise(np, x, bits)
    least = np.finfo(np.float64).smallest_normal  # a smaller step has fewer digits, or is 0
    assert (np.abs(whole * steps - x) <= np.maximum(steps / 2 * (1 + 1e-12), least)).all()


def test_bytes() -> None:
    assert quantised_bytes(10, 128, 8) == 10 * (128 + 4)
    assert quantised_bytes(10, 128, 4) == 10 * (64 + 4)
    assert quantised_bytes(1, 5, 4) == 3 + 4
