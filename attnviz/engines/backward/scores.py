"""The stages of queries and keys, backwards: from the mixture to q, k and v. Arrays are (g, r, q, k)."""

from __future__ import annotations

import math

import numpy as np

from attnviz.core.dims import Array
from attnviz.core.normalise import softmax_with_sinks_
from attnviz.engines import program
from attnviz.engines.backward.site import SiteGradients
from attnviz.engines.engine import spread
from attnviz.engines.product import by_group
from attnviz.model.normalisers import n_visible
from attnviz.model.positions import row_of

OPERATIONS_OF_A_WEIGHT = 32
"""Work of one cell of a normaliser's Jacobian, as threads are shared out: mostly memory."""


def pull_mixed(site: SiteGradients, stage: str, g: Array) -> None:
    """y = w v: by the weights g vᵀ, by the values wᵀ g, summed over the heads of a group. Heads that are off
    give nothing.
    """
    scoring, xp = site.operands.scoring, site.engine.xp
    g = _without_heads_off(site, g)
    weights, value = site.inputs(stage)
    v = site.value(value)
    site.add(weights, by_group(site.engine, g, v[:, None, :, :].mT))
    used = program.dropped(site.engine, scoring, site.run.made.scores, site.run.made.attended.weights)
    site.add(
        value, xp.sum(_without_heads_off(site, by_group(site.engine, used.mT, g)), axis=1)
    )  # 0 × NaN is NaN


def _without_heads_off(site: SiteGradients, g: Array) -> Array:
    """The gradient (g, r, …) with zeros for the heads that are off."""
    scoring = site.operands.scoring
    if not scoring.heads_off:
        return g
    made = site.engine.xp.asarray(g, copy=True)
    for head in scoring.heads_off:
        made[head // scoring.group_size, head % scoring.group_size, ...] = 0
    return made


def pull_dropped(site: SiteGradients, stage: str, g: Array) -> None:
    """Dropped weights pass nothing, the others by their factor."""
    (weights,) = site.inputs(stage)
    site.add(weights, program.dropped(site.engine, site.operands.scoring, site.run.made.scores, g))


def pull_weights(site: SiteGradients, stage: str, g: Array) -> None:
    """By the scores, from that by the weights: the Jacobian of the normaliser. Blocked cells pass nothing."""
    engine, scoring = site.engine, site.operands.scoring
    (before,) = site.inputs(stage)
    p = _normalised(site, before)
    if scoring.masks_weights:
        g = _cleared(site, g)
    hidden = None if scoring.masks_weights else site.run.made.scores.sight.hidden
    visible = engine.asarray(n_visible(hidden, *p.shape[-2:])[:, None])
    by_scores = engine.empty(p.shape)

    def group(index: int) -> None:
        by_scores[index] = scoring.pull(engine.xp, p[index], g[index], visible)

    spread(engine, group, range(p.shape[0]), OPERATIONS_OF_A_WEIGHT * math.prod(p.shape))
    if scoring.sinks is not None:
        rest = 1 - engine.xp.sum(p, axis=-1)
        along = engine.xp.sum(p * g, axis=-1)
        site.add_parameter("sinks", engine.xp.reshape(-engine.xp.sum(rest * along, axis=-1), (-1,)))
    site.add(before, by_scores)


def _normalised(site: SiteGradients, before: str) -> Array:
    """The weights as the normaliser leaves them, before a mask clears some; empty rows are zeros."""
    engine, scoring, made = site.engine, site.operands.scoring, site.run.made
    weights = made.attended.weights
    if scoring.masks_weights and scoring.normalise is None:
        weights = score_stage(site, before)
        if scoring.sinks is None:
            engine.softmax_(weights)
        else:
            sinks = engine.asarray(scoring.sinks.reshape(weights.shape[:2])[..., None, None])
            softmax_with_sinks_(engine.xp, weights, sinks)
    sight = made.scores.sight
    if sight.hidden is not None and scoring.mask_bias is None and sight.empty.any():
        weights = engine.xp.asarray(weights, copy=True)
        engine.fill_(weights, np.broadcast_to(sight.empty[:, None], sight.hidden.shape), 0.0)
    return weights


def pull_masked(site: SiteGradients, stage: str, g: Array) -> None:
    """A cell that is −∞ passes nothing; with a number added to it, it passes all."""
    (before,) = site.inputs(stage)
    site.add(before, g if site.operands.scoring.mask_bias is not None else _cleared(site, g))


def _cleared(site: SiteGradients, g: Array) -> Array:
    """The gradient with zeros in the blocked cells."""
    hidden = site.run.made.scores.sight.hidden
    if hidden is None:
        return g
    made = site.engine.xp.asarray(g, copy=True)
    site.engine.fill_(made, hidden, 0.0)
    return made


def pull_biased(site: SiteGradients, stage: str, g: Array) -> None:
    """A bias is added: the gradient passes, and reaches its slopes or its table."""
    (before,) = site.inputs(stage)
    site.add(before, g)
    pull = row_of(site.run.site.position).pull_bias
    if pull is not None:
        of_heads = np.asarray(site.engine.to_numpy(g), dtype=np.float64).reshape(-1, *g.shape[-2:])
        name, found = pull(site.run.site, of_heads, *site.run.made.scores.positions)
        site.add_parameter(f"position.{name}", site.engine.asarray(found))


def pull_capped(site: SiteGradients, stage: str, g: Array) -> None:
    """cap · tanh(s / cap) has the derivative 1 − tanh²."""
    (before,) = site.inputs(stage)
    share = score_stage(site, stage) / site.operands.scoring.cap
    site.add(before, g * (1 - share * share))


def pull_scaled(site: SiteGradients, stage: str, g: Array) -> None:
    """s · factor."""
    (before,) = site.inputs(stage)
    site.add(before, g * site.operands.scoring.factor)


def pull_relative(site: SiteGradients, stage: str, g: Array) -> None:
    """s + q · a[row] + k · b[row] + k · u + c[row]: by q, Σ_k g a[row]; by k, Σ_q g (b[row] + u)."""
    engine, scoring, scores = site.engine, site.operands.scoring, site.run.made.scores
    before, query, key = site.inputs(stage)
    site.add(before, g)
    assert scoring.relative is not None
    heads = np.arange(scoring.n_kv_heads * scoring.group_size).reshape(scoring.n_kv_heads, -1)
    q_positions, k_positions = scores.positions
    parts = scoring.relative(heads, q_positions[:, None] - k_positions)
    by_q, by_k = engine.xp.zeros_like(site.value(query)), engine.xp.zeros_like(site.value(key))
    for group, member in np.ndindex(*heads.shape):
        cells = g[group, member][..., None]
        rows = engine.asarray(parts.to_query[group, member][parts.rows])
        by_q[group, member] = engine.xp.sum(cells * rows, axis=1)
        if parts.to_key is not None:
            rows = engine.asarray(parts.to_key[group, member][parts.rows])
            by_k[group] += engine.xp.sum(cells * rows, axis=0)
        if parts.key_bias is not None:
            by_k[group] += engine.xp.sum(cells, axis=0) * engine.asarray(parts.key_bias[group, member])
    site.add(query, by_q)
    site.add(key, by_k)


def pull_scores(site: SiteGradients, stage: str, g: Array) -> None:
    """s = q kᵀ: by q, g k; by k, gᵀ q, summed over the heads of a group."""
    query, key = site.inputs(stage)
    q, k = site.value(query), site.value(key)
    site.add(query, by_group(site.engine, g, k[:, None, :, :]))
    site.add(key, site.engine.xp.sum(by_group(site.engine, g.mT, q), axis=1))


def score_stage(site: SiteGradients, stage: str) -> Array:
    """A whole stage before the softmax, computed again."""
    scoring, scores = site.operands.scoring, site.run.made.scores
    heads = np.arange(scoring.n_kv_heads * scoring.group_size).reshape(scoring.n_kv_heads, -1)
    return program.scores_of(site.engine, scoring, stage, scores.qk, heads, *scores.positions)
