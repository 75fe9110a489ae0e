"""Operands of a site for a run: arrays in the engine's precision and on its device, and derived values.

`resolution` resolves them from a site, once; all stages, a decoding step and a window read nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.in_file import InFile
from attnviz.engines.sight import Masks
from attnviz.model.stages import STAGE_BY_ID
from attnviz.operations.operation import Operation
from attnviz.operations.products import Mixture

Ints = NDArray[np.int64]
Steps = tuple[tuple[str, Operation], ...]
"""Stages of tokens or heads, each with its operation."""

Matrix = Any
"""A matrix (in, out): an array, or an `InFile`, which brings it in where it is used."""


@dataclass(frozen=True, eq=False)
class Scoring:
    """The functions from queries and keys to weights; `stages` are the score-shaped ones, in order.

    Queries are numbered from 0 in all of them; the offset of their positions is inside.
    `operations` make the stages of their names. `spares_keys`: a blocked key has the weight 0 whatever its
    score. `states` make the stages that have a matrix for each token.
    """

    stages: tuple[str, ...]
    n_kv_heads: int
    group_size: int
    operations: Mapping[str, Operation]
    masks: Masks
    spares_keys: bool
    mixture: Mixture
    states: Mapping[str, Operation]

    @cached_property
    def growth(self) -> float:
        """The largest ratio of a score before the normaliser to a product of q and k; infinite or NaN if
        something is added.
        """
        return math.prod(self.operations[stage].growth for stage in self.to_weights[:-1])

    @cached_property
    def factor(self) -> float | None:
        """The number that products of q and k are multiplied by before all else, if they are."""
        return self.operations[self.stages[1]].multiplier

    @cached_property
    def to_weights(self) -> tuple[str, ...]:
        """The stages up to the normalised scores, which a run stores; the last one is theirs."""
        stored = next(stage for stage in self.stages if self.operations[stage].statistics)
        return self.stages[: self.stages.index(stored) + 1]

    @cached_property
    def behind(self) -> tuple[str, ...]:
        """The stages that change the weights before these mix values."""
        return self.stages[len(self.to_weights) :]

    @cached_property
    def joins_heads(self) -> bool:
        """True if one of them reads other heads, so that all tiles come before it."""
        return any(self.operations[stage].reach == "heads" for stage in self.behind)


@dataclass(frozen=True, eq=False)
class Operands:
    """All of one site.

    `vectors` (token, d_model) exist if the site begins a stack, `memory` (key, d_keys) if it reads one.
    `stages` are those of the site in order, `operations` make them. `rows` are their weights of one row and
    `matrices` those of more, by path in the document; an identity has none.
    """

    vectors: Array | None
    memory: Array | None
    scoring: Scoring
    stages: tuple[str, ...]
    operations: Mapping[str, Operation]
    rows: Mapping[str, Array]
    matrices: Mapping[str, Matrix]

    def matrix(self, path: str) -> Array | None:
        """A matrix as a whole; None for an identity. One that lies in a file is brought in."""
        found = self.matrices.get(path)
        return found() if isinstance(found, InFile) else found

    def steps(self, *stages: str) -> Steps:
        """Those of some stages that the site has and computes, each with its operation."""
        return tuple(
            (stage, self.operations[stage])
            for stage in stages
            if stage in self.operations and STAGE_BY_ID[stage].reads
        )

    @cached_property
    def entering(self) -> Steps:
        """The steps from the input of the site to that of its projections."""
        first = next(stage for stage in self.stages if STAGE_BY_ID[stage].phase == "heads")
        return self.steps(*self.stages[: self.stages.index(first)])

    @cached_property
    def of_queries(self) -> Steps:
        """The steps to the queries."""
        return self._of_heads("query")

    @cached_property
    def of_keys(self) -> Steps:
        """The steps to keys and values."""
        return self._of_heads("key")

    def _of_heads(self, axis: str) -> Steps:
        rows = [STAGE_BY_ID[stage] for stage in self.stages]
        return self.steps(*(row.id for row in rows if row.phase == "heads" and row.axes[-2] == axis))

    @cached_property
    def behind(self) -> Steps:
        """The steps behind the mixture."""
        return self.steps(*self.stages[self.stages.index("mixed") + 1 :])

    @cached_property
    def read_out(self) -> Steps:
        """The steps from the output of the last site to the distribution of the next token."""
        return tuple(
            step for step in self.behind if STAGE_BY_ID[step[0]].phase == "read-out" and step[0] != "output"
        )
