"""The size of the gradient through a softmax, by the width of queries and keys and by the temperature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTHS = tuple(2**power for power in range(11))
"""Features of a query and a key, 1 to 1024."""
TEMPERATURES = tuple(2.0**power for power in range(-6, 7))
"""Temperatures, 1/64 to 64."""
N_KEYS, N_SEEDS = 16, 400
LOW, HIGH = 10.0, 90.0
"""The percentiles of the seeds between which a band is drawn."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """A norm at each width or temperature: the median over the seeds, a low and a high percentile."""

    median: Floats
    low: Floats
    high: Floats


def jacobian_norm(weights: NDArray[np.floating]) -> Floats:
    """Frobenius norm of w_i (δ_ij − w_j) for each row of `weights` (..., key): √(Σ w² − 2 Σ w³ + (Σ w²)²)."""
    w = np.asarray(weights, dtype=np.float64)
    squares = np.sum(w**2, axis=-1)
    return np.asarray(np.sqrt(np.maximum(squares - 2 * np.sum(w**3, axis=-1) + squares**2, 0.0)))


@lru_cache(maxsize=2)
def slopes_by_width(is_scaled: bool) -> Slopes:
    """Of softmax(q · k), or of softmax(q · k ÷ √d), for one query and `N_KEYS` keys of d independent normal
    numbers of variance 1, for each of `WIDTHS`; cached.
    """
    return slopes(np.stack([_norms(width, is_scaled) for width in WIDTHS]))


@lru_cache(maxsize=2)
def slopes_by_temperature(by_scores: bool) -> Slopes:
    """Of softmax(s ÷ T) by s ÷ T, or by the scores s themselves, which is 1/T of that, for each of
    `TEMPERATURES`; s are `N_KEYS` independent normal numbers of variance 1; cached.
    """
    scores = np.random.default_rng(1).standard_normal((N_SEEDS, N_KEYS))
    norms = [_softmax_norms(scores / t) / (t if by_scores else 1.0) for t in TEMPERATURES]
    return slopes(np.stack(norms))


def slopes(norms: Floats) -> Slopes:
    """The percentiles of norms (value, seed)."""
    median, low, high = np.percentile(norms, (50.0, LOW, HIGH), axis=1)
    return Slopes(median, low, high)


def _softmax_norms(scores: Floats) -> Floats:
    """The norms of the Jacobians of the softmax of each row."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return jacobian_norm(raised / raised.sum(axis=-1, keepdims=True))


def _norms(width: int, is_scaled: bool) -> Floats:
    """One norm for each seed.

    For a given q, the products q · k with independent normal k are independent normal numbers of variance
    |q|², so that those are sampled. All widths share them: the curves differ by d alone.
    """
    lengths = np.sqrt(np.random.default_rng(0).chisquare(width, (N_SEEDS, 1)))
    scores = lengths * np.random.default_rng(1).standard_normal((N_SEEDS, N_KEYS))
    return _softmax_norms(scores / np.sqrt(width) if is_scaled else scores)
