"""Multi-head latent attention on any engine: latents from token vectors, keys and values from latents."""

from __future__ import annotations

from attnviz.core.dims import Array, split_kv_heads
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Latent, Operands
from attnviz.engines.product import linear
from attnviz.engines.steps import add


def query_latent(engine: Engine, operands: Operands, features: Features, x: Array) -> Array:
    """Input of W_Q: x (token, d_model) itself, or the query's latent (token, d_q), whose stages are added."""
    latent = operands.latent
    if latent is None or latent.query_down is None:
        return x
    features.add("q_latent", linear(engine, x, latent.query_down))
    add(engine, operands, features, "q_latent_normed")
    return features.tf[features.order[-1]]


def add_latent(engine: Engine, operands: Operands, latent: Latent, features: Features, x: Array) -> None:
    """Add the latent, (key, d_c), and the key that all heads share, (key, d_rope), before its rotation."""
    projected = linear(engine, x, latent.down)
    if "latent_projected" in operands.operations:
        features.add("latent_projected", projected)
        add(engine, operands, features, "latent")
    else:
        features.add("latent", projected)
    if latent.rope_key is not None:
        features.add("rope_key", linear(engine, x, latent.rope_key))


def expanded(
    engine: Engine, latent: Latent, n_heads: int, latent_kf: Array, rope_key_kf: Array | None
) -> tuple[Array, Array]:
    """Keys (g, k, d_head + d_rope) and values (g, k, d_head) of every head, from the cached numbers of a
    token.

    `rope_key_kf`, (key, d_rope), is appended to every head's content unchanged, rotated or not.
    """
    xp = engine.xp
    k = split_kv_heads(xp, linear(engine, latent_kf, latent.up_key), n_heads)
    v = split_kv_heads(xp, linear(engine, latent_kf, latent.up_value), n_heads)
    if rope_key_kf is None:
        return k, v
    shared = xp.broadcast_to(rope_key_kf, (n_heads, *rope_key_kf.shape))
    return xp.concat((k, shared), axis=-1), v
