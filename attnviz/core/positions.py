"""Position encodings: sinusoidal, rotary (RoPE) and linear biases (ALiBi).

Angles and tables are made in float64 by NumPy, because they are small and their precision is what
long contexts depend on; the rotation itself runs in the engine's dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sinusoidal(positions: Ints, d_model: int, base: float) -> Floats:
    """Sines and cosines of position * base^(-2i/d_model), in turn; shape (token, d_model).

    Even features are sines, odd ones cosines (Vaswani et al. 2017, section 3.5).
    """
    pair = np.arange((d_model + 1) // 2, dtype=np.float64)
    angles = positions[:, None].astype(np.float64) * base ** (-2.0 * pair / d_model)
    table = np.empty((len(positions), 2 * len(pair)))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table[:, :d_model]


def rope_frequencies(n_rotated: int, base: float, multipliers: Sequence[float] = ()) -> Floats:
    """Radians per position of each pair: multiplier_i * base^(-2i/n_rotated); shape (n_rotated / 2,).

    Su et al. 2021 (RoFormer), equation 15. Missing multipliers are 1.
    """
    pair = np.arange(n_rotated // 2, dtype=np.float64)
    frequencies = base ** (-2.0 * pair / n_rotated)
    frequencies[: len(multipliers)] *= np.asarray(multipliers, dtype=np.float64)
    return frequencies


def rope_angles(positions: Ints, frequencies: Floats) -> Floats:
    """Angle of every pair at every position, in radians; shape (token, pair)."""
    return positions[:, None].astype(np.float64) * frequencies[None, :]


def rotate(xp: Any, x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Turn pairs of features: (a, b) -> (a cos - b sin, a sin + b cos).

    `x` is (..., token, d); `cos` and `sin` are (token, pair). With `interleaved` pairing pair i is
    features 2i and 2i+1 (RoFormer, GPT-J); with `half_split` it is i and i + n_rotated/2 (GPT-NeoX,
    Llama in transformers). Features past 2 * pairs stay as they are.
    """
    n_pairs = cos.shape[-1]
    first, second = pair_slices(n_pairs, pairing)
    a, b = x[..., first], x[..., second]
    turned_a = a * cos - b * sin
    turned_b = a * sin + b * cos
    if pairing == "interleaved":
        stacked = xp.stack((turned_a, turned_b), axis=-1)
        turned = xp.reshape(stacked, (*a.shape[:-1], 2 * n_pairs))
    else:
        turned = xp.concat((turned_a, turned_b), axis=-1)
    rest = x[..., 2 * n_pairs :]
    return turned if rest.shape[-1] == 0 else xp.concat((turned, rest), axis=-1)


def pair_slices(n_pairs: int, pairing: str) -> tuple[slice, slice]:
    """Where the first and the second members of the pairs stand among the features of a head."""
    if pairing == "interleaved":
        return slice(0, 2 * n_pairs, 2), slice(1, 2 * n_pairs, 2)
    return slice(0, n_pairs), slice(n_pairs, 2 * n_pairs)


def pair_of(feature: int, n_rotated: int, pairing: str) -> tuple[int, int] | None:
    """The two features of the pair that `feature` belongs to, or None where it is not rotated."""
    if feature >= n_rotated:
        return None
    if pairing == "interleaved":
        return feature - feature % 2, feature - feature % 2 + 1
    first = feature % (n_rotated // 2)
    return first, first + n_rotated // 2


def alibi_slopes(n_heads: int) -> Floats:
    """Slopes 2^(-8h/n) for h = 1..n; shape (n_heads,).

    Press et al. 2022: where n is no power of two, the slopes of the power of two below come first,
    then every other slope of the power of two above.
    """
    power = 2 ** int(np.floor(np.log2(n_heads)))
    slopes = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    extra = 2.0 ** (-8.0 * np.arange(1, 2 * power + 1, 2) / (2 * power))
    return np.concatenate((slopes, extra[: n_heads - power]))


def alibi_bias(slopes: Floats, q_positions: Ints, k_positions: Ints) -> Floats:
    """-slope * |i - j|; slopes (...) give (..., q, k)."""
    distance = np.abs(q_positions[:, None] - k_positions[None, :]).astype(np.float64)
    return -slopes[..., None, None] * distance
