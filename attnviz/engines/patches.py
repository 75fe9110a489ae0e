"""Patches: stages of a pass that are replaced, and from which all that follows is computed.

Ablation sets a stage to zero or to its mean; activation patching puts in the numbers of another pass
(Vig et al. 2020; Meng et al. 2022, "causal tracing").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Scoring
from attnviz.engines.program import Attended, Scores
from attnviz.errors import FieldError, among, must_be, size, whole_number
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace


@dataclass(frozen=True, eq=False)
class Patch:
    """New numbers for a part of one stage of one site.

    `heads` (of a stage with heads) and `positions` (tokens or queries) select the part, None all of them.
    `value` is a number, or an array that broadcasts to the part in public order: (head, position, feature),
    (head, position, key), or (position, feature).
    """

    site: str
    stage: str
    value: float | NDArray[Any]
    heads: tuple[int, ...] | None = None
    positions: tuple[int, ...] | None = None

    def check(self, site: SiteTrace) -> None:
        """Raises `FieldError` for a stage, head, position or shape that the site does not have."""
        if self.stage not in site.stages:
            raise FieldError("stage", self.stage, among(site.stages))
        shape = site.shape(self.stage)
        if self.heads is not None and not STAGE_BY_ID[self.stage].per_head:
            raise FieldError("heads", self.heads, must_be("null for a stage without heads"))
        for name, given, count in (("heads", self.heads, shape[0]), ("positions", self.positions, shape[-2])):
            for number in given or ():
                if not 0 <= number < count:
                    raise FieldError(name, number, whole_number(0, count - 1))
        try:
            np.broadcast_to(self.value, self.part(shape))
        except ValueError:
            wanted = must_be("a number or an array of {size}", size=size(self.part(shape)))
            raise FieldError("value", np.shape(self.value), wanted) from None

    def part(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the selected part of a stage of this public shape."""
        positions = shape[-2] if self.positions is None else len(self.positions)
        heads = shape[:-2] if self.heads is None else (len(self.heads),)
        return (*heads, positions, shape[-1])

    def into(self, engine: Engine, array: Array) -> None:
        """Write the numbers into a stage in public order."""
        part = self.part(tuple(array.shape))
        value = engine.asarray(np.broadcast_to(self.value, part))
        for target, source in self._pairs(array, value):
            if self.positions is None:
                target[...] = source
            else:
                for row, position in enumerate(self.positions):
                    target[position] = source[row]

    def _pairs(self, array: Array, value: Array) -> list[tuple[Array, Array]]:
        """The selected matrices of the stage, each with its new numbers."""
        if len(array.shape) == 2:
            return [(array, value)]
        heads = range(array.shape[0]) if self.heads is None else self.heads
        return [(array[head], value[row]) for row, head in enumerate(heads)]


class SitePatches:
    """The patches of one site, by stage."""

    def __init__(self, engine: Engine, patches: Sequence[Patch]) -> None:
        self._engine = engine
        self._by_stage: dict[str, list[Patch]] = {}
        for patch in patches:
            self._by_stage.setdefault(patch.stage, []).append(patch)

    def __call__(self, stage: str, array: Array) -> Array:
        """The array of a stage, patched in a copy: (token, feature), (g, token, d) or (g, r, token, d)."""
        found = self._by_stage.get(stage)
        if found is None:
            return array
        made = self._engine.xp.asarray(array, copy=True)
        public = self._engine.xp.reshape(made, (-1, *made.shape[-2:])) if len(made.shape) > 2 else made
        for patch in found:
            patch.into(self._engine, public)
        return self._engine.xp.reshape(public, made.shape)

    def attend(
        self, scoring: Scoring, features: Features, attended: Attended, scores: Scores
    ) -> tuple[Attended, dict[str, Array]]:
        """Weights and mixture with the patched score-shaped stages; and those before the softmax, by id.

        From the first patched stage on, all stages of queries and keys are computed whole.
        """
        patched = [stage for stage in scoring.stages if stage in self._by_stage]
        replaced: dict[str, Array] = {}
        weights = attended.weights
        if patched and patched[0] not in ("weights", "dropped"):
            *before, weights = program.stages_from(self._engine, scoring, scores, patched[0], self)
            names = scoring.stages[scoring.stages.index(patched[0]) :]
            replaced = dict(zip(names, before, strict=False))
        elif patched:
            weights = self("weights", weights)
        mixed = attended.mixed
        if patched:
            used = program.dropped(self._engine, scoring, scores, weights)
            if "dropped" in self._by_stage:
                used = replaced["dropped"] = self("dropped", used)
            mixed = program.mix(self._engine, scoring, used, features.value())
        return Attended(weights, self("mixed", mixed)), replaced
