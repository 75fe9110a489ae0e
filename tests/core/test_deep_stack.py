"""The gradient through a stack, against torch's autograd and against what is known of it."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.deep_stack import GAIN, LAYERS, depth_gradients, gradient_by_depth

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("has_residual", [True, False])
def test_the_norms_are_those_of_autograd(has_residual: bool) -> None:
    n, width = 5, 7
    random = np.random.default_rng(3)
    given = random.standard_normal((n, width))
    given /= np.linalg.norm(given)
    layers = []
    for _layer in LAYERS:
        weights = np.exp(random.standard_normal((n, n)))
        matrices = random.standard_normal((2, width, width)) * GAIN / width**0.5
        layers.append((weights / weights.sum(1, keepdims=True), *matrices))
    for depth, norm in zip(LAYERS, depth_gradients(n, width, has_residual, 3), strict=True):
        x = torch.zeros(n, width, dtype=torch.float64, requires_grad=True)
        state = x
        # The gradient comes from above: the layer that it passes first is the last one that runs.
        for weights, value, output in reversed(layers[:depth]):
            mixed = torch.from_numpy(weights) @ state @ torch.from_numpy(value) @ torch.from_numpy(output)
            state = state + mixed if has_residual else mixed
        (found,) = torch.autograd.grad(state, x, torch.from_numpy(given))
        assert norm == pytest.approx(float(found.norm()), rel=1e-12)


def test_without_residuals_the_gradient_vanishes_and_with_them_it_stays() -> None:
    whole, alone = gradient_by_depth(True).median, gradient_by_depth(False).median
    assert whole[0] == alone[0] == pytest.approx(1)
    assert alone[12] < 1e-6 and 0.5 < whole[12] < 5
    assert all(np.diff(alone) < 0)
