"""The block around an attention on any engine: norms, residual connections, the feed-forward layer."""

from __future__ import annotations

from attnviz.core.block import ACTIVATION_BY_ID, gated
from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.experts import add_routing, times_weights, weighted
from attnviz.engines.features import Features
from attnviz.engines.operands import Block, FeedForward, Operands, Transform
from attnviz.engines.steps import add
from attnviz.model.stages import STAGE_BY_ID


def before_attention(engine: Engine, operands: Operands, features: Features) -> None:
    """Add the norm that the projections read; of a parallel block also its feed-forward layer."""
    block = operands.block
    if block is None or block.placement == "post":
        return
    add(engine, operands, features, "norm_1")
    if block.placement == "parallel" and block.feed_forward is not None:
        add(engine, operands, features, "norm_2")
        _feed_forward(engine, operands, block, block.feed_forward, features)


def after_attention(engine: Engine, operands: Operands, features: Features) -> None:
    """Add the stages that follow attention_output in the block, and the norm after the last layer."""
    block = operands.block
    if block is not None:
        _close_attention(engine, operands, features, block)
        if block.feed_forward is not None:
            entered = features.order[-1]
            if block.placement in ("pre", "sandwich"):
                add(engine, operands, features, "norm_2")
            if block.placement != "parallel":
                _feed_forward(engine, operands, block, block.feed_forward, features)
            _close_feed_forward(engine, operands, features, block, entered)
    add(engine, operands, features, "output")


def _scaled(block: Block, made: Array) -> Array:
    """The part that a residual connection adds."""
    return made if block.residual_scale == 1.0 else block.residual_scale * made


def _drop(engine: Engine, features: Features, block: Block, stage: str) -> None:
    """Add `stage`, the newest stage after the residual dropout; nothing without one."""
    if stage in block.drops:
        assert features.positions is not None
        x = features.tf[features.order[-1]]
        features.add(stage, block.drops[stage].of(engine, x, features.positions))


def _close_attention(engine: Engine, operands: Operands, features: Features, block: Block) -> None:
    _drop(engine, features, block, "attention_dropped")
    if block.placement == "sandwich":
        add(engine, operands, features, "attention_normed")
    if block.residual:
        made = _scaled(block, features.tf[features.order[-1]])
        features.add("residual_1", features.tf[features.came_in()] + made)
    if block.placement == "post":
        add(engine, operands, features, "norm_1")


def _close_feed_forward(
    engine: Engine, operands: Operands, features: Features, block: Block, entered: str
) -> None:
    if block.placement == "sandwich":
        add(engine, operands, features, "ffn_normed")
    made = STAGE_BY_ID["residual_2"].input(1, features.order)
    if block.residual:
        features.add("residual_2", features.tf[entered] + _scaled(block, features.tf[made]))
    if block.placement == "post":
        add(engine, operands, features, "norm_2")


def _feed_forward(
    engine: Engine, operands: Operands, block: Block, ffn: FeedForward, features: Features
) -> None:
    """Add ffn_gate if it is gated, ffn_up, ffn_hidden, ffn_output, from the newest stage; and its dropout.

    With experts also the router, the weights of each expert, and the hidden features times these, or gate and
    up times these.
    """
    experts = ffn.experts
    if experts is not None:
        add(engine, operands, features, "router")
        add_routing(engine, ffn, features, features.tf["router"])
    add(engine, operands, features, "ffn_gate", "ffn_up")
    inputs = [stage for stage in ("ffn_gate", "ffn_up") if stage in operands.operations]
    if experts is not None and experts.weighted == "input":
        for name in inputs:
            features.add(
                f"{name}_routed",
                times_weights(engine.xp, experts, features.tf[name], features.tf["routing"]),
            )
        inputs = [f"{name}_routed" for name in inputs]
    *gate, up = (features.tf[name] for name in inputs)
    if gate:
        hidden = gated(engine.xp, gate[0], up, ffn.activation, engine.special)
    else:
        hidden = ACTIVATION_BY_ID[ffn.activation].apply(engine.xp, up, engine.special)
    hidden = features.add("ffn_hidden", hidden)
    if experts is not None and experts.weighted == "output":
        features.add("ffn_routed", weighted(engine.xp, experts, hidden, features.tf["routing"]))
    add(engine, operands, features, "ffn_output")
    _drop(engine, features, block, "ffn_dropped")


def add_transform(engine: Engine, operands: Operands, features: Features, transform: Transform) -> None:
    """Add the stages between the output and the vocabulary's matrix."""
    add(engine, operands, features, "transform")
    activate = ACTIVATION_BY_ID[transform.activation].apply
    features.add("transform_hidden", activate(engine.xp, features.tf["transform"], engine.special))
    add(engine, operands, features, "transform_normed")
