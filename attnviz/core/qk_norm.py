"""Normalising each query and key over its d_head features, before they are turned."""

from __future__ import annotations

from typing import Any

from attnviz.core.dims import Array


def normed(xp: Any, x: Array, kind: str, eps: float) -> Array:
    """`x` (..., d) normalised over its last axis, without learned gains.

    rms: x / √(mean x² + eps) (Zhang and Sennrich 2019; on q and k: Dehghani et al. 2023, Qwen3).
    layer: (x - mean) / √(variance + eps) (Ba et al. 2016; on q and k: Dehghani et al. 2023, ViT-22B).
    l2: x / √(Σ x² + eps), of length one (Henry et al. 2020, "Query-Key Normalization").
    """
    centred = x - xp.mean(x, axis=-1, keepdims=True) if kind == "layer" else x
    squares = centred * centred
    if kind == "l2":
        return centred / xp.sqrt(xp.sum(squares, axis=-1, keepdims=True) + eps)
    return centred / xp.sqrt(xp.mean(squares, axis=-1, keepdims=True) + eps)
