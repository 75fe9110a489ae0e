"""Spread of a row of weights: its entropy, and the number of tokens that it amounts to."""

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
    found = np.empty(len(weights))
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
            found[start : start + step] = np.where(has_weight, bits, np.nan)
    return found


def effective_count(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number of equal weights that have an entropy of `bits`: 2^H (Hill 1973, order 1)."""
    return np.asarray(np.exp2(bits))
