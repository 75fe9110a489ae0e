"""The token-shaped stages of one site while they are computed, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.model.stages import SITE_INPUTS, STAGE_BY_ID, as_read

PER_HEAD = frozenset(stage for stage, row in STAGE_BY_ID.items() if row.per_head)
"""The stages of which each head has its own."""


@dataclass(slots=True, weakref_slot=True)
class Features:
    """Stages of one call: `tf` are (token, feature), `heads` are (g[, r], token, d).

    `order` has the ids of all stages of the site so far, in data-flow order, score-shaped ones included.
    `change(stage, array)` returns what is kept of an array, and so what the next stages read. `positions` are
    those of the tokens in the whole text.
    """

    tf: dict[str, Array] = field(default_factory=dict)
    heads: dict[str, Array] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    change: Callable[[str, Array], Array] | None = None
    positions: NDArray[np.int64] | None = None

    def add(self, stage: str, array: Array) -> Array:
        """Keep the array of a stage, the next one in data-flow order, and return it as it is kept."""
        kept = array if self.change is None else self.change(stage, array)
        (self.heads if stage in PER_HEAD else self.tf)[stage] = kept
        self.order.append(stage)
        return kept

    def array(self, stage: str) -> Array:
        """A stage of tokens or heads."""
        return self.heads[stage] if stage in PER_HEAD else self.tf[stage]

    def came_in(self) -> str:
        """The input stage of the site, in its last form: the first residual connection adds it."""
        return next(stage for stage in reversed(self.order) if stage in SITE_INPUTS)

    @property
    def n_tokens(self) -> int:
        return int(next(iter(self.tf.values())).shape[0])

    def rows(self, part: slice, xp: Any) -> Features:
        """The stages of some tokens alone; copies, that keep nothing of the others."""
        tf = {stage: xp.asarray(array[part], copy=True) for stage, array in self.tf.items()}
        heads = {stage: xp.asarray(array[..., part, :], copy=True) for stage, array in self.heads.items()}
        positions = None if self.positions is None else self.positions[part]
        return Features(tf, heads, list(self.order), positions=positions)

    def query(self) -> Array:
        """q as the scores read it, (g, r, q, d)."""
        return self.heads[as_read("q", self.heads)]

    def key(self) -> Array:
        """k as the scores read it, (g, k, d)."""
        return self.heads[as_read("k", self.heads)]

    def value(self) -> Array:
        """v as the mixture reads it, (g, k, d)."""
        return self.heads.get("v_rotated", self.heads["v"])
