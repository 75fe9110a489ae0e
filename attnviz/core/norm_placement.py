"""The gradient by the matrices of a stack when training begins, with norms before and after the sublayers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnviz.core.block import layer_norm, pull_layer_norm
from attnviz.core.softmax_slope import Floats, Slopes, slopes

LAYERS = tuple(range(1, 13))
"""The layers of the stack, by number."""
N_TOKENS, WIDTH, N_STACKS = 8, 32, 24
EPS = 1e-5


@lru_cache(maxsize=32)
def gradient_by_layer(is_pre: bool, n_layers: int = len(LAYERS)) -> Slopes:
    """`weight_gradients` of `N_STACKS` stacks; cached."""
    return slopes(weight_gradients(N_TOKENS, WIDTH, n_layers, is_pre, range(N_STACKS)))


def weight_gradients(n: int, width: int, n_layers: int, is_pre: bool, seeds: Sequence[int]) -> Floats:
    """Norm of the gradient by W_2, (layer, stack), first layer first; that by the stack's output has norm 1.

    With N the LayerNorm, A(x) the mean of all tokens times V, and F(x) = max(0, x W_1) W_2, a layer is
    y = x + A(N(x)), z = y + F(N(y)), and N stands behind the last one; or y = N(x + A(x)), z = N(y + F(y)).
    V, W_1 and W_2 (width, width) have independent entries of standard deviation 1 ÷ √width, the tokens
    (n, width) of 1. By the last W_2 the gradient does not depend on the number L of layers with norms after,
    and falls as 1 ÷ √L with norms before (Xiong et al. 2020, "On Layer Normalization in the Transformer
    Architecture", theorem 1, which has this model). All stacks, one for each seed, are computed together.
    """
    random = [np.random.default_rng(seed) for seed in seeds]
    x, gradient = np.stack([one.standard_normal((2, n, width)) for one in random], axis=1)
    gradient /= _norm(gradient)[:, None, None]
    kept = []
    for _layer in range(n_layers):
        drawn = np.stack([one.standard_normal((3, width, width)) for one in random], axis=1)
        value, first, second = drawn / np.sqrt(width)
        kept.append(_Layer.of(x, value, first, second, is_pre))
        x = kept[-1].result
    if is_pre:
        gradient = pull_layer_norm(np, x, gradient, EPS)[0]
    norms = []
    for layer in reversed(kept):
        gradient, by_second = layer.pull(gradient, is_pre)
        norms.append(_norm(by_second))
    return np.array(norms[::-1])


class _Layer(NamedTuple):
    """A layer of every stack: its input, its two sums, its hidden features, its result and its matrices."""

    x: Floats
    first_sum: Floats
    hidden: Floats
    second_sum: Floats
    result: Floats
    value: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, x: Floats, value: Floats, first: Floats, second: Floats, is_pre: bool) -> _Layer:
        first_sum = x + _mean(_normed(x) if is_pre else x) @ value
        y = first_sum if is_pre else _normed(first_sum)
        hidden = np.maximum(0.0, (_normed(y) if is_pre else y) @ first)
        second_sum = y + hidden @ second
        result = second_sum if is_pre else _normed(second_sum)
        return cls(x, first_sum, hidden, second_sum, result, value, first, second)

    def pull(self, g: Floats, is_pre: bool) -> tuple[Floats, Floats]:
        """From the gradient by the result to that by the input, and that by W_2."""
        g = g if is_pre else pull_layer_norm(np, self.second_sum, g, EPS)[0]
        by_second = self.hidden.mT @ g
        through = (g @ self.second.mT * (self.hidden > 0)) @ self.first.mT
        g = g + (pull_layer_norm(np, self.first_sum, through, EPS)[0] if is_pre else through)
        g = g if is_pre else pull_layer_norm(np, self.first_sum, g, EPS)[0]
        through = _mean(g) @ self.value.mT
        return g + (pull_layer_norm(np, self.x, through, EPS)[0] if is_pre else through), by_second


def _norm(x: Floats) -> Floats:
    """Frobenius norm of each matrix."""
    return np.asarray(np.linalg.norm(x, axis=(-2, -1)))


def _normed(x: Floats) -> Floats:
    return np.asarray(layer_norm(np, x, EPS))


def _mean(x: Floats) -> Floats:
    """The mean of all tokens, in each row."""
    return np.broadcast_to(x.mean(axis=-2, keepdims=True), x.shape)
