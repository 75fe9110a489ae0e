"""Normalisation of each query and key over its d_head features, before the rotation."""

from __future__ import annotations

from typing import Any

from attnviz.core.block import layer_norm, rms_norm
from attnviz.core.dims import Array
from attnviz.core.precision import at_least_single, rounded


def normed(xp: Any, x: Array, kind: str, eps: float) -> Array:
    """`x` (..., d) normalised over its last axis, without learned gains.

    rms: as `rms_norm` (on q and k: Dehghani et al. 2023, Qwen3).
    layer: as `layer_norm` (on q and k: Dehghani et al. 2023, ViT-22B).
    l2: x / √(Σ x² + eps), of length one (Henry et al. 2020, "Query-Key Normalization").
    """
    if kind == "rms":
        return rms_norm(xp, x, eps)
    if kind == "layer":
        return layer_norm(xp, x, eps)
    wide = at_least_single(xp, x)
    length = xp.sqrt(xp.sum(wide * wide, axis=-1, keepdims=True) + eps)
    return rounded(xp, wide / length, x)
