"""The gradient by the matrices of a stack, against torch's autograd and against the theorem."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.norm_placement import LAYERS, N_STACKS, N_TOKENS, WIDTH, gradient_by_layer, weight_gradients

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("is_pre", [True, False], ids=["pre", "post"])
def test_the_norms_are_those_of_autograd(is_pre: bool) -> None:
    n, width, seeds = 5, 7, (3, 8)
    found = weight_gradients(n, width, 12, is_pre, seeds)
    assert found.shape == (12, len(seeds))
    for column, seed in enumerate(seeds):
        np.testing.assert_allclose(found[:, column], by_autograd(n, width, is_pre, seed), rtol=1e-11)


def by_autograd(n: int, width: int, is_pre: bool, seed: int) -> list[float]:
    random = np.random.default_rng(seed)
    x, given = random.standard_normal((2, n, width))
    state, downs = torch.from_numpy(x), []

    def normed(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, (width,), eps=1e-5)

    everywhere = torch.full((n, n), 1 / n, dtype=torch.float64)
    for _layer in range(12):
        value, up, down = torch.from_numpy(random.standard_normal((3, width, width)) / width**0.5)
        downs.append(down.clone().requires_grad_())
        attend = lambda x, value=value: everywhere @ x @ value  # noqa: E731
        forward = lambda x, up=up, down=downs[-1]: torch.relu(x @ up) @ down  # noqa: E731
        if is_pre:
            state = state + attend(normed(state))
            state = state + forward(normed(state))
        else:
            state = normed(state + attend(state))
            state = normed(state + forward(state))
    result = normed(state) if is_pre else state
    found = torch.autograd.grad(result, downs, torch.from_numpy(given / np.linalg.norm(given)))
    return [float(one.norm()) for one in found]


def test_by_the_last_matrix_only_norms_before_make_it_fall_with_the_root_of_the_depth() -> None:
    """Xiong et al. 2020, theorem 1: O(d √(ln d)) with norms after, O(d √(ln d ÷ L)) with norms before."""
    depths = (3, 12, 48)
    pre, post = ([gradient_by_layer(way, depth).median[-1] for depth in depths] for way in (True, False))
    for before, after in zip(pre, pre[1:], strict=False):
        assert before / after == pytest.approx(2, rel=0.15)  # √(12 ÷ 3) and √(48 ÷ 12)
    np.testing.assert_allclose(post, post[0], rtol=0.05)
    curve = gradient_by_layer(True)
    assert curve.median.shape == (len(LAYERS),) and (N_TOKENS, WIDTH, N_STACKS) == (8, 32, 24)
    assert (curve.low <= curve.median).all() and (curve.median <= curve.high).all()
