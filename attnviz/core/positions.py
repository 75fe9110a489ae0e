"""Position encodings: sinusoidal, rotary (RoPE, with its scalings), biases (ALiBi, T5), DeBERTa's buckets.

NumPy computes angles and tables in float64, because they are small and long contexts depend on their
precision; the rotation itself runs in the engine's dtype.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sinusoidal(positions: Ints, d_model: int, base: float) -> Floats:
    """Alternating sines and cosines of position * base^(-2i/d_model); shape (..., token, d_model).

    Even features are sines, odd ones cosines (Vaswani et al. 2017, section 3.5).
    """
    pair = np.arange((d_model + 1) // 2, dtype=np.float64)
    angles = positions[..., None].astype(np.float64) * base ** (-2.0 * pair / d_model)
    table = np.empty((*positions.shape, 2 * len(pair)))
    table[..., 0::2] = np.sin(angles)
    table[..., 1::2] = np.cos(angles)
    return table[..., :d_model]


def rope_frequencies(n_rotated: int, base: float, multipliers: Sequence[float] = ()) -> Floats:
    """Radians per position of each pair: multiplier_i * base^(-2i/n_rotated); shape (n_rotated / 2,).

    Su et al. 2021 (RoFormer), equation 15. Missing multipliers are 1.
    """
    pair = np.arange(n_rotated // 2, dtype=np.float64)
    frequencies = base ** (-2.0 * pair / n_rotated)
    frequencies[: len(multipliers)] *= np.asarray(multipliers, dtype=np.float64)
    return frequencies


def linear_scaling(frequencies: Floats, factor: float) -> Floats:
    """Divide frequencies, (pair,), by `factor`: position t rotates as t / factor did before.

    Position interpolation, Chen et al. 2023 (arXiv 2306.15595), equation 2.
    """
    return frequencies / factor


def dynamic_ntk_base(base: float, factor: float, original: int, length: int, n_rotated: int) -> float:
    """The base of a sequence of `length`: base * (factor * L / original - (factor - 1))^(n / (n - 2)).

    L is max(`length`, `original`), so a sequence within the trained length keeps its base.
    "NTK-aware" scaling made dynamic; formula as in Peng et al. 2023 (arXiv 2309.00071), section 3.3 and
    appendix B, and as in transformers' `dynamic` rope type. A single pair (n = 2) has the exponent 0 of
    the base and keeps its frequency.
    """
    if n_rotated <= 2:
        return base
    stretch = factor * max(length, original) / original - (factor - 1.0)
    with np.errstate(over="ignore"):  # with an infinite base, the slow pairs do not rotate
        return float(np.float64(base) * np.float64(stretch) ** (n_rotated / (n_rotated - 2)))


def yarn_ramp(
    n_rotated: int, base: float, original: int, beta_fast: float, beta_slow: float, truncate: bool = True
) -> Floats:
    """Share of interpolation of each pair, 0 to 1; shape (n_rotated / 2,).

    Pairs that complete more than `beta_fast` rotations over the `original` length stay as they are, those
    below `beta_slow` are interpolated, and a ramp over the pair numbers joins the two: see `yarn_ends`. Peng
    et al. 2023 (YaRN, arXiv 2309.00071), section 3.2.
    """
    low, high = yarn_ends(n_rotated, base, original, beta_fast, beta_slow, truncate)
    pair = np.arange(n_rotated // 2, dtype=np.float64)
    return np.clip((pair - low) / (high - low), 0.0, 1.0)


def yarn_ends(
    n_rotated: int, base: float, original: int, beta_fast: float, beta_slow: float, truncate: bool = True
) -> tuple[float, float]:
    """The pair numbers where YaRN's ramp begins and ends; `truncate` rounds them outwards to whole pairs.

    Kept within 0 and n_rotated - 1 (not the last pair, n_rotated / 2 - 1), as the authors' code and
    transformers do. Equal ends are set 0.001 apart: a step instead of a ramp, without division by zero.
    """
    low = _turns_at(beta_fast, n_rotated, base, original)
    high = _turns_at(beta_slow, n_rotated, base, original)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, n_rotated - 1)
    return float(low), high + 0.001 if high == low else float(high)


def _turns_at(turns: float, n_rotated: int, base: float, original: int) -> float:
    """The pair number, not rounded, that completes `turns` rotations over `original` positions."""
    return n_rotated * math.log(original / (turns * 2.0 * math.pi)) / (2.0 * math.log(base))


def yarn_scaling(frequencies: Floats, ramp: Floats, factor: float) -> Floats:
    """frequency * (1 - ramp) + frequency / factor * ramp, (pair,). Peng et al. 2023, section 3.2."""
    return frequencies * (1.0 - ramp) + frequencies / factor * ramp


def yarn_attention_factor(factor: float) -> float:
    """0.1 ln(factor) + 1, and 1 if `factor` is at most 1: the multiplier of cosines and sines.

    Peng et al. 2023, equation 22: it scales both q and k, so scores grow by its square.
    """
    return 1.0 if factor <= 1.0 else 0.1 * math.log(factor) + 1.0


def llama3_scaling(
    frequencies: Floats, factor: float, low_freq_factor: float, high_freq_factor: float, original: int
) -> Floats:
    """Llama 3.1's scaling, (pair,), by the number of rotations t = original * frequency / 2 pi of each pair.

    t < low_freq_factor: frequency / factor. t > high_freq_factor: unchanged. Between: s * frequency +
    (1 - s) * frequency / factor with s = (t - low) / (high - low). From Meta's reference code for Llama 3.1.
    """
    turns = original * frequencies / (2.0 * math.pi)
    smooth = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0.0, 1.0)
    return smooth * frequencies + (1.0 - smooth) * frequencies / factor


def rope_angles(positions: Ints, frequencies: Floats) -> Floats:
    """Angle of every pair at every position, in radians; shape (..., token, pair)."""
    return positions[..., None].astype(np.float64) * frequencies


def turning(cos: Array, sin: Array, pairing: str) -> tuple[Array, Array]:
    """Multipliers of the features in `rotate`, (token, 2 * pairs) each, as NumPy arrays from (token, pair).

    The first is the cosine of a feature's pair; the second is its sine, which multiplies the other feature of
    the pair, negative for the first feature.
    """
    if pairing == "interleaved":
        signed = np.repeat(sin, 2, axis=-1)
        signed[..., 0::2] *= -1
        return np.repeat(cos, 2, axis=-1), signed
    return np.concatenate((cos, cos), axis=-1), np.concatenate((-sin, sin), axis=-1)


def rotate(xp: Any, x: Array, turned_by: tuple[Array, Array], pairing: str, start: int = 0) -> Array:
    """Rotate pairs of features: (a, b) -> (a cos - b sin, a sin + b cos).

    `x` is (..., token, d); `turned_by` comes from `turning`. Features `start` to `start` + 2 * pairs rotate,
    the others are unchanged. With `interleaved` pairing pair i is features 2i and 2i+1 of those (RoFormer,
    GPT-J); with `half_split` it is i and i + n_rotated/2 (GPT-NeoX, Llama in transformers).
    """
    cos, sin = turned_by
    n_rotated = cos.shape[-1]
    whole = n_rotated == x.shape[-1]
    part = x if whole else x[..., start : start + n_rotated]
    if pairing == "interleaved":
        pairs = xp.reshape(part, (*part.shape[:-1], n_rotated // 2, 2))
        other = xp.reshape(xp.flip(pairs, axis=-1), part.shape)
    else:
        half = n_rotated // 2
        other = xp.concat((part[..., half:], part[..., :half]), axis=-1)
    turned = part * cos
    turned += other * sin
    if whole:
        return turned
    before, after = x[..., :start], x[..., start + n_rotated :]
    return xp.concat(tuple(part for part in (before, turned, after) if part.shape[-1]), axis=-1)


def pair_of(feature: int, n_rotated: int, pairing: str, start: int = 0) -> tuple[int, int] | None:
    """The two features of the pair that contains `feature`, or None if it is not rotated.

    The rotated features are `start` to `start` + `n_rotated`.
    """
    place = feature - start
    if not 0 <= place < n_rotated:
        return None
    if pairing == "interleaved":
        return feature - place % 2, feature - place % 2 + 1
    first = start + place % (n_rotated // 2)
    return first, first + n_rotated // 2


def alibi_slopes(n_heads: int) -> Floats:
    """Slopes 2^(-8h/n) for h = 1..n; shape (n_heads,).

    Press et al. 2022: if n is no power of two, the slopes of the next smaller power of two come first,
    then every other slope of the next larger one.
    """
    power = 2 ** int(np.floor(np.log2(n_heads)))
    slopes = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    extra = 2.0 ** (-8.0 * np.arange(1, 2 * power + 1, 2) / (2 * power))
    return np.concatenate((slopes, extra[: n_heads - power]))


def alibi_bias(slopes: Floats, q_positions: Ints, k_positions: Ints) -> Floats:
    """-slope * |i - j|; slopes (...) give (..., q, k)."""
    distance = np.abs(q_positions[..., :, None] - k_positions[..., None, :]).astype(np.float64)
    return -slopes[..., None, None] * distance


def t5_buckets(
    q_positions: Ints, k_positions: Ints, n_buckets: int, max_distance: int, bidirectional: bool
) -> Ints:
    """The bucket of every key - query distance, (..., q, k).

    If bidirectional, later keys have the upper half of the buckets to themselves; otherwise they all count as
    distance 0. Of the buckets of a direction the first half holds one distance each, the rest logarithmically
    wider ranges up to `max_distance`; all distances beyond share the last one.
    Raffel et al. 2020 (arXiv 1910.10683), section 2.1, and the Mesh TensorFlow code it names. The logarithm
    is taken in float32 as there: at an edge between two buckets, rounding decides.
    """
    ahead = k_positions[..., None, :] - q_positions[..., :, None]
    first = np.zeros_like(ahead)
    if bidirectional:
        n_buckets //= 2
        first = np.where(ahead > 0, n_buckets, 0)
        distance = np.abs(ahead)
    else:
        distance = np.maximum(-ahead, 0)
    exact = n_buckets // 2
    ratio = np.maximum(distance, exact).astype(np.float32) / np.float32(exact)
    steps = np.log(ratio) / np.float32(math.log(max_distance / exact)) * np.float32(n_buckets - exact)
    wide = np.minimum(exact + steps.astype(np.int64), n_buckets - 1)
    return np.asarray(first + np.where(distance < exact, distance, wide), dtype=np.int64)


def deberta_buckets(distances: Ints, span: int, max_distance: int) -> Ints:
    """The bucket of query - key distances of any shape, 0 to 2 span - 1; distance 0 is bucket `span`.

    Distances below span / 2 have a bucket each; those beyond share logarithmically wider ones up to
    `max_distance`; larger distances fall into the outermost. He et al. 2021 (arXiv 2006.03654), section 3.1,
    with the logarithmic buckets of DeBERTa's second version; logarithms in float32 as there.
    """
    middle = span // 2
    size = np.maximum(np.abs(distances), middle).astype(np.float32)
    width = np.float32(math.log(np.float32((max_distance - 1) / middle)))
    steps = np.ceil(np.log(size / np.float32(middle)) / width * np.float32(middle - 1))
    wide = (steps.astype(np.int64) + middle) * np.sign(distances)
    bucket = np.where(np.abs(distances) <= middle, distances, wide)
    return np.asarray(np.clip(bucket + span, 0, 2 * span - 1), dtype=np.int64)


def temperature_factors(positions: Ints, interval: int, strength: float) -> Floats:
    """Factors of the queries at these positions: 1 + strength · ln(1 + ⌊(m + 1) ÷ interval⌋).

    Nakanishi 2025, "Scalable-Softmax", arXiv 2501.19399, in the steps of Llama 4 (Meta 2025).
    """
    steps = np.floor((np.asarray(positions, dtype=np.float64) + 1.0) / interval)
    return np.asarray(1.0 + strength * np.log1p(steps))
