"""From the input of a site to its queries, keys and values, on any engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.block import before_attention
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
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
    add(engine, operands, features, "x_normed", "x_projected")
    before_attention(engine, operands, features)
    return features


def query_heads(engine: Engine, operands: Operands, features: Features, positions: Ints) -> None:
    """Add q, (g, r, token, d), and, where they are used, its latent, q_normed, q_rotated and q_tempered.

    `positions`, (token,), have no gaps.
    """
    add(engine, operands, features, "q_latent", "q_latent_normed", "q", "q_normed")
    if operands.rotations:
        _add_rotated(engine, operands, features, "q", positions)
    if operands.temper is not None:
        factors = engine.asarray(operands.temper(positions)[:, None])
        features.add("q_tempered", features.query() * factors)


def key_value_heads(engine: Engine, operands: Operands, features: Features, positions: Ints) -> None:
    """Add k and v, (g, token, d), and, where they are used, their latent, k_normed, k_rotated and v_rotated.

    They read the memory, if `features` has one. `positions`, (token,), have no gaps.
    """
    add(engine, operands, features, "latent_projected", "latent", "rope_key", "k", "v", "k_normed")
    if operands.rotations:
        _add_rotated(engine, operands, features, "k", positions)
        _add_rotated(engine, operands, features, "v", positions)


def _add_rotated(engine: Engine, operands: Operands, features: Features, name: str, positions: Ints) -> None:
    """Add q, k or v rotated by the positions of the tokens, where it is."""
    stage = f"{name}_rotated"
    if stage in operands.rotations:
        x = features.heads.get(f"{name}_normed", features.heads[name])
        features.add(stage, operands.rotations[stage].of(engine, x, positions))
