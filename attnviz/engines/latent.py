"""Multi-head latent attention on any engine: latents from token vectors, keys and values from latents."""

from __future__ import annotations

from attnviz.core.dims import Array, split_kv_heads
from attnviz.engines.block import normed
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.product import product
from attnviz.model.operands.latent import latent_of
from attnviz.model.operands.matrices import latent_array
from attnviz.model.spec.latent import LatentRole
from attnviz.model.spec.parts import Identity
from attnviz.model.spec.site import Site


def query_latent(engine: Engine, site: Site, features: Features, x: Array) -> Array:
    """What W_Q reads: x itself, or the query's latent, whose stages are added."""
    latent = site.latent
    if latent is None or latent.d_q is None:
        return x
    features.add("q_latent", _product(engine, site, "query_down", x))
    if latent.query_norm is not None:
        features.add("q_latent_normed", normed(engine, latent.query_norm, features.tf["q_latent"]))
    return features.tf[features.order[-1]]


def add_latent(engine: Engine, site: Site, features: Features, x: Array) -> None:
    """Add the latent, (key, d_c), and the key that all heads share, (key, d_rope), before it is turned."""
    latent = latent_of(site)
    projected = _product(engine, site, "down", x)
    if latent.norm is not None:
        features.add("latent_projected", projected)
        projected = normed(engine, latent.norm, projected)
    features.add("latent", projected)
    if latent.d_rope:
        features.add("rope_key", _product(engine, site, "rope_key", x))


def expanded(engine: Engine, site: Site, latent_kf: Array, rope_key_kf: Array | None) -> tuple[Array, Array]:
    """Keys (g, k, d_head + d_rope) and values (g, k, d_head) of every head, from what is cached of a token.

    `rope_key_kf`, (key, d_rope), stands behind every head's content as it is, turned or not.
    """
    xp, n_heads = engine.xp, site.heads.n_kv_heads
    k = split_kv_heads(xp, _product(engine, site, "up_key", latent_kf), n_heads)
    v = split_kv_heads(xp, _product(engine, site, "up_value", latent_kf), n_heads)
    if rope_key_kf is None:
        return k, v
    shared = xp.broadcast_to(rope_key_kf, (n_heads, *rope_key_kf.shape))
    return xp.concat((k, shared), axis=-1), v


def _product(engine: Engine, site: Site, role: LatentRole, x_tf: Array) -> Array:
    """x W, (token, in) -> (token, out); an identity of equal sides hands its input on."""
    matrix = latent_array(site, role)
    is_identity = isinstance(getattr(latent_of(site), role), Identity)
    if is_identity and len(set(matrix.shape)) == 1:
        return x_tf
    return product(engine, x_tf, engine.asarray(matrix))
