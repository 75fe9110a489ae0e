"""Arithmetic of computations that are not attention, or not exactly: arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def softmax(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """exp(x) / Σ exp(x) along the last axis of (..., n), with its maximum subtracted first."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    result: NDArray[np.floating] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def softmax_of_product(scores_qk: Floats, v_kd: Floats) -> Floats:
    """softmax(S V) over features, (q, d): one softmax around QKᵀV.

    Each row is positive and sums to 1 over the *features*, whatever the values are; tokens have no weights.
    """
    return np.asarray(softmax(scores_qk @ v_kd), np.float64)


def add_to_blocked(
    scores_qk: Floats, hidden_qk: Bools, bias: float, dtype: DTypeLike
) -> NDArray[np.floating]:
    """Add `bias` to blocked scores, (q, k), in the precision of `dtype`.

    A float16 number has 11 bits: from 8192 to 16384 the numbers are 8 apart, so -10000 rounds away what
    distinguishes most scores. float32 has steps of 2^-10 there.
    """
    kind = np.dtype(dtype)
    added = np.where(hidden_qk, bias, 0.0).astype(kind)
    result: NDArray[np.floating] = scores_qk.astype(kind) + added
    return result


def softmax_in(scores_qk: NDArray[np.floating]) -> Floats:
    """Softmax of scores, (q, k), in their own precision: summed in float32 or wider, then rounded to it."""
    wide = softmax(scores_qk.astype(np.promote_types(scores_qk.dtype, np.float32)))
    return wide.astype(scores_qk.dtype).astype(np.float64)


def entropy_bits(weights_qk: Floats) -> Floats:
    """-Σ w log2 w of each row, (q,): log2 of the number of keys if all weights are equal, 0 for one key."""
    logs = np.log2(np.where(weights_qk > 0, weights_qk, 1.0))
    result: Floats = -(weights_qk * logs).sum(axis=-1)
    return result + 0.0  # no minus zero


def shuffled(n: int, seed: int) -> tuple[int, ...]:
    """A seeded permutation of n things; never the identity if another one exists."""
    order = np.random.default_rng(seed).permutation(n)
    if n > 1 and (order == np.arange(n)).all():
        order = np.roll(order, 1)
    return tuple(order.tolist())
