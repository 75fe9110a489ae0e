"""Measures by which heads are told apart: spread, reach and likeness of their weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CELLS = 2**14
"""Cells at a time: their intermediate arrays stay in a core's cache."""


def entropy_bits(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Shannon entropy of each row of `weights` (rows, columns), in bits, shape (rows,).

    H = −Σ p log₂ p with p = w / Σw, where 0 log 0 = 0 (Shannon 1948). It is 0 if one key takes all, and
    log₂ n if n keys share alike. A row that sums to less than one, as with a sink, is divided by its sum
    first. NaN for a row without weight, with a negative weight or with one that is not finite.
    """
    entropies = np.empty(len(weights))
    step = max(1, _CELLS // max(1, weights.shape[1]))
    with np.errstate(all="ignore"):
        for start in range(0, len(weights), step):
            part = weights[start : start + step]
            sums = part.sum(axis=1, keepdims=True, dtype=np.float64)
            shares = part / sums
            terms = np.where(shares == 0, 1.0, shares)
            terms = np.multiply(shares, np.log2(terms, out=terms), out=terms)
            bits = np.maximum(-terms.sum(axis=1), 0.0)
            has_weight = np.isfinite(sums[:, 0]) & (sums[:, 0] > 0)
            entropies[start : start + step] = np.where(has_weight, bits, np.nan)
    return entropies


def effective_count(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number of equal weights that have an entropy of `bits`: 2^H (Hill 1973, order 1)."""
    return np.asarray(np.exp2(bits))


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
