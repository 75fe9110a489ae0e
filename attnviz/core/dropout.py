"""Dropout in which every cell depends only on its own coordinates.

A sequential generator gives a decoding step other zeros than the full pass, and each engine other zeros
again. Here the random number of a cell is a hash of (seed, head, query position, key position), or of (seed,
place, position, feature), so windows, steps and engines agree.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
Ints = NDArray[np.int64]

AFTER_ATTENTION, AFTER_FFN = 2**32, 2**32 + 1
"""In place of a head, the first coordinate of the numbers of a token: their place, past every head."""


def keep(seed: int, p: float, heads: Ints, q: Ints, k: Ints) -> NDArray[np.bool_]:
    """Return True for each weight that survives, with the probability 1 − p.

    Heads (...), queries (..., q) and keys (..., k) give (..., q, k).

    The hash is SplitMix64 (Steele, Lea, Flood 2014), applied to one coordinate after the other.
    """
    state = _mix(_mix(np.asarray(seed, dtype=np.uint64)) ^ heads.astype(np.uint64))
    state = _mix(state[..., None] ^ q.astype(np.uint64))
    state = _mix(state[..., None] ^ k.astype(np.uint64)[..., None, :])
    # Of k · 2⁻⁵³, a number from 0 to 1, and p, in whole numbers.
    survives: NDArray[np.bool_] = (state >> np.uint64(11)) >= np.uint64(math.ceil(p * 2.0**53))
    return survives


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One SplitMix64 step; 64-bit arithmetic wraps around by design."""
    with np.errstate(over="ignore"):
        z = z + _GOLDEN
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return z
