"""From what comes into a site to its queries, keys and values, on any engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array, split_kv_heads, split_query_heads
from attnviz.core.positions import rotate
from attnviz.core.qk_norm import normed
from attnviz.engines.block import add_norm, add_row, before_attention, times_row
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.latent import add_latent, expanded, query_latent
from attnviz.engines.product import product
from attnviz.model import positions as positions_
from attnviz.model.operands.matrices import projection_array
from attnviz.model.spec.parts import Identity, Role, Rope
from attnviz.model.spec.site import Site

Ints = NDArray[np.int64]


def enter(engine: Engine, site: Site, stage: str, x: Array, positions: Ints) -> Features:
    """What comes into a site, (token, d_model), up to what its projections read.

    `stage` is "tokens_embedded" where `x` are token vectors, "layer_input" where another site has made them.
    """
    features = Features()
    features.add(stage, x)
    added = positions_.added_rows(site, positions)
    if added is not None:
        features.add("x", features.tf[features.order[-1]] + engine.asarray(added))
    add_norm(engine, features, "x_normed", site.embedding_norm, features.order[-1])
    before_attention(engine, site, features)
    return features


def project(engine: Engine, site: Site, role: Role, x_tf: Array) -> Array:
    """x W + b, (token, in) -> (token, out); an identity of equal sides hands its input on."""
    is_identity = isinstance(getattr(site.projections, role), Identity)
    if is_identity:
        rows, columns = site.projection_shape(role)
        is_identity = rows == columns
    y = x_tf if is_identity else product(engine, x_tf, engine.asarray(projection_array(site, role)))
    return add_row(engine, y, getattr(site.projections, f"{role}_bias"))


def query_heads(engine: Engine, site: Site, features: Features, x: Array, positions: Ints) -> None:
    """Add q and, where they are used, q_normed and q_rotated; `positions` have no gaps."""
    heads = site.heads
    q_tf = project(engine, site, "query", query_latent(engine, site, features, x))
    features.add("q", split_query_heads(engine.xp, q_tf, heads.n_kv_heads, heads.group_size))
    _add_normed(engine, site, features, "q")
    if isinstance(site.position, Rope):
        q = features.query()
        features.add("q_rotated", _rotated(engine, site, q, positions, site.position))


def key_value_heads(engine: Engine, site: Site, features: Features, x: Array, positions: Ints) -> None:
    """Add k and v and, where they are used, k_normed, k_rotated and v_rotated; `positions` have no gaps."""
    if site.latent is None:
        for name, role in (("k", "key"), ("v", "value")):
            projected = project(engine, site, role, x)  # type: ignore[arg-type]
            features.add(name, split_kv_heads(engine.xp, projected, site.heads.n_kv_heads))
    else:
        add_latent(engine, site, features, x)
        k, v = expanded(engine, site, features.tf["latent"], features.tf.get("rope_key"))
        features.add("k", k)
        features.add("v", v)
    _add_normed(engine, site, features, "k")
    position = site.position
    if isinstance(position, Rope):
        k = features.key()
        features.add("k_rotated", _rotated(engine, site, k, positions, position))
        if position.on_values:
            v = features.heads["v"]
            features.add("v_rotated", _rotated(engine, site, v, positions, position))


def _add_normed(engine: Engine, site: Site, features: Features, name: str) -> None:
    norm = site.qk_norm
    if norm is None:
        return
    made = normed(engine.xp, features.heads[name], norm.kind, norm.eps)
    gain = norm.query_gain if name == "q" else norm.key_gain
    features.add(f"{name}_normed", times_row(engine, made, gain))


def _rotated(engine: Engine, site: Site, x: Array, positions: Ints, rope: Rope) -> Array:
    first, end = int(positions[0]), int(positions[-1]) + 1
    cos, sin = positions_.turns(site, end)
    turned_by = engine.asarray(cos)[first:end], engine.asarray(sin)[first:end]
    return rotate(engine.xp, x, turned_by, rope.pairing, positions_.rotated_features(site).start)
