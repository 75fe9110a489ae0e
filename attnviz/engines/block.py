"""The block around an attention on any engine: norms, residual connections, the feed-forward layer."""

from __future__ import annotations

import numpy as np

from attnviz.core.block import ACTIVATION_BY_ID, gated
from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Block, FeedForward, Norm, Transform
from attnviz.engines.product import linear
from attnviz.model.stages import STAGE_BY_ID, result_of


def add_norm(engine: Engine, features: Features, stage: str, norm: Norm | None, source: str) -> None:
    """Add `stage`, the norm of the (token, feature) stage `source`; nothing without a norm."""
    if norm is not None:
        features.add(stage, normed(engine, norm, features.tf[source]))


def normed(engine: Engine, norm: Norm, x: Array) -> Array:
    """Every row of `x` (..., feature) normalised, times the gain, plus the bias."""
    made = norm.function(engine.xp, x, eps=norm.eps)
    made = made if norm.gain is None else made * norm.gain
    return made if norm.bias is None else made + norm.bias


def before_attention(engine: Engine, block: Block | None, features: Features) -> None:
    """Add the norm that the projections read; of a parallel block also its feed-forward layer."""
    if block is None or block.placement == "post":
        return
    given = features.order[-1]
    add_norm(engine, features, "norm_1", block.norm_1, given)
    if block.placement == "parallel" and block.feed_forward is not None:
        add_norm(engine, features, "norm_2", block.norm_2, given)
        _feed_forward(engine, block, block.feed_forward, features)


def after_attention(engine: Engine, block: Block | None, final_norm: Norm | None, features: Features) -> None:
    """Add the stages that follow attention_output in the block, and the norm after the last layer."""
    if block is not None:
        _close_attention(engine, features, block)
        if block.feed_forward is not None:
            entered = features.order[-1]
            if block.placement in ("pre", "sandwich"):
                add_norm(engine, features, "norm_2", block.norm_2, entered)
            if block.placement != "parallel":
                _feed_forward(engine, block, block.feed_forward, features)
            _close_feed_forward(engine, features, block, entered)
    if final_norm is not None:
        add_norm(engine, features, "output", final_norm, result_of(tuple(features.order)))


def _scaled(block: Block, made: Array) -> Array:
    """The part that a residual connection adds."""
    return made if block.residual_scale == 1.0 else block.residual_scale * made


def _drop(engine: Engine, features: Features, block: Block, stage: str) -> None:
    """Add `stage`, the newest stage after the residual dropout; nothing without one."""
    if stage in block.drops:
        assert features.positions is not None
        x = features.tf[features.order[-1]]
        features.add(stage, block.drops[stage].of(engine, x, features.positions))


def _close_attention(engine: Engine, features: Features, block: Block) -> None:
    _drop(engine, features, block, "attention_dropped")
    if block.placement == "sandwich":
        add_norm(engine, features, "attention_normed", block.after_1, features.order[-1])
    if block.residual:
        made = _scaled(block, features.tf[features.order[-1]])
        features.add("residual_1", features.tf[features.came_in()] + made)
    if block.placement == "post":
        add_norm(engine, features, "norm_1", block.norm_1, features.order[-1])


def _close_feed_forward(engine: Engine, features: Features, block: Block, entered: str) -> None:
    if block.placement == "sandwich":
        add_norm(engine, features, "ffn_normed", block.after_2, features.order[-1])
    made = STAGE_BY_ID["residual_2"].input(1, features.order)
    if block.residual:
        features.add("residual_2", features.tf[entered] + _scaled(block, features.tf[made]))
    if block.placement == "post":
        add_norm(engine, features, "norm_2", block.norm_2, features.order[-1])


def _feed_forward(engine: Engine, block: Block, ffn: FeedForward, features: Features) -> None:
    """Add ffn_gate if it is gated, ffn_up, ffn_hidden, ffn_output, from the newest stage; and its dropout.

    With experts also the router, the weights of each expert, and the hidden features times these, or gate and
    up times these.
    """
    x, routing = features.tf[features.order[-1]], None
    if ffn.router is not None and ffn.routing is not None:
        logits = features.add("router", linear(engine, x, ffn.router))
        routing = features.add("routing", ffn.routing.of(engine, logits, np.arange(len(logits))))
    if ffn.gate is not None:
        features.add("ffn_gate", linear(engine, x, ffn.gate))
    features.add("ffn_up", linear(engine, x, ffn.up))
    read = ["ffn_up"] if ffn.gate is None else ["ffn_gate", "ffn_up"]
    *gate, up = (_routed(engine, features, ffn, name, routing) for name in read)
    if gate:
        hidden = gated(engine.xp, gate[0], up, ffn.activation, engine.special)
    else:
        hidden = ACTIVATION_BY_ID[ffn.activation].apply(engine.xp, up, engine.special)
    features.add("ffn_hidden", hidden)
    hidden = _routed(engine, features, ffn, "ffn_hidden", routing)
    features.add("ffn_output", linear(engine, hidden, ffn.down))
    _drop(engine, features, block, "ffn_dropped")


def _routed(engine: Engine, features: Features, ffn: FeedForward, name: str, routing: Array | None) -> Array:
    """Add the stage `name` times the weights of experts, where these act; returns the newer of the two."""
    found = features.tf[name]
    for stage, operation in ffn.routed.items():
        if STAGE_BY_ID[stage].input(0, features.order) == name:
            return features.add(stage, operation.of_both(engine, found, routing))
    return found


def add_transform(engine: Engine, features: Features, transform: Transform, source: str) -> None:
    """Add the stages between the output, the stage `source`, and the vocabulary's matrix."""
    features.add("transform", linear(engine, features.tf[source], transform.linear))
    activate = ACTIVATION_BY_ID[transform.activation].apply
    features.add("transform_hidden", activate(engine.xp, features.tf["transform"], engine.special))
    add_norm(engine, features, "transform_normed", transform.norm, "transform_hidden")
