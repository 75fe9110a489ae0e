"""The one program: an experiment in, the arrays of its stages out, on any engine.

Scores are multiplied and shaped in one place, `_multiply` and `_shape_scores`; the run, the windows that a
panel asks for and a decoding step all call them, so what is shown is what was computed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array, join_heads
from attnviz.core.dropout import keep
from attnviz.core.normalise import softmax_with_sinks_
from attnviz.core.progress import Check as Check
from attnviz.core.progress import never_cancelled as never_cancelled
from attnviz.core.progress import progress_of
from attnviz.engines.block import after_attention
from attnviz.engines.engine import SAFE_EXPONENT, Engine, spread
from attnviz.engines.features import Features
from attnviz.engines.projecting import project
from attnviz.engines.relative import add_relative_
from attnviz.engines.sight import Seen, Sight, sight_of, spares_keys
from attnviz.engines.tiles import Tile, tiles
from attnviz.model import positions as positions_
from attnviz.model.memo import Remembered
from attnviz.model.normalisers import NORMALISER_BY_ID, n_visible
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.operands.relative import is_relative, relative_parts
from attnviz.model.spec.parts import NoScale, ScaleValue
from attnviz.model.spec.site import Site

Ints = NDArray[np.int64]


# --- scores ----------------------------------------------------------------------------------------


def scale_factor(site: Site) -> float | None:
    """What raw scores are multiplied by: scale over temperature; None where neither is used."""
    return _scale_factor(site)


@Remembered
def _scale_factor(site: Site) -> float | None:
    scale = site.scale
    if isinstance(scale, NoScale):
        return None if site.temperature == 1.0 else 1.0 / site.temperature
    factor = scale.value if isinstance(scale, ScaleValue) else site.d_qk**-0.5
    return factor / site.temperature


def score_stages(site: Site) -> tuple[str, ...]:
    """The score-shaped stages that this experiment uses, in order."""
    return _score_stages(site)


@Remembered
def _score_stages(site: Site) -> tuple[str, ...]:
    before = site.mask_placement == "before_softmax"
    used = {
        "scores": True,
        "relative": is_relative(site),
        "scaled": scale_factor(site) is not None,
        "capped": site.cap is not None,
        "biased": positions_.has_bias(site),
        "masked": bool(site.masks) and before,
        "weights": True,
        "dropped": site.dropout.active,
    }
    return tuple(stage for stage, is_used in used.items() if is_used)


@dataclass(frozen=True)
class Block:
    """Part of the score arrays: the numbers of its heads (g, r), its positions, what its rows see.

    `qk` are q (g, r, q, d) and k (g, k, d), which relative positions read besides the scores.
    """

    heads: Ints
    q_positions: Ints
    k_positions: Ints
    seen: Seen
    qk: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class _Product:
    """How q and k are multiplied: with `factor`, the scale, in q already, or without (None).

    `is_bounded`: no score is so large that its exponential could overflow.
    """

    factor: float | None = None
    is_bounded: bool = False

    @property
    def stage(self) -> str:
        """What comes out."""
        return "scores" if self.factor is None else "scaled"


def _product(engine: Engine, site: Site, q: Array, k: Array) -> _Product:
    """The scale goes into q where that gives the very same numbers.

    It does for a power of two and scores that cannot overflow. Biases are not bounded here.
    """
    factor = scale_factor(site)
    size = engine.score_bound(q, k) * abs(1.0 if factor is None else factor)
    adds = positions_.has_bias(site) or is_relative(site) or site.mask_bias is not None
    fits = not adds and size <= SAFE_EXPONENT
    if fits and factor is not None and abs(math.frexp(factor)[0]) == 0.5:
        return _Product(factor, is_bounded=True)
    return _Product(is_bounded=fits)


def _multiply(engine: Engine, product: _Product, qk: tuple[Array, Array], out: Array) -> None:
    """q (g, r, q, d) times k (g, k, d) into `out` (g, r, q, k)."""
    q, k = qk
    keys = engine.xp.matrix_transpose(k)[:, None, :, :]
    engine.matmul_into(out, q if product.factor is None else q * product.factor, keys)


def _shape_scores(
    engine: Engine,
    site: Site,
    s_grqk: Array,
    block: Block,
    upto: str,
    product: _Product,
) -> None:
    """Turn what `product` says into the stage `upto`, in place.

    Order: scale and temperature, cap, bias, mask, normaliser (mask after it on request).
    `s_grqk` holds all keys that the rows see, or some columns where `upto` comes before the softmax.
    """
    if upto == "scores" and product.factor is not None:
        s_grqk /= product.factor  # a power of two: exact
        return
    stages = score_stages(site)
    for stage in stages[stages.index(product.stage) + 1 : stages.index(upto) + 1]:
        if stage == "relative":
            assert block.qk is not None  # every block that is made for scores has them
            parts = relative_parts(site, block.heads, block.q_positions, block.k_positions)
            add_relative_(engine, s_grqk, *block.qk, parts)
        elif stage == "scaled":
            s_grqk *= scale_factor(site)
        elif stage == "capped":
            s_grqk[...] = site.cap * engine.xp.tanh(s_grqk / site.cap)
        elif stage == "biased":
            bias = positions_.bias(site, block.heads, block.q_positions, block.k_positions)
            s_grqk += engine.asarray(bias)
        elif stage == "masked":
            _mask(engine, site, s_grqk, block.seen)
        elif stage == "weights":
            _normalise(engine, site, s_grqk, block, product.is_bounded)
            _clear_hidden(engine, site, s_grqk, block.seen)


def _mask(engine: Engine, site: Site, s_grqk: Array, seen: Seen) -> None:
    """Blocked scores become -inf, or have the experiment's number added, in the engine's own precision."""
    if seen.hidden is None:
        return
    if site.mask_bias is None:
        _fill(engine, s_grqk, seen, -np.inf)
    else:
        s_grqk += engine.asarray(np.where(seen.hidden, site.mask_bias, 0.0))


def _fill(engine: Engine, s_grqk: Array, seen: Seen, value: float) -> None:
    assert seen.hidden is not None
    engine.fill_(s_grqk[..., seen.touched], seen.hidden[:, seen.touched], value)


def _normalise(engine: Engine, site: Site, s_grqk: Array, block: Block, is_bounded: bool) -> None:
    """Scores to weights, in place; the plain softmax is the engine's own."""
    apply = NORMALISER_BY_ID[site.normaliser].apply
    if site.sinks is not None:
        sinks = sinks_array(site)[block.heads][..., None, None]
        softmax_with_sinks_(engine.xp, s_grqk, engine.asarray(sinks))
    elif apply is None:
        engine.softmax_(s_grqk, is_bounded)
    else:
        visible = n_visible(site, block.seen.hidden, *s_grqk.shape[-2:])
        apply(engine.xp, s_grqk, engine.asarray(visible[:, None]))


def _clear_hidden(engine: Engine, site: Site, s_grqk: Array, seen: Seen) -> None:
    """What a softmax leaves to the masks: hidden cells, where they come after it; rows that see nothing."""
    if seen.hidden is None:
        return
    if site.mask_placement == "after_softmax":
        _fill(engine, s_grqk, seen, 0.0)
        return
    if seen.empty is not None and site.mask_bias is None:
        is_nan = site.fully_masked_row == "nan" and site.sinks is None  # a sink takes all of it
        value = np.nan if is_nan else 0.0
        engine.fill_(s_grqk, np.broadcast_to(seen.empty[:, None], seen.hidden.shape), value)


def dropout_factors(site: Site, heads: Ints, q_positions: Ints, k_positions: Ints) -> NDArray[np.float64]:
    """0 where a weight of these heads (g, r) is dropped, else 1 or 1/(1-p); (g, r, q, k)."""
    dropout = site.dropout
    survives = keep(dropout.seed, dropout.p, heads, q_positions, k_positions)
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


@dataclass(eq=False)
class Scores:
    """The scores of a pass: what they are made from, and the tiles in which they were computed.

    `seen[i]` has the keys that tile i multiplied. `qk` are q (g, r, q, d) and k (g, k, d).
    """

    qk: tuple[Array, Array]
    positions: tuple[Ints, Ints]
    sight: Sight
    product: _Product
    tiles: tuple[Tile, ...]
    seen: list[Seen]

    @property
    def heads(self) -> Ints:
        """The numbers of the query heads, (g, r)."""
        n_groups, group_size = self.qk[0].shape[:2]
        return np.arange(n_groups * group_size).reshape(n_groups, group_size)

    def block(self, tile: Tile, seen: Seen) -> Block:
        """The keys of `seen` for the heads and rows of a tile."""
        q, k = self.qk
        q_positions, k_positions = self.positions
        part = q[tile.groups, tile.members, tile.rows], k[tile.groups, seen.keys]
        heads = self.heads[tile.groups, tile.members]
        return Block(heads, q_positions[tile.rows], k_positions[seen.keys], seen, part)

    def stage(self, engine: Engine, site: Site, stage: str, tile: Tile, seen: Seen) -> Array:
        """A stage before the softmax, (g, r, q, k), for some heads and rows and a range of keys."""
        block = self.block(tile, seen)
        assert block.qk is not None
        scores = engine.empty((*block.heads.shape, len(block.q_positions), len(block.k_positions)))
        _multiply(engine, self.product, block.qk, scores)
        _shape_scores(engine, site, scores, block, stage, self.product)
        return scores


def attend(
    engine: Engine,
    site: Site,
    features: Features,
    q_positions: Ints,
    k_positions: Ints,
    check: Check = never_cancelled,
) -> tuple[Attended, Scores]:
    """Scores, softmax and mixture, a tile of heads and rows at a time.

    Only the weights are kept; every other score-shaped stage is a function of q and k, and is made again,
    tile by tile, for the window that somebody looks at. A tile multiplies the keys that its rows see.
    """
    scores = _scores(engine, site, features, q_positions, k_positions)
    q, v = scores.qk[0], features.value()
    n_groups, group_size, n_queries, _d_qk = q.shape
    weights = engine.zeros((n_groups, group_size, n_queries, len(k_positions)))
    mixed = engine.empty((n_groups, group_size, n_queries, v.shape[-1]))
    out = Attended(weights, mixed)

    progress, done, count = progress_of(check), itertools.count(), len(scores.tiles)

    def one(index: int) -> None:
        if count > 1:
            progress.at(next(done) / count)  # tiles are done in any order
        else:
            check()
        scores.seen[index] = _attend_tile(engine, site, scores, index, v, out)

    latest_first = range(len(scores.tiles) - 1, -1, -1)  # later rows see more: the longest first
    flops = 2 * math.prod(weights.shape) * (q.shape[-1] + v.shape[-1])
    spread(engine, one, latest_first, flops)
    for head in site.heads.off:
        mixed[head // group_size, head % group_size, ...] = 0
    return out, scores


def _scores(engine: Engine, site: Site, features: Features, q_positions: Ints, k_positions: Ints) -> Scores:
    """What is multiplied and how, and what each tile sees."""
    q, k = features.query(), features.key()
    sight = sight_of(site, q_positions, k_positions)
    spares = sight.hidden is not None and engine.spares_keys and spares_keys(site)
    if spares:  # 0 · NaN is NaN: a value that is none is shown to all rows, as in a product of whole matrices
        spares = bool(engine.xp.all(engine.xp.isfinite(features.value())))
    pieces = tiles(engine.block_cells, (*q.shape[:3], len(k_positions)), spares)
    seen = [sight.nearest(t.rows) if spares else sight.of(t.rows, sight.whole) for t in pieces]
    product = _product(engine, site, q, k)
    return Scores((q, k), (q_positions, k_positions), sight, product, pieces, seen)


def _attend_tile(engine: Engine, site: Site, scores: Scores, index: int, v: Array, out: Attended) -> Seen:
    """Weights and mixture of one tile, into the arrays of `out`; v is (g, k, d). Returns what it has seen."""
    tile, seen = scores.tiles[index], scores.seen[index]
    mixed = out.mixed[tile.groups, tile.members, tile.rows]
    _attend_keys(engine, site, scores, tile, seen, v, out.weights, mixed)
    whole = scores.sight.whole
    if seen.keys != whole and bool(engine.xp.any(engine.xp.isnan(mixed))):
        # A row with a score that is not finite is NaN as a whole, hidden cells too.
        seen = scores.sight.of(tile.rows, whole)
        _attend_keys(engine, site, scores, tile, seen, v, out.weights, mixed)
    return seen


def _attend_keys(
    engine: Engine,
    site: Site,
    scores: Scores,
    tile: Tile,
    seen: Seen,
    v: Array,
    weights: Array,
    mixed: Array,
) -> None:
    """`_attend_tile` over the keys of `seen`; the weights of all others stay as they are."""
    block = scores.block(tile, seen)
    assert block.qk is not None
    kept = weights[tile.groups, tile.members, tile.rows, seen.keys]
    w = engine.workspace(kept)
    _multiply(engine, scores.product, block.qk, w)
    _shape_scores(engine, site, w, block, "weights", scores.product)
    if w is not kept:
        kept[...] = w
    if site.dropout.active:
        w = engine.xp.asarray(w, copy=True)
        engine.multiply_(w, dropout_factors(site, block.heads, block.q_positions, block.k_positions))
    engine.matmul_into(mixed, w, v[tile.groups, None, seen.keys])


def scores_of(
    engine: Engine,
    site: Site,
    stage: str,
    qk: tuple[Array, Array],
    heads: Ints,
    q_positions: Ints,
    k_positions: Ints,
) -> Array:
    """A stage before the softmax, (g, r, q, k), for some heads: q is (g, r, q, d), k (g, k, d)."""
    sight = sight_of(site, q_positions, k_positions)
    seen = sight.of(slice(0, len(q_positions)), sight.whole)
    scores = engine.empty((*heads.shape, len(q_positions), len(k_positions)))
    _multiply(engine, _Product(), qk, scores)
    block = Block(heads, q_positions, k_positions, seen, qk)
    _shape_scores(engine, site, scores, block, stage, _Product())
    return scores


def output(engine: Engine, site: Site, features: Features, mixed: Array) -> None:
    """Add the score-shaped stages' names, concatenated, attention_output, and the rest of the block.

    `mixed` is that of `Attended`.
    """
    features.order += [*score_stages(site), "mixed"]
    features.add("concatenated", join_heads(engine.xp, mixed))
    projected = project(engine, site, "output", features.tf["concatenated"])
    features.add("attention_output", projected)
    after_attention(engine, site, features)
