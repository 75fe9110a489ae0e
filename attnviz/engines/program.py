"""The one program: an experiment in, the arrays of its stages out, on any engine.

Scores are shaped in one place, `_shape_scores`; the run, the windows that a panel asks for and a
decoding step all call it, so what is shown is what was computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array, join_heads
from attnviz.core.dropout import keep
from attnviz.core.normalise import softmax_with_sinks_
from attnviz.engines.block import after_attention
from attnviz.engines.engine import SAFE_EXPONENT, Engine
from attnviz.engines.features import Features
from attnviz.engines.projecting import project
from attnviz.engines.relative import add_relative_
from attnviz.model import masks as masks_
from attnviz.model import positions as positions_
from attnviz.model.memo import Remembered
from attnviz.model.normalisers import NORMALISER_BY_ID, n_visible
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.operands.relative import is_relative, relative_parts
from attnviz.model.spec.parts import Causal, NoScale, ScaleValue
from attnviz.model.spec.site import Site

Check = Callable[[], None]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def never_cancelled() -> None:
    """The check of a run that nobody cancels."""


# --- scores ----------------------------------------------------------------------------------------


def scale_factor(experiment: Site) -> float | None:
    """What raw scores are multiplied by: scale over temperature; None where neither is used."""
    return _scale_factor(experiment)


@Remembered
def _scale_factor(experiment: Site) -> float | None:
    scale = experiment.scale
    if isinstance(scale, NoScale):
        return None if experiment.temperature == 1.0 else 1.0 / experiment.temperature
    factor = scale.value if isinstance(scale, ScaleValue) else experiment.d_qk**-0.5
    return factor / experiment.temperature


def score_stages(experiment: Site) -> tuple[str, ...]:
    """The score-shaped stages that this experiment uses, in order."""
    return _score_stages(experiment)


@Remembered
def _score_stages(experiment: Site) -> tuple[str, ...]:
    before = experiment.mask_placement == "before_softmax"
    used = {
        "scores": True,
        "relative": is_relative(experiment),
        "scaled": scale_factor(experiment) is not None,
        "capped": experiment.cap is not None,
        "biased": positions_.has_bias(experiment),
        "masked": bool(experiment.masks) and before,
        "weights": True,
        "dropped": experiment.dropout.active,
    }
    return tuple(stage for stage, is_used in used.items() if is_used)


def blocked(experiment: Site, q_positions: Ints, k_positions: Ints) -> Bools | None:
    """Which cells all masks together block, (q, k); None where there is no mask."""
    return masks_.blocked(experiment, q_positions, k_positions)


@dataclass(frozen=True)
class Block:
    """Part of the score arrays: the numbers of its heads (g, r), its positions, what is blocked (q, k).

    `qk` are q (g, r, q, d) and k (g, k, d), which relative positions read besides the scores.
    """

    heads: Ints
    q_positions: Ints
    k_positions: Ints
    hidden: Bools | None
    qk: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class _Products:
    """What is multiplied for the scores: q (g, r, q, d), k (g, 1, d, k); what comes out, and how large.

    `stage` is "scores", or "scaled" where q holds the scale already.
    """

    q: Array
    k: Array
    stage: str = "scores"
    is_bounded: bool = False


def _products(engine: Engine, experiment: Site, q: Array, k: Array) -> _Products:
    """The operands of the scores, with the scale in q where that gives the very same numbers.

    It does for a power of two and scores that cannot overflow. Biases are not bounded here.
    """
    factor = scale_factor(experiment)
    keys = engine.xp.matrix_transpose(k)[:, None, :, :]
    size = engine.score_bound(q, k) * abs(1.0 if factor is None else factor)
    adds = positions_.has_bias(experiment) or is_relative(experiment) or experiment.mask_bias is not None
    fits = not adds and size <= SAFE_EXPONENT
    if fits and factor is not None and abs(math.frexp(factor)[0]) == 0.5:
        return _Products(q * factor, keys, "scaled", is_bounded=True)
    return _Products(q, keys, is_bounded=fits)


def _shape_scores(
    engine: Engine,
    experiment: Site,
    s_grqk: Array,
    block: Block,
    upto: str,
    made: _Products | None = None,
) -> None:
    """Turn raw scores, or what `made` says they are, into the stage `upto`, in place.

    Order: scale and temperature, cap, bias, mask, normaliser (mask after it on request).
    `s_grqk` holds raw scores of every key, or of some columns where `upto` comes before the softmax.
    """
    stages = score_stages(experiment)
    first = 1 if made is None else stages.index(made.stage) + 1
    for stage in stages[first : stages.index(upto) + 1]:
        if stage == "relative":
            assert block.qk is not None  # every block that is made for scores has them
            parts = relative_parts(experiment, block.heads, block.q_positions, block.k_positions)
            add_relative_(engine, s_grqk, *block.qk, parts)
        elif stage == "scaled":
            s_grqk *= scale_factor(experiment)
        elif stage == "capped":
            s_grqk[...] = experiment.cap * engine.xp.tanh(s_grqk / experiment.cap)
        elif stage == "biased":
            bias = positions_.bias(experiment, block.heads, block.q_positions, block.k_positions)
            s_grqk += engine.asarray(bias)
        elif stage == "masked" and block.hidden is not None:
            _mask(engine, experiment, s_grqk, block.hidden)
        elif stage == "weights":
            _normalise(engine, experiment, s_grqk, block, made is not None and made.is_bounded)
            _clear_hidden(engine, experiment, s_grqk, block.hidden)


def _mask(engine: Engine, experiment: Site, s_grqk: Array, hidden: Bools) -> None:
    """Blocked scores become -inf, or have the experiment's number added, in the engine's own precision."""
    if experiment.mask_bias is None:
        engine.fill_(s_grqk, hidden, -np.inf)
    else:
        s_grqk += engine.asarray(np.where(hidden, experiment.mask_bias, 0.0))


def _normalise(engine: Engine, experiment: Site, s_grqk: Array, block: Block, is_bounded: bool) -> None:
    """Scores to weights, in place; the plain softmax is the engine's own."""
    apply = NORMALISER_BY_ID[experiment.normaliser].apply
    if experiment.sinks is not None:
        sinks = sinks_array(experiment)[block.heads][..., None, None]
        softmax_with_sinks_(engine.xp, s_grqk, engine.asarray(sinks))
    elif apply is None:
        engine.softmax_(s_grqk, is_bounded)
    else:
        visible = n_visible(experiment, block.hidden, len(block.q_positions), len(block.k_positions))
        apply(engine.xp, s_grqk, engine.asarray(visible[:, None]))


def _clear_hidden(engine: Engine, experiment: Site, s_grqk: Array, hidden: Bools | None) -> None:
    """What a softmax leaves to the masks: hidden cells, where they come after it; rows that see nothing."""
    if hidden is None:
        return
    if experiment.mask_placement == "after_softmax":
        engine.fill_(s_grqk, hidden, 0.0)
        return
    empty = np.asarray(hidden.all(axis=1))
    if empty.any() and experiment.mask_bias is None:
        is_nan = experiment.fully_masked_row == "nan" and experiment.sinks is None  # a sink takes all of it
        value = np.nan if is_nan else 0.0
        engine.fill_(s_grqk, np.broadcast_to(empty[:, None], hidden.shape), value)


def dropout_factors(experiment: Site, block: Block) -> NDArray[np.float64]:
    """0 where a weight is dropped, else 1 or 1/(1-p); (g, r, q, k)."""
    dropout = experiment.dropout
    survives = keep(dropout.seed, dropout.p, block.heads, block.q_positions, block.k_positions)
    factor = 1.0 / (1.0 - dropout.p) if dropout.rescale else 1.0
    return survives.astype(np.float64) * factor


# --- attention -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attended:
    """`weights` (g, r, q, k) before dropout, and `mixed` (g, r, q, d), zero for heads that are off."""

    weights: Array
    mixed: Array

    def row(self, query: int, n_keys: int) -> Attended:
        """One query, and the first `n_keys` of its weights; views."""
        part = slice(query, query + 1)
        return Attended(self.weights[:, :, part, :n_keys], self.mixed[:, :, part, :])

    def copied(self, xp: Any) -> Attended:
        """In arrays of its own."""
        return Attended(xp.asarray(self.weights, copy=True), xp.asarray(self.mixed, copy=True))


def attend(
    engine: Engine,
    experiment: Site,
    features: Features,
    q_positions: Ints,
    k_positions: Ints,
    check: Check = never_cancelled,
) -> Attended:
    """Scores, softmax and mixture, a block of rows of one head group at a time.

    Only the weights are kept; every other score-shaped stage is a function of q and k, cell by cell,
    and is made again for the window that somebody looks at.
    """
    q, k, v = features.query(), features.key(), features.value()
    n_groups, group_size, n_queries, _d_qk = q.shape
    made = _products(engine, experiment, q, k)
    weights = engine.empty((n_groups, group_size, n_queries, len(k_positions)))
    mixed = engine.empty((n_groups, group_size, n_queries, v.shape[-1]))
    heads = np.arange(n_groups * group_size).reshape(n_groups, group_size)
    see_all = _see_all(experiment, q_positions, k_positions)
    hidden = None if see_all else blocked(experiment, q_positions, k_positions)
    whole = Block(heads, q_positions, k_positions, hidden, (q, k))
    attended = Attended(weights, mixed)
    blocks = _blocks(engine.block_cells, weights.shape)
    if len(blocks) > 1:
        _attend_blocks(engine, experiment, whole, made, v, attended, blocks, check)
    else:
        check()
        _attend_block(engine, experiment, whole, made, v, attended)
    for head in experiment.heads.off:
        mixed[head // group_size, head % group_size, ...] = 0
    return attended


def _attend_blocks(
    engine: Engine,
    experiment: Site,
    whole: Block,
    made: _Products,
    v: Array,
    out: Attended,
    blocks: list[tuple[slice, slice]],
    check: Check,
) -> None:
    """`_attend_block` of some rows of one group of heads at a time."""
    assert whole.qk is not None
    q, k = whole.qk

    def one(task: tuple[slice, slice]) -> None:
        check()
        groups, rows = task
        visible = None if whole.hidden is None else whole.hidden[rows]
        qk = q[groups, :, rows, :], k[groups]
        block = Block(whole.heads[groups], whole.q_positions[rows], whole.k_positions, visible, qk)
        part = replace(made, q=made.q[groups, :, rows, :], k=made.k[groups])
        some = Attended(out.weights[groups, :, rows, :], out.mixed[groups, :, rows, :])
        _attend_block(engine, experiment, block, part, v[groups], some)

    engine.for_each(one, blocks)


def _see_all(experiment: Site, q_positions: Ints, k_positions: Ints) -> bool:
    """Whether causal masks alone leave every pair: for a token that is fed, there is nothing to fill."""
    return bool(k_positions[-1] <= q_positions[0]) and all(isinstance(m, Causal) for m in experiment.masks)


def _attend_block(
    engine: Engine, experiment: Site, block: Block, made: _Products, v: Array, out: Attended
) -> None:
    """Scores, softmax and mixture of one block, into the arrays of `out`; v is (g, k, d)."""
    w = out.weights
    engine.matmul_into(w, made.q, made.k)
    _shape_scores(engine, experiment, w, block, "weights", made)
    if experiment.dropout.active:
        w = engine.xp.asarray(w, copy=True)
        engine.multiply_(w, dropout_factors(experiment, block))
    engine.matmul_into(out.mixed, w, v[:, None, :, :])


def _blocks(cells: int | None, shape: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """(groups, rows) of each block: everything at once where it fits, else some rows of one group."""
    n_groups, group_size, n_queries, n_keys = shape
    if cells is None or math.prod(shape) <= cells:
        return [(slice(0, n_groups), slice(0, n_queries))]
    rows = max(1, min(n_queries, cells // (group_size * n_keys)))
    return [
        (slice(group, group + 1), slice(start, min(start + rows, n_queries)))
        for group in range(n_groups)
        for start in range(0, n_queries, rows)
    ]


@dataclass(frozen=True)
class Region:
    """Rows and columns of one head of a score-shaped stage."""

    head: int
    rows: slice
    columns: slice


def score_window(
    engine: Engine,
    experiment: Site,
    features: Features,
    stage: str,
    region: Region,
    q_positions: Ints,
    k_positions: Ints,
) -> Array:
    """One window, (q, k), of a score-shaped stage before the softmax, made from q and k."""
    group, member = divmod(region.head, experiment.heads.group_size)
    q = features.query()[group : group + 1, member : member + 1, region.rows, :]
    qk = q, features.key()[group : group + 1, region.columns, :]
    heads, rows, columns = np.array([[region.head]]), q_positions[region.rows], k_positions[region.columns]
    return scores_of(engine, experiment, stage, qk, heads, rows, columns)[0, 0]


def scores_of(
    engine: Engine,
    experiment: Site,
    stage: str,
    qk: tuple[Array, Array],
    heads: Ints,
    q_positions: Ints,
    k_positions: Ints,
) -> Array:
    """A stage before the softmax, (g, r, q, k), for some heads: q is (g, r, q, d), k (g, k, d)."""
    q, k = qk
    scores = q @ engine.xp.matrix_transpose(k)[:, None, :, :]
    hidden = blocked(experiment, q_positions, k_positions)
    _shape_scores(engine, experiment, scores, Block(heads, q_positions, k_positions, hidden, qk), stage)
    return scores


def output(engine: Engine, experiment: Site, features: Features, mixed: Array) -> None:
    """Add the score-shaped stages' names, concatenated, attention_output, and the rest of the block.

    `mixed` is that of `Attended`.
    """
    features.order += [*score_stages(experiment), "mixed"]
    features.add("concatenated", join_heads(engine.xp, mixed))
    projected = project(engine, experiment, "output", features.tf["concatenated"])
    features.add("attention_output", projected)
    after_attention(engine, experiment, features)
