"""The stages of queries and keys, backwards: from the mixture to q, k and v. Arrays are (g, r, q, k).

A row multiplies the keys that it sees, in the tiles of the pass; a key the queries that see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program
from attnviz.engines.backward.cells import At, Cells, Gradient, Outer
from attnviz.engines.backward.site import SiteGradients
from attnviz.engines.engine import Engine, spread
from attnviz.model.stages import STAGE_BY_ID
from attnviz.operations.operation import Block

Ints = NDArray[np.int64]

KEYS_AT_ONCE = 128
"""Keys of a product over the queries that see them: fewer are closer to what each of them needs."""


def _flops(site: SiteGradients) -> int:
    """Operations of the four products of an attention's backward pass, which threads share or do not."""
    n_groups, group_size, n_queries, width = site.run.made.scores.qk[0].shape
    n_keys = site.run.made.scores.qk[1].shape[1]
    return 8 * math.prod((n_groups, group_size, n_queries, n_keys, width))


def _scaled(array: Array, factor: float) -> Array:
    """The array times a factor, in place."""
    if factor != 1.0:
        array *= factor
    return array


def _over_keys(site: SiteGradients, cells: Array, columns: Array, spares: bool) -> Array:
    """Cells (g, r, q, k) times `columns` (g, k, d): (g, r, q, d). `spares`: those of unseen keys are 0."""
    engine, scores = site.engine, site.run.made.scores
    made = _side_by_side(site, engine.empty, *cells.shape[:3], columns.shape[-1])

    def one(index: int) -> None:
        tile = scores.tiles[index]
        keys = scores.seen[index].keys if spares else scores.sight.whole
        rows = tile.groups, tile.members, tile.rows
        engine.matmul_into(made[rows], cells[(*rows, keys)], columns[tile.groups, None, keys])

    spread(engine, one, range(len(scores.tiles)), _flops(site))
    return made


def _side_by_side(site: SiteGradients, make: Callable[[tuple[int, ...]], Array], *shape: int) -> Array:
    """An array (g, r, token, d) whose heads lie side by side, as the product with a matrix reads them."""
    n_groups, group_size, n_tokens, width = shape
    made = make((n_tokens, n_groups, group_size, width))
    return site.engine.xp.permute_dims(made, (1, 2, 0, 3))


def _over_queries(
    site: SiteGradients, cells: Array, rows: Array, spares: bool, without: tuple[int, ...] = ()
) -> Array:
    """The transpose of cells (g, r, q, k) times `rows` (g, r, q, d), summed over the heads of a group but
    those `without`: (g, k, d).
    """
    engine = site.engine
    n_groups, group_size, n_queries, n_keys = cells.shape
    blocks = site.by_keys(KEYS_AT_ONCE) if spares else ((slice(0, n_keys), slice(0, n_queries)),)
    made = _side_by_side(site, engine.zeros, n_groups, 1, n_keys, rows.shape[-1])[:, 0]

    def one(index: int) -> None:
        group, block = divmod(index, len(blocks))
        keys, queries = blocks[block]
        heads = [m for m in range(group_size) if group * group_size + m not in without]  # 0 × NaN is NaN
        for member in heads:
            by, given = cells[group, member, queries, keys].mT, rows[group, member, queries]
            if member == heads[0]:
                engine.matmul_into(made[group, keys], by, given)
            else:
                made[group, keys] += by @ given

    spread(engine, one, range(n_groups * len(blocks)), _flops(site))
    return made


def score_stage(site: SiteGradients, stage: str, *, is_computed: bool = False) -> Array:
    """A whole stage before the softmax, (g, r, q, k), recomputed; `is_computed`: before any edit of it."""
    made = site.run.made
    if is_computed and made.patches is not None and stage in made.patches.computed:
        return made.patches.computed[stage]
    if stage in made.replaced:
        return site.engine.xp.asarray(made.replaced[stage], copy=True)
    scoring, scores = site.operands.scoring, site.run.made.scores
    heads = np.arange(scoring.n_kv_heads * scoring.group_size).reshape(scoring.n_kv_heads, -1)
    return program.scores_of(site.engine, scoring, stage, scores.qk, heads, *scores.positions)


@dataclass(frozen=True)
class Pulled:
    """The reads of an operation in the pass backwards, and the place of its gradients."""

    site: SiteGradients
    stage: str

    @property
    def arrays(self) -> Engine:
        return self.site.engine

    def result(self) -> Array:
        """The numbers of the stage as they were computed, before any edit."""
        made = self.site.run.made
        if self.stage == self.site.operands.scoring.to_weights[-1]:
            computed = None if made.patches is None else made.patches.computed.get(self.stage)
            return made.attended.weights if computed is None else computed
        if STAGE_BY_ID[self.stage].score_shaped:
            return score_stage(self.site, self.stage, is_computed=True)
        return self.site.made(self.stage)

    def input(self, place: int = 0) -> Array:
        """The numbers of input `place`: (token, feature) or (g[, r], …)."""
        site, made, scoring = self.site, self.site.run.made, self.site.operands.scoring
        stage = site.inputs(self.stage)[place]
        if not STAGE_BY_ID[stage].score_shaped:
            return site.value(stage)
        if stage in made.replaced:
            return made.replaced[stage]
        if STAGE_BY_ID[stage].phase == "scores":
            return score_stage(site, stage)
        return program.behind_weights(site.engine, scoring, made.scores, made.attended.weights, stage)

    def row(self, path: str) -> Array:
        """A weight that is one row: a gain, a bias."""
        return self.site.operands.rows[path]

    def matrix(self, path: str) -> Array:
        """A matrix among the weights, as a whole."""
        return self.site.operands.matrix(path)

    def product(self, path: str, x: Array, g: Array) -> Array:
        """Add xᵀ g, the gradient by a matrix, from that by x W; returns g Wᵀ."""
        return self.site.product(path, self.site.operands.matrix(path), x, g)

    def add(self, gradient: Any, place: int = 0) -> None:
        """Add to the gradient by input `place`; by one that lies in another site, to what flows there."""
        inputs = self.site.inputs(self.stage)
        stage = inputs[place] if place < len(inputs) else STAGE_BY_ID[self.stage].reads[place][0]
        is_array = STAGE_BY_ID[stage].score_shaped and not isinstance(gradient, Cells | Outer)
        self.site.add(stage, Cells(gradient) if is_array else gradient)

    def add_outer(self, rows: Array, columns: Array) -> None:
        """Add rows (g, r, q, d) times columns (g, k, d) transposed to the gradient by the first input."""
        self.add(Outer(rows, columns))

    def over_keys(self, cells: Cells, columns: Array) -> Array:
        """Cells (g, r, q, k) times columns (g, k, d): (g, r, q, d)."""
        spares = self.site.spares and self.site.is_from_weights
        return _scaled(_over_keys(self.site, cells.array, columns, spares), cells.factor)

    def over_queries(self, cells: Cells | Array, rows: Array, without: tuple[int, ...] = ()) -> Array:
        """The transpose of cells (g, r, q, k) times rows (g, r, q, d), summed over the heads of a group but
        those `without`: (g, k, d).

        Of cells that no row sees, weights are 0, but gradients only if they come through the weights.
        """
        if not isinstance(cells, Cells):
            return _over_queries(self.site, cells, rows, self.site.spares, without)
        spares = self.site.spares and self.site.is_from_weights
        return _scaled(_over_queries(self.site, cells.array, rows, spares, without), cells.factor)

    def add_parameter(self, name: str, gradient: Array) -> None:
        """Add to the gradient by a parameter."""
        self.site.add_parameter(name, gradient)

    def by_heads(self, array: Array) -> NDArray[np.float64]:
        """(g, r, …) as (head, …), in float64."""
        return self.site.by_heads(array)

    def positions(self) -> tuple[Ints, Ints]:
        """Numbers of the queries and of the keys."""
        return self.site.run.made.scores.positions

    def block(self) -> Block:
        """All queries and keys of all heads (g, r)."""
        if not STAGE_BY_ID[self.stage].score_shaped:
            return Block(np.array(0), self.token_positions(), np.arange(self.result().shape[-1]))
        scores = self.site.run.made.scores
        seen = scores.sight.of(slice(None), scores.sight.whole)
        return Block(program.head_numbers(*scores.qk[0].shape[:2]), *scores.positions, seen)

    @property
    def is_edited(self) -> bool:
        """True if a stage of queries and keys is edited by hand, so that a hidden cell may count."""
        return self.site.has_patched_scores

    def in_tiles(
        self, made: Array, g: Gradient | Array, pull_: Callable[[Array, Array, Block], None]
    ) -> Array:
        """Of each tile of the pass, the gradient after `pull_(numbers, gradient, block)` in place; numbers
        are those of `made`. 0 where a tile has no key. Numbers of tokens are one tile.
        """
        site, engine, scores = self.site, self.site.engine, self.site.run.made.scores
        if not STAGE_BY_ID[self.stage].score_shaped:
            found = engine.xp.asarray(g, copy=True)
            pull_(made, found, self.block())
            return found
        given = g if isinstance(g, Cells | Outer) else Cells(g)
        found = engine.zeros(made.shape) if site.spares else engine.empty(made.shape)

        def one(index: int) -> None:
            tile, seen = scores.tiles[index], scores.seen[index]
            at: At = (tile.groups, tile.members, tile.rows, seen.keys)
            kept = found[at]
            part = engine.workspace(kept)
            given.into(engine, part, at)
            pull_(made[at], part, scores.block(tile, seen))
            if part is not kept:
                kept[...] = part

        spread(engine, one, range(len(scores.tiles)), _flops(site))
        return found

    @property
    def is_from_weights(self) -> bool:
        """True if the gradient comes through the weights, so that it is 0 already in unseen cells."""
        return self.site.is_from_weights

    def token_positions(self) -> Ints:
        """Numbers of the tokens of a stage of vectors."""
        return program.positions(int(self.input().shape[-2]))
