"""A recurrent network beside attention: what a path of n steps does to a gradient."""

from __future__ import annotations

import numpy as np


def path_gradient(width: int, steps: int, seed: int) -> float:
    """Largest singular value of ∂h_n/∂h_0 of a recurrent network, h_t = tanh(W h_(t−1) + x_t).

    `width` is the number of features of h, `steps` is n. W has independent entries of variance 1/width, so
    that W alone keeps the length of a vector on average; x has unit variance. By the chain rule the
    Jacobian is the product of diag(1 − h_t²) W over the steps (Pascanu et al. 2013, equation 5). 1 for n = 0.
    """
    random = np.random.default_rng(seed)
    weights = random.standard_normal((width, width)) / np.sqrt(width)
    state, jacobian = np.zeros(width), np.eye(width)
    for _step in range(steps):
        state = np.tanh(weights @ state + random.standard_normal(width))
        jacobian = (1 - state**2)[:, None] * weights @ jacobian
    return float(np.linalg.norm(jacobian, 2))
