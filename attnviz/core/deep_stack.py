"""The gradient that flows back through a stack of layers, with residual connections and without."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attnviz.core.softmax_slope import Floats, Slopes, slopes

LAYERS = tuple(range(13))
"""Layers that the gradient has passed."""
N_TOKENS, WIDTH, N_STACKS = 8, 32, 24
GAIN = 0.02 * 768**0.5
"""Mean factor by which a matrix of GPT-2 multiplies a length when its training begins: a standard deviation
of 0.02 at 768 features (Radford et al. 2019; modeling_gpt2, initializer_range).
"""


@lru_cache(maxsize=2)
def gradient_by_depth(has_residual: bool) -> Slopes:
    """`depth_gradients` of `N_STACKS` stacks; cached."""
    norms = [depth_gradients(N_TOKENS, WIDTH, has_residual, seed) for seed in range(N_STACKS)]
    return slopes(np.array(norms).T)


def depth_gradients(n: int, width: int, has_residual: bool, seed: int) -> Floats:
    """Norm of a gradient of norm 1 after each of `LAYERS`, the weights of attention being fixed.

    A layer is f(X) = A X V O, or X + f(X): A (n, n) is the softmax of independent normal scores, V and O
    (width, width) have independent entries of standard deviation `GAIN` ÷ √width. Its vector–Jacobian product
    is Aᵀ G Oᵀ Vᵀ, or that plus G (He et al. 2016, arXiv:1603.05027, equation 5).
    """
    random = np.random.default_rng(seed)
    gradient = random.standard_normal((n, width))
    gradient /= np.linalg.norm(gradient)
    norms = []
    for _layer in LAYERS:
        norms.append(float(np.linalg.norm(gradient)))
        weights = np.exp(random.standard_normal((n, n)))
        weights /= weights.sum(axis=1, keepdims=True)
        value, output = random.standard_normal((2, width, width)) * GAIN / np.sqrt(width)
        through = weights.T @ gradient @ output.T @ value.T
        gradient = gradient + through if has_residual else through
    return np.array(norms)
