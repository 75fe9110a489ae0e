"""A mixture of experts on any engine: the weights of the router, and the hidden features times these."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.core.routing import SHARES_BY_ID, chosen, measured_by, weights
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import FeedForward
from attnviz.model.spec.experts import Experts


def add_routing(engine: Engine, ffn: FeedForward, features: Features, logits: Array) -> None:
    """Add the weights of the experts from the router's logits, (token, expert)."""
    experts, xp = ffn.experts, engine.xp
    assert experts is not None
    shares, is_chosen = shares_of(engine, ffn, logits)
    made = weights(shares, is_chosen, experts.normalised, experts.scale, xp)
    if experts.shared_gate:
        made = xp.concat((made, engine.special.sigmoid(logits[:, experts.n :])), axis=-1)
    features.add("routing", made)


def shares_of(engine: Engine, ffn: FeedForward, logits: Array) -> tuple[Array, Array]:
    """The shares of the routed experts, and 1 for the chosen ones, else 0; (token, expert).

    NumPy chooses for every engine, so that all choose alike among equal shares.
    """
    experts = ffn.experts
    assert experts is not None
    kind = SHARES_BY_ID[experts.shares]
    shares = kind.function(engine.xp, logits[:, : experts.n], engine.special)
    measured = measured_by(
        experts.choice, engine.to_numpy(logits[:, : experts.n]), engine.to_numpy(shares), ffn.correction
    )
    found = chosen(kind, experts.choice, measured)
    return shares, engine.asarray(found.astype(np.float64))


def weighted(xp: Any, experts: Experts, hidden: Array, routing: Array) -> Array:
    """The hidden features times the weights of their experts, then the weights as factors of the biases.

    (token, width), and (token, width + expert) with biases.
    """
    made = times_weights(xp, experts, hidden, routing)
    return xp.concat((made, routing[:, : experts.n]), axis=-1) if experts.biased else made


def times_weights(xp: Any, experts: Experts, hidden: Array, routing: Array) -> Array:
    """Numbers of the hidden features, (token, width), each times the weight of its expert."""
    own, behind = in_experts(xp, experts, hidden)
    made = xp.reshape(own * routing[:, : experts.n, None], (hidden.shape[0], -1))
    if not experts.d_shared:
        return made
    behind = behind * routing[:, experts.n :] if experts.shared_gate else behind
    return xp.concat((made, behind), axis=-1)


def in_experts(xp: Any, experts: Experts, hidden: Array) -> tuple[Array, Array]:
    """Hidden features of the routed experts, (token, expert, feature), and of the shared one."""
    width = hidden.shape[1] - experts.d_shared
    return xp.reshape(hidden[:, :width], (hidden.shape[0], experts.n, -1)), hidden[:, width:]


def by_weights(xp: Any, experts: Experts, hidden: Array, g: Array) -> Array:
    """The gradient by the weights (token, expert) from `g`, that by `weighted`."""
    width = hidden.shape[1]
    own, behind = in_experts(xp, experts, hidden * g[:, :width])
    made = xp.sum(own, axis=-1)
    made = made + g[:, width:] if experts.biased else made
    if not experts.shared_gate:
        return made
    return xp.concat((made, xp.sum(behind, axis=-1, keepdims=True)), axis=-1)
