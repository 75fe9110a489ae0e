"""Measures by which heads are told apart: spread, reach and likeness of their weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.entropy import entropy_bits

Floats = NDArray[np.floating]


def mean_entropy(weights: Floats) -> float:
    """Mean Shannon entropy of the rows of `weights` (query, key), in bits; NaN without a row of weight."""
    return _mean(entropy_bits(weights))


def mean_distance(weights: Floats, queries: NDArray[np.integer]) -> float:
    """Mean distance between a query and its keys, in positions.

    `weights` are (query, key), `queries` the positions of the queries. Each row counts alike:
    mean over i of Σ_j w_ij |i − j| / Σ_j w_ij, the attention distance of Dosovitskiy et al. 2021 (ViT,
    appendix D.7). Rows without weight do not count; NaN if none is left.
    """
    apart = np.abs(queries[:, None] - np.arange(weights.shape[1]))
    with np.errstate(all="ignore"):
        sums = weights.sum(axis=1, dtype=np.float64)
        return _mean((weights * apart).sum(axis=1, dtype=np.float64) / sums)


def overlap(weights: Floats, others: Floats) -> float:
    """Share of the weights of two heads that lies on the same cells, from 0 to 1.

    Both are (query, key). Mean over the rows of Σ_j min(a_ij, b_ij), which is one minus the total variation
    distance of the rows if both sum to one. NaN without rows.
    """
    return _mean(np.minimum(weights, others).sum(axis=1, dtype=np.float64))


def _mean(rows: NDArray[np.float64]) -> float:
    """Mean of the finite values; NaN if none is finite."""
    finite = rows[np.isfinite(rows)]
    return float(finite.mean()) if finite.size else float("nan")
