"""From the input of a site to its queries, keys and values, on any engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array, split_kv_heads, split_query_heads
from attnviz.engines.block import before_attention
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.latent import add_latent, expanded, query_latent
from attnviz.engines.operands import Operands
from attnviz.engines.product import linear
from attnviz.engines.steps import add

Ints = NDArray[np.int64]


def enter(
    engine: Engine,
    operands: Operands,
    stage: str,
    x: Array,
    positions: Ints,
    change: Callable[[str, Array], Array] | None = None,
    in_text: Ints | None = None,
) -> Features:
    """Compute the stages from the input of a site, (token, d_model), to the input of its projections.

    `stage` is "tokens_embedded" if `x` are token vectors, "layer_input" if another site computed them;
    `change` is that of `Features`. `in_text` are the positions in the whole text where they are not those
    that the encoding of positions counts.
    """
    features = Features(change=change, positions=positions if in_text is None else in_text)
    x = features.add(stage, x)
    if operands.added is not None:
        features.add("x", x + engine.asarray(operands.added(positions)))
    add(engine, operands, features, "x_normed")
    widened = operands.embedding_projection
    if widened is not None:
        features.add("x_projected", linear(engine, features.tf[features.order[-1]], widened))
    before_attention(engine, operands, features)
    return features


def query_heads(engine: Engine, operands: Operands, features: Features, x: Array, positions: Ints) -> None:
    """Add q, (g, r, token, d), and, where they are used, q_normed, q_rotated and q_tempered.

    `x` is (token, d_model); `positions`, (token,), have no gaps.
    """
    scoring = operands.scoring
    q_tf = linear(engine, query_latent(engine, operands, features, x), operands.query)
    features.add("q", split_query_heads(engine.xp, q_tf, scoring.n_kv_heads, scoring.group_size))
    add(engine, operands, features, "q_normed")
    if operands.rotations:
        _add_rotated(engine, operands, features, "q", positions)
    if operands.temper is not None:
        factors = engine.asarray(operands.temper(positions)[:, None])
        features.add("q_tempered", features.query() * factors)


def key_value_heads(
    engine: Engine, operands: Operands, features: Features, x: Array, positions: Ints
) -> None:
    """Add k and v, (g, token, d), and, where they are used, k_normed, k_rotated and v_rotated.

    `x` is (token, d_keys); `positions`, (token,), have no gaps.
    """
    n_heads = operands.scoring.n_kv_heads
    if operands.latent is None:
        assert operands.key is not None and operands.value is not None
        for name, by in (("k", operands.key), ("v", operands.value)):
            features.add(name, split_kv_heads(engine.xp, linear(engine, x, by), n_heads))
    else:
        add_latent(engine, operands, operands.latent, features, x)
        made = features.tf["latent"], features.tf.get("rope_key")
        k, v = expanded(engine, operands.latent, n_heads, *made)
        features.add("k", k)
        features.add("v", v)
    add(engine, operands, features, "k_normed")
    if operands.rotations:
        _add_rotated(engine, operands, features, "k", positions)
        _add_rotated(engine, operands, features, "v", positions)


def _add_rotated(engine: Engine, operands: Operands, features: Features, name: str, positions: Ints) -> None:
    """Add q, k or v rotated by the positions of the tokens, where it is."""
    stage = f"{name}_rotated"
    if stage in operands.rotations:
        x = features.heads.get(f"{name}_normed", features.heads[name])
        features.add(stage, operands.rotations[stage].of(engine, x, positions))
