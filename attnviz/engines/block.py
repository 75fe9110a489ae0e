"""The block around an attention on any engine: norms, residual connections, the feed-forward layer."""

from __future__ import annotations

from attnviz.core.block import ACTIVATION_BY_ID, gated, layer_norm, rms_norm
from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.product import product
from attnviz.model.operands.matrices import feed_forward_array, transform_array
from attnviz.model.spec.block import Block, FeedForward, FeedForwardRole, Norm, Transform
from attnviz.model.spec.parts import Identity
from attnviz.model.spec.rows import Row, held_row
from attnviz.model.spec.site import Site
from attnviz.model.stages import result_of


def add_norm(engine: Engine, features: Features, stage: str, norm: Norm | None, source: str) -> None:
    """Add `stage`, the norm of the (token, feature) stage `source`; nothing where there is no norm."""
    if norm is not None:
        features.add(stage, normed(engine, norm, features.tf[source]))


def normed(engine: Engine, norm: Norm, x_tf: Array) -> Array:
    """Every row normalised, times the gain, plus the bias."""
    function = layer_norm if norm.kind == "layer" else rms_norm
    result = times_row(engine, function(engine.xp, x_tf, norm.eps), norm.gain)
    return add_row(engine, result, norm.bias)


def times_row(engine: Engine, x: Array, row: Row | None) -> Array:
    """`x` (..., feature) times a gain, or as it is."""
    return x if row is None else x * engine.asarray(held_row(row, x.shape[-1]))


def add_row(engine: Engine, x_tf: Array, row: Row | None) -> Array:
    """`x_tf` with a bias added to every row, or as it is."""
    return x_tf if row is None else x_tf + engine.asarray(held_row(row, x_tf.shape[-1]))


def before_attention(engine: Engine, site: Site, features: Features) -> None:
    """Add the norm that the projections read; of a parallel block also its feed-forward layer."""
    block, given = site.block, features.order[-1]
    if block is None or block.placement == "post":
        return
    add_norm(engine, features, "norm_1", block.norm_1, given)
    if block.placement == "parallel" and block.feed_forward is not None:
        add_norm(engine, features, "norm_2", block.norm_2, given)
        _feed_forward(engine, site, features, features.order[-1])


def after_attention(engine: Engine, site: Site, features: Features) -> None:
    """Add what follows attention_output in the block, and the norm after the last layer."""
    block = site.block
    if block is not None:
        _close_attention(engine, features, block)
        if block.feed_forward is not None:
            entered = features.order[-1]
            if block.placement in ("pre", "sandwich"):
                add_norm(engine, features, "norm_2", block.norm_2, entered)
            if block.placement != "parallel":
                _feed_forward(engine, site, features, features.order[-1])
            _close_feed_forward(engine, features, block, entered)
    add_norm(engine, features, "output", site.final_norm, result_of(tuple(features.order)))


def _close_attention(engine: Engine, features: Features, block: Block) -> None:
    if block.placement == "sandwich":
        add_norm(engine, features, "attention_normed", block.after_1, "attention_output")
    if block.residual:
        features.add("residual_1", features.tf[features.came_in()] + features.tf[features.order[-1]])
    if block.placement == "post":
        add_norm(engine, features, "norm_1", block.norm_1, features.order[-1])


def _close_feed_forward(engine: Engine, features: Features, block: Block, entered: str) -> None:
    if block.placement == "sandwich":
        add_norm(engine, features, "ffn_normed", block.after_2, "ffn_output")
    made = "ffn_normed" if "ffn_normed" in features.tf else "ffn_output"
    if block.residual:
        features.add("residual_2", features.tf[entered] + features.tf[made])
    if block.placement == "post":
        add_norm(engine, features, "norm_2", block.norm_2, features.order[-1])


def _feed_forward(engine: Engine, site: Site, features: Features, source: str) -> None:
    """Add ffn_gate where it is gated, ffn_up, ffn_hidden, ffn_output, all of the stage `source`."""
    assert site.block is not None
    ffn = site.block.feed_forward
    assert ffn is not None
    x = features.tf[source]
    if ffn.gated:
        features.add("ffn_gate", _linear(engine, site, ffn, "gate", x))
    features.add("ffn_up", _linear(engine, site, ffn, "up", x))
    up = features.tf["ffn_up"]
    if ffn.gated:
        gate = features.tf["ffn_gate"]
        hidden = gated(engine.xp, gate, up, ffn.activation, engine.special)
    else:
        hidden = ACTIVATION_BY_ID[ffn.activation].apply(engine.xp, up, engine.special)
    features.add("ffn_hidden", hidden)
    features.add("ffn_output", _linear(engine, site, ffn, "down", hidden))


def add_transform(engine: Engine, features: Features, transform: Transform, source: str) -> None:
    """Add what stands between the output, the stage `source`, and the vocabulary's matrix."""
    made = features.tf[source]
    if not isinstance(transform.weights, Identity):
        made = product(engine, made, engine.asarray(transform_array(transform, made.shape[-1])))
    features.add("transform", add_row(engine, made, transform.bias))
    activate = ACTIVATION_BY_ID[transform.activation].apply
    features.add("transform_hidden", activate(engine.xp, features.tf["transform"], engine.special))
    add_norm(engine, features, "transform_normed", transform.norm, "transform_hidden")


def _linear(engine: Engine, site: Site, ffn: FeedForward, role: FeedForwardRole, x: Array) -> Array:
    is_identity = isinstance(getattr(ffn, role), Identity)
    if is_identity:
        rows, columns = ffn.shape(role, site.d_model)
        is_identity = rows == columns
    y = x
    if not is_identity:
        y = product(engine, x, engine.asarray(feed_forward_array(ffn, role, site.d_model)))
    return add_row(engine, y, getattr(ffn, f"{role}_bias"))
