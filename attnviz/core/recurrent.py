"""A recurrent network beside attention: what a path of n steps does to a gradient."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attnviz.core.softmax_slope import N_SEEDS, Slopes, slopes

DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Steps between two tokens."""
WIDTH, N_NETWORKS = 32, 24


@lru_cache(maxsize=1)
def recurrent_by_distance() -> Slopes:
    """`path_gradient` of `N_NETWORKS` networks of `WIDTH` features, for each of `DISTANCES`; cached."""
    norms = [path_gradients(WIDTH, DISTANCES, seed) for seed in range(N_NETWORKS)]
    return slopes(np.array(norms).T)


@lru_cache(maxsize=1)
def attention_by_distance() -> Slopes:
    """The derivative of an attention's mixture by the value of the token n steps before, for each of
    `DISTANCES`: the softmax weight of one among n + 1 keys, whose scores are independent normal numbers of
    variance 1; cached.
    """
    scores = np.exp(np.random.default_rng(2).standard_normal((N_SEEDS, max(DISTANCES) + 1)))
    return slopes(np.stack([scores[:, 0] / scores[:, : n + 1].sum(axis=1) for n in DISTANCES]))


def path_gradient(width: int, steps: int, seed: int) -> float:
    """Largest singular value of ∂h_n/∂h_0 of a recurrent network, h_t = tanh(W h_(t−1) + x_t).

    `width` is the number of features of h, `steps` is n. W has independent entries of variance 1/width, so
    that W alone keeps the length of a vector on average; x has unit variance. By the chain rule the
    Jacobian is the product of diag(1 − h_t²) W over the steps (Pascanu et al. 2013, equation 5). 1 for n = 0.
    """
    return path_gradients(width, (steps,), seed)[0]


def path_gradients(width: int, steps: tuple[int, ...], seed: int) -> list[float]:
    """`path_gradient` after each of some numbers of steps, in rising order, of one network."""
    random = np.random.default_rng(seed)
    weights = random.standard_normal((width, width)) / np.sqrt(width)
    state, jacobian, norms = np.zeros(width), np.eye(width), []
    for step in range(steps[-1] + 1):
        if step in steps:
            norms.append(float(np.linalg.norm(jacobian, 2)))
        state = np.tanh(weights @ state + random.standard_normal(width))
        jacobian = (1 - state**2)[:, None] * weights @ jacobian
    return norms
