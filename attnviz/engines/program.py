"""The one program: the operands of a site in, the arrays of its stages out, on any engine.

Scores are multiplied and shaped in one place, `_multiply` and `_shape_scores`; the run, the windows of a
panel and a decoding step all call them, so the shown numbers are the computed ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.progress import Check as Check
from attnviz.core.progress import never_cancelled as never_cancelled
from attnviz.core.progress import progress_of
from attnviz.engines.engine import SAFE_EXPONENT, Engine, all_finite, spread
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands, Scoring
from attnviz.engines.sight import Sight
from attnviz.engines.steps import add
from attnviz.engines.tiles import Tile
from attnviz.operations.operation import Block, Seen

Ints = NDArray[np.int64]


# --- scores ----------------------------------------------------------------------------------------


class _Product(NamedTuple):
    """Form of the product of q and k: with `factor`, the scale, already in q, or without (None).

    `stage` is the stage that it gives. `is_bounded`: no score is so large that its exponential could
    overflow.
    """

    stage: str
    factor: float | None = None
    is_bounded: bool = False


def _product(engine: Engine, scoring: Scoring, q: Array, k: Array) -> _Product:
    """Multiply the scale into q if the numbers stay exactly the same.

    They do for a power of two and scores that cannot overflow. Biases are not bounded here.
    """
    factor, (first, second) = scoring.factor, scoring.stages[:2]
    fits = math.isfinite(scoring.growth) and engine.score_bound(q, k) * scoring.growth <= SAFE_EXPONENT
    if fits and factor is not None and abs(math.frexp(factor)[0]) == 0.5:
        return _Product(second, factor, is_bounded=True)
    return _Product(first, is_bounded=fits)


def _multiply(engine: Engine, product: _Product, qk: tuple[Array, ...], out: Array) -> None:
    """q (g, r, q, d) times k (g, k, d) into `out` (g, r, q, k)."""
    q, k = qk
    engine.matmul_into(out, q if product.factor is None else q * product.factor, k.mT)


def _shape_scores(
    engine: Engine,
    scoring: Scoring,
    s_grqk: Array,
    block: Block,
    upto: str,
    product: _Product,
) -> None:
    """Transform the stage of `product` into the stage `upto`, in place.

    Order: scale and temperature, cap, bias, added numbers, mask, normaliser (mask after it on request).
    `s_grqk` holds all keys that the rows see, or some columns if `upto` precedes the softmax.
    """
    if upto == scoring.stages[0] and product.factor is not None:
        s_grqk /= product.factor  # a power of two: exact
        return
    for stage in _between(scoring.stages, product.stage, upto):
        scoring.operations[stage].shape_(engine, s_grqk, block)


@lru_cache(maxsize=256)
def _between(stages: tuple[str, ...], given: str, upto: str) -> tuple[str, ...]:
    return stages[stages.index(given) + 1 : stages.index(upto) + 1]


# --- attention -------------------------------------------------------------------------------------


class Attended(NamedTuple):
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
    """The scores of a pass: their operands, and the tiles in which they were computed.

    `seen[i]` has the keys that tile i multiplied. `qk` are q (g, r, q, d) and k (g, k, d).
    """

    qk: tuple[Array, Array]
    positions: tuple[Ints, Ints]
    sight: Sight
    product: _Product
    tiles: tuple[Tile, ...]
    seen: list[Seen]

    def block(self, tile: Tile, seen: Seen) -> Block:
        """The keys of `seen` for the heads and rows of a tile."""
        q, k = self.qk
        q_positions, k_positions = self.positions
        heads = head_numbers(*q.shape[:2])
        if tile.is_whole and seen.keys == self.sight.whole:
            return Block(heads, q_positions, k_positions, seen, self.qk)
        part = q[tile.groups, tile.members, tile.rows], k[tile.groups, seen.keys]
        heads = heads[tile.groups, tile.members]
        return Block(heads, q_positions[tile.rows], k_positions[seen.keys], seen, part)

    def see_all(self) -> None:
        """Let every tile count all keys from now on, also those that none of its rows sees."""
        self.seen[:] = [self.sight.of(tile.rows, self.sight.whole) for tile in self.tiles]

    def products(self, engine: Engine, tile: Tile, seen: Seen) -> Array:
        """The products of q and k, (g, r, q, k), as the run multiplied them."""
        block = self.block(tile, seen)
        scores = engine.empty((*block.heads.shape, len(block.q_positions), len(block.k_positions)))
        _multiply(engine, self.product, block.qk, scores)
        return scores

    def shape_(
        self, engine: Engine, scoring: Scoring, stage: str, tile: Tile, seen: Seen, products: Array
    ) -> None:
        """Transform `products` of some heads and rows into a stage before the softmax, in place."""
        _shape_scores(engine, scoring, products, self.block(tile, seen), stage, self.product)


@lru_cache(maxsize=64)
def positions(count: int) -> Ints:
    """The positions of `count` tokens, from 0, read-only."""
    numbers = np.arange(count)
    numbers.setflags(write=False)
    return numbers


@lru_cache(maxsize=64)
def head_numbers(n_groups: int, group_size: int) -> Ints:
    """The numbers of the query heads, (g, r), read-only."""
    numbers = np.arange(n_groups * group_size).reshape(n_groups, group_size)
    numbers.setflags(write=False)
    return numbers


def attend(
    engine: Engine,
    scoring: Scoring,
    features: Features,
    q_positions: Ints,
    k_positions: Ints,
    check: Check = never_cancelled,
) -> tuple[Attended, Scores]:
    """Scores, softmax and mixture, a tile of heads and rows at a time.

    Only the weights are stored; every other score-shaped stage is a function of q and k, and is recomputed,
    tile by tile, for a shown window. A tile multiplies the keys that its rows attend to.
    """
    scores = _scores(engine, scoring, features, q_positions, k_positions)
    q, v = scores.qk[0], features.value()
    n_groups, group_size, n_queries, _d_qk = q.shape
    weights = engine.zeros((n_groups, group_size, n_queries, len(k_positions)))
    mixed = engine.empty((n_groups, group_size, n_queries, v.shape[-1]))
    out = Attended(weights, mixed)
    if len(scores.tiles) == 1:
        scores.seen[0] = _attend_tile(engine, scoring, scores, 0, v, out)
    else:
        _attend_tiles(engine, scoring, scores, v, out, check)
    if scoring.joins_heads:
        used = behind_weights(engine, scoring, scores, weights)
        return Attended(weights, scoring.mixture.mix(engine, used, v)), scores
    scoring.mixture.clear_(mixed)
    return out, scores


def _attend_tiles(
    engine: Engine, scoring: Scoring, scores: Scores, v: Array, out: Attended, check: Check
) -> None:
    """All tiles, on several threads where they are worth it."""
    progress, done, count = progress_of(check), itertools.count(), len(scores.tiles)

    def one(index: int) -> None:
        progress.at(next(done) / count)  # tiles are done in any order
        scores.seen[index] = _attend_tile(engine, scoring, scores, index, v, out)

    latest_first = range(len(scores.tiles) - 1, -1, -1)  # later rows see more: the longest first
    flops = 2 * math.prod(out.weights.shape) * (scores.qk[0].shape[-1] + v.shape[-1])
    spread(engine, one, latest_first, flops)


def _scores(
    engine: Engine, scoring: Scoring, features: Features, q_positions: Ints, k_positions: Ints
) -> Scores:
    """The form of the product, and the visible keys of each tile."""
    q, k = features.query(), features.key()
    sight = scoring.masks.sight(q_positions, k_positions)
    spares = sight.hidden is not None and engine.spares_keys and scoring.spares_keys
    cells = *q.shape[:3], len(k_positions)
    plan = sight.plan(engine.block_cells, cells, spares)
    if plan.is_narrow and not all_finite(engine, features.value()):
        # 0 · NaN is NaN: a NaN value affects all rows, as in a product of whole matrices.
        plan = sight.plan(engine.block_cells, cells, False)
    product = _product(engine, scoring, q, k)
    return Scores((q, k), (q_positions, k_positions), sight, product, plan.tiles, list(plan.seen))


def _attend_tile(
    engine: Engine, scoring: Scoring, scores: Scores, index: int, v: Array, out: Attended
) -> Seen:
    """Weights and mixture of one tile, into the arrays of `out`; v is (g, k, d). Returns its visible keys."""
    tile, seen = scores.tiles[index], scores.seen[index]
    mixed = out.mixed if tile.is_whole else out.mixed[tile.groups, tile.members, tile.rows]
    _attend_keys(engine, scoring, scores, tile, seen, v, out.weights, mixed)
    whole = scores.sight.whole
    if seen.keys != whole and bool(engine.xp.isnan(mixed).any()):
        # A row with a score that is not finite is NaN as a whole, hidden cells too.
        seen = scores.sight.of(tile.rows, whole)
        _attend_keys(engine, scoring, scores, tile, seen, v, out.weights, mixed)
    return seen


def _attend_keys(
    engine: Engine,
    scoring: Scoring,
    scores: Scores,
    tile: Tile,
    seen: Seen,
    v: Array,
    weights: Array,
    mixed: Array,
) -> None:
    """`_attend_tile` over the keys of `seen`; the weights of all others stay as they are."""
    block = scores.block(tile, seen)
    if not (tile.is_whole and seen.keys == scores.sight.whole):
        weights = weights[tile.groups, tile.members, tile.rows, seen.keys]
        v = v[tile.groups, seen.keys]
    w = engine.workspace(weights)
    _multiply(engine, scores.product, block.qk, w)
    block = block._replace(is_bounded=scores.product.is_bounded)
    _shape_scores(engine, scoring, w, block, scoring.to_weights[-1], scores.product)
    if w is not weights:
        weights[...] = w
    if scoring.joins_heads:
        return  # the partner of a head may be in another tile
    for stage in scoring.behind:
        w = scoring.operations[stage].of_heads(engine, w, block)
    engine.matmul_into(mixed, w, v)


def scores_of(
    engine: Engine,
    scoring: Scoring,
    stage: str,
    qk: tuple[Array, Array],
    heads: Ints,
    q_positions: Ints,
    k_positions: Ints,
) -> Array:
    """A stage before the softmax, (g, r, q, k), for some heads: q is (g, r, q, d), k (g, k, d)."""
    sight = scoring.masks.sight(q_positions, k_positions)
    seen = sight.of(slice(0, len(q_positions)), sight.whole)
    scores = engine.empty((*heads.shape, len(q_positions), len(k_positions)))
    product = _Product(scoring.stages[0])
    _multiply(engine, product, qk, scores)
    block = Block(heads, q_positions, k_positions, seen, qk)
    _shape_scores(engine, scoring, scores, block, stage, product)
    return scores


def stages_from(
    engine: Engine,
    scoring: Scoring,
    qk: tuple[Array, Array],
    q_positions: Ints,
    k_positions: Ints,
    first: str,
    change: Callable[[str, Array], Array],
) -> list[Array]:
    """The stages from `first` to the weights, (g, r, q, k), each as `change(stage, array)` returns it."""
    stages = scoring.stages
    heads = head_numbers(*qk[0].shape[:2])
    sight = scoring.masks.sight(q_positions, k_positions)
    seen = sight.of(slice(0, len(q_positions)), sight.whole)
    block = Block(heads, q_positions, k_positions, seen, qk, is_edited=True)
    made = [change(first, scores_of(engine, scoring, first, qk, heads, q_positions, k_positions))]
    for before, stage in itertools.pairwise(scoring.to_weights[stages.index(first) :]):
        array = engine.xp.asarray(made[-1], copy=True)
        _shape_scores(engine, scoring, array, block, stage, _Product(before))
        made.append(change(stage, array))
    return made


def behind_weights(
    engine: Engine, scoring: Scoring, scores: Scores, weights: Array, upto: str | None = None
) -> Array:
    """The stage `upto` behind the weights (g, r, q, k), or what the mixture uses; all of its numbers."""
    block = Block(head_numbers(*weights.shape[:2]), *scores.positions)
    last = len(scoring.behind) if upto is None else scoring.stages.index(upto) + 1 - len(scoring.to_weights)
    for stage in scoring.behind[:last]:
        weights = scoring.operations[stage].of_heads(engine, weights, block)
    return weights


def output(engine: Engine, operands: Operands, features: Features, mixed: Array) -> None:
    """Add the names of the stages that are not stored, the mixture (g, r, q, d), and all stages behind it."""
    features.order += [*operands.scoring.stages, *operands.scoring.states, "mixed"]
    features.heads["mixed"] = mixed
    in_text = features.positions
    assert in_text is not None
    add(engine, operands, features, operands.behind, in_text)
