"""Transformer-XL's and DeBERTa's terms of the scores, on an engine."""

from __future__ import annotations

import numpy as np

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.model.operands.relative import RelativeParts


def add_relative_(engine: Engine, s_grqk: Array, q_grqd: Array, k_gkd: Array, parts: RelativeParts) -> None:
    """Add q · a[row] + k · b[row] + k · u + c[row] to the scores of some heads, in place."""
    transposed = engine.xp.matrix_transpose
    n_queries, n_keys = parts.rows.shape
    k_g1kd = k_gkd[:, None, :, :]
    to_query = q_grqd @ transposed(engine.asarray(parts.to_query))
    s_grqk += to_query[..., np.arange(n_queries)[:, None], parts.rows]
    if parts.to_key is not None:
        to_key = k_g1kd @ transposed(engine.asarray(parts.to_key))
        s_grqk += to_key[..., np.arange(n_keys)[None, :], parts.rows]
    if parts.key_bias is not None:
        s_grqk += transposed(k_g1kd @ engine.asarray(parts.key_bias[..., None]))
    if parts.constant is not None:
        s_grqk += engine.asarray(parts.constant[..., parts.rows])
