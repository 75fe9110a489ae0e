"""From the input of a site to its queries, keys and values, on any engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
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
    features.add(stage, x)
    if operands.entering:
        add(engine, operands, features, operands.entering, positions)
    return features


def query_heads(engine: Engine, operands: Operands, features: Features, positions: Ints) -> None:
    """Add q, (g, r, token, d), and, where they are used, its latent, q_normed, q_rotated and q_tempered.

    `positions`, (token,), have no gaps.
    """
    add(engine, operands, features, operands.of_queries, positions)


def key_value_heads(engine: Engine, operands: Operands, features: Features, positions: Ints) -> None:
    """Add k and v, (g, token, d), and, where they are used, their latent, k_normed, k_rotated and v_rotated.

    They read the memory, if `features` has one. `positions`, (token,), have no gaps.
    """
    add(engine, operands, features, operands.of_keys, positions)
