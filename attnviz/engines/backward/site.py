"""The gradients of one site: by each stage and by each parameter, summed as they come."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.backward.cells import Cells, Outer
from attnviz.engines.backward.parameters import Terms
from attnviz.engines.engine import Engine
from attnviz.engines.operands import Operands
from attnviz.engines.product import product
from attnviz.engines.run import SiteRun
from attnviz.model.stages import inputs


class SiteGradients:
    """The gradients that flow back through a site.

    `stages` has the gradient by each stage that the target depends on: in the engine's shapes, (token,
    feature) or (g[, r], token, d); by a score-shaped one as `Cells` or `Outer`. `parameters` has those by the
    operands, by name.
    """

    def __init__(self, engine: Engine, operands: Operands, run: SiteRun) -> None:
        self.engine, self.operands, self.run = engine, operands, run
        self.features = run.features
        self.present = tuple(run.features.order)
        self.stages: dict[str, Any] = {}
        self.parameters: dict[str, Terms] = {}

    def add(self, stage: str, gradient: Any) -> None:
        """Add to the gradient by a stage; a score-shaped one is read by one stage alone."""
        known = self.stages.get(stage)
        self.stages[stage] = gradient if known is None else known + gradient

    def cut(self, stage: str) -> None:
        """The gradient by a patched stage becomes that by its computed numbers: zero where they are set."""
        patches, g = self.run.made.patches, self.stages[stage]
        if patches is None or stage not in patches.computed:
            return
        is_cells = isinstance(g, Cells | Outer)
        made = patches.pulled(stage, g.part() if is_cells else g)
        self.stages[stage] = Cells(made) if is_cells else made

    @property
    def has_patched_scores(self) -> bool:
        """True if a stage of queries and keys is patched, so that a hidden cell may count."""
        patches = self.run.made.patches
        return patches is not None and any(name in patches.computed for name in self.operands.scoring.stages)

    def add_parameter(self, name: str, gradient: Array) -> None:
        """Add to the gradient by a parameter."""
        self.parameters.setdefault(name, []).append(lambda: gradient)

    def inputs(self, stage: str) -> tuple[str, ...]:
        """The stages that a stage reads in this site."""
        return inputs(stage, self.present)

    def made(self, stage: str) -> Array:
        """The numbers of a stage of tokens or heads as it was computed, before any edit."""
        patches = self.run.made.patches
        found = None if patches is None else patches.computed.get(stage)
        return self.value(stage) if found is None else found

    def value(self, stage: str) -> Array:
        """The numbers of a stage of tokens or heads."""
        return self.features.array(stage)

    @property
    def is_from_weights(self) -> bool:
        """True if the gradients by the scores come through the weights, so that unseen cells have 0."""
        return self.operands.scoring.to_weights[-1] in self.stages

    @property
    def spares(self) -> bool:
        """True if the pass left out keys that a whole tile does not see."""
        scores = self.run.made.scores
        return any(seen.keys != scores.sight.whole for seen in scores.seen)

    def by_keys(self, at_once: int) -> tuple[tuple[slice, slice], ...]:
        """Blocks of keys, and of each the queries that see one of them."""
        sight = self.run.made.scores.sight
        blocks = (slice(at, min(at + at_once, sight.n_keys)) for at in range(0, sight.n_keys, at_once))
        return tuple((keys, sight.queries(keys)) for keys in blocks)

    def by_heads(self, array: Array) -> NDArray[np.float64]:
        """(g[, r], …) as (head, …), in float64."""
        found = np.asarray(self.engine.to_numpy(array), dtype=np.float64)
        return found.reshape(-1, *found.shape[-2:])

    def product(self, name: str, matrix: Array | None, x: Array, g: Array) -> Array:
        """Add xᵀ g to the gradient by a matrix, from that by x W; returns g Wᵀ. None: W is an identity."""
        if matrix is None:
            return g
        self.parameters.setdefault(name, []).append(partial(product, self.engine, x.mT, g))
        return product(self.engine, g, matrix.mT)
