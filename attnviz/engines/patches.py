"""Patches: stages of a pass that are replaced, and from which all that follows is computed.

Ablation sets a stage to zero or to its mean; activation patching puts in the numbers of another pass
(Vig et al. 2020; Meng et al. 2022, "causal tracing"); the edits of a document are numbers set by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Scoring
from attnviz.engines.program import Attended, Ints, Scores
from attnviz.errors import FieldError, Message, among, must_be, size, whole_number
from attnviz.model.edit.by_hand import as_text
from attnviz.model.sites.sites import sites
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.edit import Edit, Operation
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace
from attnviz.operations.operation import Block


@dataclass(frozen=True, eq=False)
class Patch:
    """New numbers for a part of one stage of one site.

    `heads` (of a stage with heads) and `positions` (tokens or queries) select the part, None all of them;
    `column` is a single feature or key. `value` is a number, or an array that broadcasts to the part in
    public order: (head, position, feature), (head, position, key), or (position, feature). `operation` says
    whether it replaces the computed numbers, is added to them, or multiplies them.
    """

    site: str
    stage: str
    value: float | NDArray[Any]
    heads: tuple[int, ...] | None = None
    positions: tuple[int, ...] | None = None
    column: int | None = None
    operation: Operation = "set"

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
        return (*heads, positions, shape[-1] if self.column is None else 1)

    def into(self, engine: Engine, array: Array, at: Standing) -> None:
        """Write the numbers into a stage in public order, whose last two axes stand at some positions."""
        columns = self._columns(at)
        if columns is None:
            return
        part = self.part(tuple(array.shape))
        value = engine.asarray(np.broadcast_to(self.value, part))
        for target, source in self._pairs(array, value):
            if self.positions is None:
                target[:, columns] = self._applied(target[:, columns], source)
                continue
            for row, position in enumerate(self.positions):
                local = at.row(position, target.shape[0])
                if local is not None:
                    target[local, columns] = self._applied(target[local, columns], source[row])

    def _columns(self, at: Standing) -> slice | None:
        """The columns of the part in an array; None if it has none of them."""
        if self.column is None:
            return slice(None)
        local = at.column(self.column, STAGE_BY_ID[self.stage].score_shaped)
        return None if local is None else slice(local, local + 1)  # past the last key: no column

    def _applied(self, computed: Array, value: Array) -> Array:
        if self.operation == "add":
            return computed + value
        return computed * value if self.operation == "scale" else value

    def pull(self) -> Patch:
        """The patch that turns the gradient by the new numbers into that by the computed ones."""
        return self if self.operation == "scale" else replace(self, value=0.0)

    def _pairs(self, array: Array, value: Array) -> list[tuple[Array, Array]]:
        """The selected matrices of the stage, each with its new numbers."""
        if len(array.shape) == 2:
            return [(array, value)]
        heads = range(array.shape[0]) if self.heads is None else self.heads
        return [(array[head], value[row]) for row, head in enumerate(heads)]


@dataclass(frozen=True, eq=False)
class Standing:
    """The absolute positions of the rows of an array, and of its keys; None: from 0 on."""

    rows: Ints | None = None
    keys: Ints | None = None

    def row(self, position: int, count: int) -> int | None:
        """The row of a position in an array of `count` rows; None if it is not among them."""
        return (
            _index(position, self.rows) if self.rows is not None else position if position < count else None
        )

    def column(self, number: int, is_key: bool) -> int | None:
        """The column of a feature or key; None if the key is not among them."""
        return number if self.keys is None or not is_key else _index(number, self.keys)


def _index(position: int, positions: Ints) -> int | None:
    found = np.flatnonzero(positions == position)
    return int(found[0]) if len(found) else None


WHOLE = Standing()
"""The rows and keys of a full pass."""


def patches_of(site: Site) -> list[Patch]:
    """The edits of a site, as patches; those of stages that it does not compute change nothing."""
    if not site.edits:
        return []
    name, stages = site.place.name, frozenset(site_stages(site))
    return [_patch(name, edit) for edit in site.edits if edit.stage in stages and _fits(site, edit)]


def unused_edits(experiment: Experiment) -> tuple[Message, ...]:
    """A notice for each edit that changes nothing, as the pass has no such number."""
    found = []
    for site in sites(experiment).values():
        if not site.edits:
            continue
        stages = site_stages(site)
        for edit in site.edits:
            if edit.stage not in stages or not edit.fits(stage_shape(site, edit.stage)):
                says = Message(
                    "{site}: {edit} changes nothing, as this pass has no such number.",
                    site=site.place.name,
                    edit=as_text(edit),
                )
                found.append(says)
    return tuple(found)


def _patch(site: str, edit: Edit) -> Patch:
    value = edit.value if isinstance(edit.value, float) else np.array(edit.value)
    heads = None if edit.head is None else (edit.head,)
    return Patch(site, edit.stage, value, heads, (edit.position,), edit.column, edit.operation)


def _fits(site: Site, edit: Edit) -> bool:
    """True if the stage has the head and the column; decoding may have rows and keys that the pass lacks."""
    n_heads, _rows, n_columns = (1, *stage_shape(site, edit.stage))[-3:]
    is_score, column = STAGE_BY_ID[edit.stage].score_shaped, edit.column or 0
    if not isinstance(edit.value, float) and len(edit.value) != n_columns:
        return False
    return (edit.head or 0) < n_heads and (is_score or column < n_columns)


class SitePatches:
    """The patches of one site, by stage; `computed` has the patched stages as they were before."""

    def __init__(self, engine: Engine, patches: Sequence[Patch], rows: Ints | None = None) -> None:
        self._engine, self._rows = engine, rows
        self._by_stage: dict[str, list[Patch]] = {}
        self.computed: dict[str, Array] = {}
        for patch in patches:
            self._by_stage.setdefault(patch.stage, []).append(patch)

    def __call__(self, stage: str, array: Array, at: Standing | None = None) -> Array:
        """The array of a stage, patched in a copy: (token, feature), (g, token, d) or (g, r, token, d)."""
        found = self._by_stage.get(stage)
        if found is None:
            return array
        self.computed[stage] = array
        made = self._engine.xp.asarray(array, copy=True)
        public = self._engine.xp.reshape(made, (-1, *made.shape[-2:])) if len(made.shape) > 2 else made
        for patch in found:
            patch.into(self._engine, public, at or Standing(self._rows))
        return self._engine.xp.reshape(public, made.shape)

    def pulled(self, stage: str, gradient: Array) -> Array:
        """The gradient by the computed numbers of a stage, from that by the patched ones."""
        made = self._engine.xp.asarray(gradient, copy=True)
        public = self._engine.xp.reshape(made, (-1, *made.shape[-2:])) if len(made.shape) > 2 else made
        for patch in reversed(self._by_stage[stage]):  # a sum passes it on
            patch.pull().into(self._engine, public, WHOLE)
        return self._engine.xp.reshape(public, made.shape)

    def scores(
        self, scoring: Scoring, qk: tuple[Array, Array], q_positions: Ints, k_positions: Ints
    ) -> dict[str, Array]:
        """The score-shaped stages from the first patched one on to the weights, (g, r, q, k), by id."""
        names = scoring.to_weights
        first = next((stage for stage in names[:-1] if stage in self._by_stage), None)
        if first is None:
            return {}
        at = Standing(q_positions, k_positions)
        change = partial(self, at=at)
        made = program.stages_from(self._engine, scoring, qk, q_positions, k_positions, first, change)
        return dict(zip(names[names.index(first) :], made, strict=True))

    def attend(
        self, scoring: Scoring, features: Features, attended: Attended, scores: Scores
    ) -> tuple[Attended, dict[str, Array]]:
        """Weights and mixture with the patched score-shaped stages; and those before the softmax, by id.

        From the first patched stage on, all stages of queries and keys are computed whole.
        """
        at = Standing(*scores.positions)
        weights, mixed = attended.weights, attended.mixed
        replaced: dict[str, Array] = {}
        if any(stage in self._by_stage for stage in scoring.stages):
            scores.see_all()  # a patched weight may be that of a key which no row sees
            replaced = self.scores(scoring, scores.qk, *scores.positions)
            stored = scoring.to_weights[-1]
            weights = replaced.pop(stored) if replaced else self(stored, weights, at)
            used, block = weights, Block(program.head_numbers(*weights.shape[:2]), *scores.positions)
            for stage in scoring.behind:
                used = scoring.operations[stage].of_heads(self._engine, used, block)
                used = replaced[stage] = self(stage, used, at)
            mixed = scoring.mixture.mix(self._engine, used, features.value())
        return Attended(weights, self("mixed", mixed, at)), replaced
