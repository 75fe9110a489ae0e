"""One site over a batch: its stages forward, and their gradients backward, by the operations of a document.

Arrays have the axis of the sequences in front: (sequence, token, feature), (sequence, g[, r], token, d), and
of scores (sequence, g, r, q, k). Of the stages of queries and keys only those behind the normaliser are kept;
the ones before it are made again for the few operations that read them backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program
from attnviz.engines.backward.cells import Cells
from attnviz.engines.engine import Engine
from attnviz.engines.operands import Operands
from attnviz.engines.resolution import resolve
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, inputs, result_of
from attnviz.operations.dropout import Dropout
from attnviz.operations.operation import Block, Operation

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Gradients = dict[str, Array]
"""Gradients by parameters, by name."""


@dataclass(frozen=True, eq=False)
class SitePlan:
    """All of a site that no number changes; `inputs` are the stages that each stage reads.

    `entering` leads to queries, keys and values, `leaving` from the mixture to the result or the logits.
    """

    site: Site
    operands: Operands
    inputs: Mapping[str, tuple[str, ...]]
    entering: tuple[str, ...]
    leaving: tuple[str, ...]
    result: str
    block: Block

    @property
    def name(self) -> str:
        return self.site.place.name

    @classmethod
    def of(cls, engine: Engine, site: Site) -> SitePlan:
        """The plan of a site without a memory, of an experiment that a batch can run."""
        operands = resolve(engine, site)
        stages = tuple(stage for stage in operands.stages if stage not in operands.scoring.states)
        given = operands.entering, operands.of_queries, operands.of_keys
        entering = tuple(stage for steps in given for stage, _operation in steps)
        leaving = tuple(stage for stage, _operation in operands.behind if stage != "probabilities")
        positions = program.positions(site.n_queries)
        sight = operands.scoring.masks.sight(positions, positions)
        seen = sight.of(slice(0, len(positions)), sight.whole)
        heads = program.head_numbers(operands.scoring.n_kv_heads, operands.scoring.group_size)
        return cls(
            site,
            operands,
            {stage: inputs(stage, stages) for stage in stages},
            entering,
            leaving,
            result_of(stages),
            Block(heads, positions, positions, seen),
        )


class SitePass:
    """The stages of a site in one pass, and the gradients by them; operations read and write it.

    `rows` and `matrices` are the weights by path. Without a `draw`, every sequence drops the numbers that the
    document drops; with one, each sequence others.
    """

    def __init__(
        self,
        engine: Engine,
        plan: SitePlan,
        operations: Mapping[str, Operation],
        weights: tuple[Mapping[str, Array], Mapping[str, Array]],
        found: Gradients,
        draw: int | None = None,
    ) -> None:
        self.arrays, self.plan, self.operations, self.found = engine, plan, operations, found
        self.rows, self.matrices = weights
        self.numbers: dict[str, Array] = {}
        self.gradients: dict[str, Any] = {}
        self.stage, self.draw = "", draw

    # --- forward -----------------------------------------------------------------------------------

    def forward(self, given: str, x: Array) -> Array:
        """All stages from x (sequence, token, d_model), which is the stage `given`; returns the result."""
        plan = self.plan
        self.numbers[given] = x
        for stage in plan.entering:
            self._make(stage)
        self._attend()
        for stage in plan.leaving:
            self._make(stage)
        return self.numbers[plan.result]

    def _make(self, stage: str) -> None:
        self.stage = stage
        self.numbers[stage] = self.operations[stage].result(self)

    def _attend(self) -> None:
        """Scores, weights, and the mixture (sequence, g, r, q, d), its heads side by side in the memory."""
        scoring = self.plan.operands.scoring
        stage = scoring.to_weights[-1]
        weights = self.numbers[stage] = self._scores(stage)
        for stage in scoring.behind:
            self.stage = stage
            weights = self.numbers[stage] = self.operations[stage].of_heads(
                self.arrays, weights, self.block()
            )
        v = self._read("mixed", 1)
        mixture: Any = self.operations["mixed"]
        mixed = self._side_by_side(weights.shape[:-1], v.shape[-1])
        self.arrays.matmul_into(mixed, weights, v[..., None, :, :])
        mixture.clear_(mixed)
        self.numbers["mixed"] = mixed

    def _scores(self, upto: str) -> Array:
        """A stage up to the weights, (sequence, g, r, q, k)."""
        q, k = self._read("scores", 0), self._read("scores", 1)
        scoring = self.plan.operands.scoring
        scores = self.arrays.empty((*q.shape[:-1], k.shape[-2]))
        self.arrays.matmul_into(scores, q, k[..., None, :, :].mT)
        block = self.plan.block._replace(qk=(q, k))
        for stage in scoring.stages[1 : scoring.stages.index(upto) + 1]:
            self.operations[stage].shape_(self.arrays, scores, block)
        return scores

    def _side_by_side(self, places: tuple[int, ...], width: int) -> Array:
        """An empty (sequence, g, r, token, d) whose heads lie side by side, as products with matrices read
        them.
        """
        n, n_groups, group_size, n_tokens = places
        made = self.arrays.empty((n, n_tokens, n_groups, group_size, width))
        return self.arrays.xp.permute_dims(made, (0, 2, 3, 1, 4))

    def _read(self, stage: str, place: int) -> Array:
        return self.numbers[self.plan.inputs[stage][place]]

    # --- as operations read it ---------------------------------------------------------------------

    def input(self, place: int = 0) -> Array:
        """The numbers of input `place` of the present stage; scores before the weights are made again."""
        stage = self.plan.inputs[self.stage][place]
        found = self.numbers.get(stage)
        return self._scores(stage) if found is None else found

    def result(self) -> Array:
        """The numbers of the present stage."""
        found = self.numbers.get(self.stage)
        return self._scores(self.stage) if found is None else found

    def row(self, path: str) -> Array:
        """A weight that is one row."""
        return self.rows[path]

    def matrix(self, path: str) -> Array:
        """A weight that is a matrix."""
        return self.matrices[path]

    def times(self, x: Array, path: str) -> Array:
        """x (sequence, token, in) times a matrix (in, out); x itself where it is an identity."""
        matrix = self.matrices.get(path)
        return x if matrix is None else self._product(x, matrix)

    def _product(self, x: Array, matrix: Array) -> Array:
        made = self.arrays.matmul(_flat(x), matrix)
        return made.reshape(*x.shape[:-1], made.shape[-1])

    @property
    def counted(self) -> Ints:
        """Numbers of the tokens, (token,)."""
        return self.plan.block.q_positions

    def token_positions(self) -> Ints:
        """The same; of a dropout with a draw, numbers for each sequence, (sequence, token)."""
        return self._drawn() if self._draws else self.counted

    def positions(self) -> tuple[Ints, Ints]:
        """Numbers of the queries and of the keys."""
        return self.plan.block.q_positions, self.plan.block.k_positions

    def block(self) -> Block:
        """All queries and keys of all heads (g, r)."""
        if not self._draws:
            return self.plan.block
        return self.plan.block._replace(q_positions=self._drawn()[:, None, None, :])

    @property
    def _draws(self) -> bool:
        return self.draw is not None and isinstance(self.operations[self.stage], Dropout)

    def _drawn(self) -> Ints:
        """Numbers of the tokens that no other sequence of the training has, (sequence, token)."""
        assert self.draw is not None
        n, n_tokens = self._read(self.stage, 0).shape[0], len(self.counted)
        return (self.draw * n + np.arange(n))[:, None] * n_tokens + self.counted

    # --- backward ----------------------------------------------------------------------------------

    def backward(self, stage: str, gradient: Array) -> None:
        """From the gradient by a stage to those by the parameters and by the input."""
        self.gradients[stage] = gradient
        scoring = self.plan.operands.scoring
        order = (*self.plan.entering, *scoring.stages, "mixed", *self.plan.leaving)
        for stage in reversed(order):
            if stage in self.gradients:
                self.stage = stage
                self.operations[stage].pull(self.gradients.pop(stage), self)

    def add(self, gradient: Any, place: int = 0) -> None:
        """Add to the gradient by input `place`."""
        stage = self.plan.inputs[self.stage][place]
        if STAGE_BY_ID[stage].score_shaped:
            self.gradients[stage] = gradient if isinstance(gradient, Cells) else Cells(gradient)
            return
        known = self.gradients.get(stage)
        self.gradients[stage] = gradient if known is None else known + gradient

    def add_outer(self, rows: Array, columns: Array) -> None:
        """Add rows (…, q, d) times columns (…, k, d) transposed to the gradient by the first input."""
        made = self.arrays.empty((*rows.shape[:-1], columns.shape[-2]))
        self.arrays.matmul_into(made, rows, columns[..., None, :, :].mT)
        self.add(Cells(made))

    def over_keys(self, cells: Cells, columns: Array) -> Array:
        """Cells (…, g, r, q, k) times columns (…, g, k, d): (…, g, r, q, d)."""
        made = self._side_by_side(cells.array.shape[:-1], columns.shape[-1])
        self.arrays.matmul_into(made, cells.array, columns[..., None, :, :])
        return _scaled(made, cells.factor)

    def over_queries(self, cells: Cells | Array, rows: Array, without: tuple[int, ...] = ()) -> Array:
        """The transpose of cells (…, g, r, q, k) times rows (…, g, r, q, d), summed over the heads of a group
        but those `without`: (…, g, k, d).
        """
        array, factor = (cells.array, cells.factor) if isinstance(cells, Cells) else (cells, 1.0)
        n, n_groups, group_size, _n_queries, n_keys = array.shape
        made = self._side_by_side((n, n_groups, group_size, n_keys), rows.shape[-1])
        self.arrays.matmul_into(made, array.mT, rows)
        for head in without:  # 0 × NaN is NaN
            made[:, head // group_size, head % group_size] = 0
        summed = made[:, :, 0] if group_size == 1 else self.arrays.xp.sum(made, axis=2)
        return _scaled(summed, factor)

    def product(self, path: str, x: Array, g: Array) -> Array:
        """Add xᵀ g, the gradient by a matrix, from that by x W; returns g Wᵀ."""
        matrix = self.matrices.get(path)
        if matrix is None:
            return g
        self.add_parameter(path, self.arrays.matmul(_flat(x).T, _flat(g)))
        return self._product(g, matrix.T)

    def add_parameter(self, name: str, gradient: Array) -> None:
        """Add to the gradient by a parameter."""
        name = f"{self.plan.name}.{name}"
        known = self.found.get(name)
        self.found[name] = gradient if known is None else known + gradient

    def by_heads(self, array: Array) -> Floats:
        """(sequence, g[, r], row, column) as (sequence, head, row, column), in float64."""
        found = np.asarray(self.arrays.to_numpy(array), dtype=np.float64)
        return found.reshape(len(found), -1, *found.shape[-2:])

    def in_tiles(self, made: Array, g: Any, pull_: Callable[[Array, Array, Block], None]) -> Array:
        """The gradient after `pull_(numbers, gradient, block)`, in place: nobody else reads it."""
        gradient = g.part() if isinstance(g, Cells) else g
        pull_(made, gradient, self.block())
        return gradient

    @property
    def is_edited(self) -> bool:
        """Nothing is edited by hand in a batch."""
        return False

    @property
    def is_from_weights(self) -> bool:
        """The gradient comes through the weights, so that it is 0 already in unseen cells."""
        return True


def _flat(x: Array) -> Array:
    """(sequence, token, feature) as (row, feature)."""
    return x.reshape(-1, x.shape[-1])


def _scaled(array: Array, factor: float) -> Array:
    """The array times a factor, in place."""
    if factor != 1.0:
        array *= factor
    return array
