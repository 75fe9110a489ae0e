"""`PULLS`: the vector–Jacobian product of every stage, from the gradient by it to those by what it reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnviz.core.block import ACTIVATION_BY_ID, GATED_UNIT_BY_ID
from attnviz.core.dims import Array, split_query_heads
from attnviz.core.routing import SHARES_BY_ID, pull_weights
from attnviz.engines.backward import scores
from attnviz.engines.backward.site import SiteGradients
from attnviz.engines.experts import by_weights, shares_of, times_weights
from attnviz.engines.operands import FeedForward, Readout
from attnviz.model.operands.matrices import vocabulary
from attnviz.model.spec.positions import Learned

Pull = Callable[[SiteGradients, str, Array], None]


def _given(site: SiteGradients, stage: str, g: Array) -> None:
    """An input of the site: what flows out of it is the result of another one, or a parameter."""


def _placed(site: SiteGradients, stage: str, g: Array) -> None:
    """A row of each position is added: the gradient passes, and reaches the rows of a learned table."""
    (before,) = site.inputs(stage)
    site.add(before, g)
    position = site.run.site.position
    if isinstance(position, Learned):
        by_table = site.engine.zeros((position.length, g.shape[1]))
        by_table[position.start : position.start + g.shape[0]] = g
        site.add_parameter("position.table", by_table)


def _sum(site: SiteGradients, stage: str, g: Array) -> None:
    """A residual connection: both summands get the gradient, the second one times its factor."""
    past, made = site.inputs(stage)
    block = site.operands.block
    assert block is not None
    site.add(past, g)
    site.add(made, g if block.residual_scale == 1.0 else block.residual_scale * g)


# --- behind the attention --------------------------------------------------------------------------


def _tempered(site: SiteGradients, stage: str, g: Array) -> None:
    (before,) = site.inputs(stage)
    temper = site.operands.temper
    assert temper is not None
    site.add(before, g * site.engine.asarray(temper(np.arange(g.shape[-2]))[:, None]))


def _gated(site: SiteGradients, stage: str, g: Array) -> None:
    """y σ(g): by y σ(g), by g y σ (1 − σ), over all features that one gate multiplies."""
    mixed, gate = site.inputs(stage)
    share = site.engine.special.sigmoid(site.value(gate))
    site.add(mixed, g * share)
    by_gate = g * site.value(mixed) * share * (1 - share)
    is_shared = share.shape[-1] < g.shape[-1]
    site.add(gate, site.engine.xp.sum(by_gate, axis=-1, keepdims=True) if is_shared else by_gate)


def _concatenated(site: SiteGradients, stage: str, g: Array) -> None:
    (before,) = site.inputs(stage)
    scoring = site.operands.scoring
    site.add(before, split_query_heads(site.engine.xp, g, scoring.n_kv_heads, scoring.group_size))


def _feed_forward(site: SiteGradients) -> FeedForward:
    block = site.operands.block
    assert block is not None and block.feed_forward is not None
    return block.feed_forward


def _hidden(site: SiteGradients, stage: str, g: Array) -> None:
    """An activation of up, or a gated unit of gate and up."""
    ffn, xp, special = _feed_forward(site), site.engine.xp, site.engine.special
    *gate, up = sorted(site.inputs(stage))  # ffn_gate, ffn_up, or both routed
    if not gate:
        derivative = ACTIVATION_BY_ID[ffn.activation].derivative(xp, site.value(up), special)
        site.add(up, g * derivative)
        return
    unit = GATED_UNIT_BY_ID[ffn.activation]
    by_gate, by_up = unit.derivatives(xp, site.value(gate[0]), site.value(up), special)
    site.add(gate[0], g * by_gate)
    site.add(up, g * by_up)


def _routing(site: SiteGradients, stage: str, g: Array) -> None:
    """Of the routed experts by their shares; of the shared one by its own logit, if it has one."""
    (before,) = site.inputs(stage)
    ffn, logits, xp = _feed_forward(site), site.value(before), site.engine.xp
    experts = ffn.experts
    assert experts is not None
    shares, is_chosen = shares_of(site.engine, ffn, logits)
    kind, given = SHARES_BY_ID[experts.shares], g[:, : experts.n]
    made = pull_weights(kind, shares, is_chosen, experts.normalised, experts.scale, given, xp)
    if experts.shared_gate:
        own = site.made(stage)[:, experts.n :]
        made = xp.concat((made, g[:, experts.n :] * own * (1 - own)), axis=-1)
    site.add(before, made)


def _routed(site: SiteGradients, stage: str, g: Array) -> None:
    """A product of each hidden feature, gate or up and the weight of its expert."""
    hidden, routing = site.inputs(stage)
    experts, xp = _feed_forward(site).experts, site.engine.xp
    assert experts is not None
    made = site.value(hidden)
    site.add(hidden, times_weights(xp, experts, g[:, : made.shape[1]], site.value(routing)))
    site.add(routing, by_weights(xp, experts, made, g))


# --- read-out --------------------------------------------------------------------------------------


def _readout(site: SiteGradients) -> Readout:
    assert site.operands.readout is not None
    return site.operands.readout


def _transform_hidden(site: SiteGradients, stage: str, g: Array) -> None:
    (before,) = site.inputs(stage)
    transform = _readout(site).transform
    assert transform is not None
    row = ACTIVATION_BY_ID[transform.activation]
    site.add(before, g * row.derivative(site.engine.xp, site.value(before), site.engine.special))


def _logits(site: SiteGradients, stage: str, g: Array) -> None:
    """cap · tanh(scale · (x W + b) / cap). By similarity, W are the vectors of the distinct tokens."""
    before, *_vectors = site.inputs(stage)
    readout = _readout(site)
    if readout.cap is not None:
        share = site.made(stage) / readout.cap
        g = g * (1 - share * share)
    g, x = g * readout.scale, site.value(before)
    if site.run.site.readout == "vocabulary":
        if readout.bias is not None:
            site.add_parameter("vocabulary.bias", site.engine.xp.sum(g, axis=0))
        site.add(before, site.product("vocabulary.unembedding", readout.matrix, x, g))
        return
    by_tokens = g.mT @ x
    by_vectors = site.engine.zeros((site.run.site.n_queries, x.shape[1]))
    for index, row in enumerate(vocabulary(site.run.site)[1]):
        by_vectors[row] = by_tokens[index]
    site.add("tokens_embedded", by_vectors)
    assert readout.matrix is not None
    site.add(before, g @ readout.matrix.mT)


def pull(site: SiteGradients, stage: str, g: Array) -> None:
    """From the gradient by a stage of a site to those by what it reads."""
    operation = site.operands.operations.get(stage)
    if operation is None:
        PULLS[stage](site, stage, g)
    else:
        operation.pull(g, scores.Pulled(site, stage))


PULLS: dict[str, Pull] = {
    "tokens_embedded": _given,
    "layer_input": _given,
    "memory": _given,
    "x": _placed,
    "q_tempered": _tempered,
    "relative": scores.pull_relative,
    "gated": _gated,
    "concatenated": _concatenated,
    "residual_1": _sum,
    "routing": _routing,
    "ffn_gate_routed": _routed,
    "ffn_up_routed": _routed,
    "ffn_hidden": _hidden,
    "ffn_routed": _routed,
    "residual_2": _sum,
    "transform_hidden": _transform_hidden,
    "logits": _logits,
}
"""Each adds to `SiteGradients` what the gradient by a stage gives to the stages that it reads."""
