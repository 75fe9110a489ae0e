"""One step of a decoding: the stages of the new token at every site, read from the engine's arrays.

No step copies its stages. A stage becomes a NumPy array on demand, so that many steps of many layers cost
only their computation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program
from attnviz.engines.decode.cache import Cache
from attnviz.engines.decode.cost import Cost, StepCosts
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Scoring
from attnviz.engines.patches import SitePatches, Standing
from attnviz.engines.program import Attended
from attnviz.errors import UnknownName, among, must_be
from attnviz.model.spec.site import Site
from attnviz.model.stages import SITE_INPUTS, STAGE_BY_ID, as_read, inputs
from attnviz.operations.operation import Block

Numbers = NDArray[Any]


class StepStages:
    """Stages of one step by name. Arrays are read-only, in public layout without the token axis.

    q, mixed (head, d); k, v (kv_head, d); scores, weights and dropped (head, key seen so far); concatenated
    (head·d,); attention_output (d_model,); logits and probabilities (vocabulary,). An attribute is None where
    the experiment does not use the stage; so are k and v where a memory is read, whose keys and values are
    in the cache before the first step.
    """

    def get(self, stage: str) -> Numbers | None:
        """A stage, or None if it does not exist."""
        raise NotImplementedError

    def __getitem__(self, stage: str) -> Numbers:
        """A stage. Raises `KeyError` if it does not exist."""
        found = self.get(stage)
        if found is None:
            raise UnknownName("stage", stage, must_be("a stage of this step"))
        return found

    @property
    def x(self) -> Numbers:
        """The input of the site, (d_model,), after an additive position and before a norm of the block."""
        return self[
            next(stage for stage in (*SITE_INPUTS[1:], SITE_INPUTS[0]) if self.get(stage) is not None)
        ]

    @property
    def q(self) -> Numbers:
        return self["q"]

    @property
    def k(self) -> Numbers | None:
        return self.get("k")

    @property
    def v(self) -> Numbers | None:
        return self.get("v")

    @property
    def q_normed(self) -> Numbers | None:
        return self.get("q_normed")

    @property
    def k_normed(self) -> Numbers | None:
        return self.get("k_normed")

    @property
    def q_rotated(self) -> Numbers | None:
        return self.get("q_rotated")

    @property
    def k_rotated(self) -> Numbers | None:
        return self.get("k_rotated")

    @property
    def v_rotated(self) -> Numbers | None:
        return self.get("v_rotated")

    @property
    def weights(self) -> Numbers:
        return self["weights"]

    @property
    def dropped(self) -> Numbers | None:
        return self.get("dropped")

    @property
    def mixed(self) -> Numbers:
        return self["mixed"]

    @property
    def concatenated(self) -> Numbers:
        return self["concatenated"]

    @property
    def attention_output(self) -> Numbers:
        return self["attention_output"]


@dataclass(frozen=True, eq=False)
class SiteStep(StepStages):
    """Stages of the new token at one site.

    `read` are the cached positions whose key and value the step reads, without its own; `appended` those that
    it appends to the cache, the memory's all at the first step. `stages` are in data-flow order.
    """

    engine: Engine
    experiment: Site
    """The attention."""
    scoring: Scoring
    index: int
    features: Features
    """The stages of the tokens that were fed together; this one's are in `row`."""
    row: int
    attended: Attended
    cache: Cache
    seen: int
    """Positions that the token could see: of its own pass, those up to its own."""
    read: int
    appended: int
    n_held: int
    """Positions that were in the cache after the step, or after the prefill that it is of."""
    patches: SitePatches | None = None
    """The edits of the site; one of another position changes nothing."""

    @property
    def held_bytes(self) -> int:
        """Bytes of the arrays in which those positions lay, measured."""
        return self.cache.bytes_of(self.n_held)

    def holding(self, n_held: int) -> SiteStep:
        """The step in a decoding whose prefill is of another length; a memory is held from the start."""
        same = self.experiment.memory is not None or n_held == self.n_held
        return self if same else replace(self, n_held=n_held)

    @property
    def stages(self) -> tuple[str, ...]:
        return tuple(self.features.order)

    @property
    def key_positions(self) -> NDArray[np.int64]:
        """The absolute position of each key that the step sees, (key,)."""
        return self.cache.positions(self.seen)

    @property
    def held(self) -> tuple[Numbers, ...]:
        """Contents of the cache after this step, (g, row, numbers) each, read-only; see `Decoding.held`.

        Row i belongs to position `key_positions[i]`.
        """
        with self.engine.active():
            found = tuple(self.engine.to_numpy(rows)[...] for rows in self.cache.held(self.seen))
        for rows in found:
            rows.setflags(write=False)
        return found

    def get(self, stage: str) -> Numbers | None:
        if stage not in self.features.order:
            return None
        with self.engine.active():
            return self._public(stage)

    def _public(self, stage: str) -> Numbers:
        """A stage that exists, in its public layout; within the engine's context."""
        row, kind = self.engine.to_numpy(self._row(stage)), STAGE_BY_ID[stage]
        if not kind.by_token:
            row = row.reshape(-1, row.shape[-1]) if kind.per_head else row[0]
        row.setflags(write=False)
        return row

    def _row(self, stage: str) -> Array:
        """The stage as the engine has it or makes it: (1, feature), (g, 1, d), (g, r, 1, d or key), or (head,
        row, column) of one by token.
        """
        part = slice(self.row, self.row + 1)
        if stage in self.features.tf:
            return self.features.tf[stage][part]
        if stage in self.features.heads:
            return self.features.heads[stage][..., part, :]
        if stage in self.scoring.states:
            return self._state(stage)
        if stage == self.scoring.to_weights[-1]:
            return self.attended.weights
        if stage == "mixed":
            return self.attended.mixed
        shape = self.attended.weights.shape[:2]
        heads = np.arange(math.prod(shape)).reshape(shape)
        q_positions, k_positions = np.array([self.index]), self.key_positions
        at = Standing(q_positions, k_positions)
        if stage in self.scoring.behind:
            return self._behind(stage, Block(heads, q_positions, k_positions), at)
        qk = self.features.query()[:, :, part, :], self.cache.keys(self.seen)
        if self.patches is not None:
            patched = self.patches.scores(self.scoring, qk, q_positions, k_positions)
            if stage in patched:
                return patched[stage]
        return program.scores_of(self.engine, self.scoring, stage, qk, heads, q_positions, k_positions)

    def _behind(self, stage: str, block: Block, at: Standing) -> Array:
        """A stage behind the weights, (g, r, 1, key)."""
        scoring, used = self.scoring, self.attended.weights
        for one in scoring.behind[: scoring.behind.index(stage) + 1]:
            used = scoring.operations[one].of_heads(self.engine, used, block)
            used = self.patches(one, used, at) if self.patches else used
        return used

    def _state(self, stage: str) -> Array:
        """The matrices of the token, (head, row, column), from the cached keys and values."""
        held = {as_read("k", self.stages): self.cache.keys, as_read("v", self.stages): self.cache.values}
        read = [held[one](self.seen) for one in inputs(stage, self.stages)]
        size = self.scoring.group_size if STAGE_BY_ID[stage].axes[0] == "head" else 1
        made = self.scoring.states[stage].at_token
        last = read[0].shape[-2] - 1
        heads = (tuple(rows[head // size] for rows in read) for head in range(size * len(read[0])))
        return self.engine.xp.stack([made(self.engine, rows, last) for rows in heads])


def rows_of(sites: Sequence[SiteStep], stage: str) -> list[Numbers]:
    """A stage of the same site in many steps, which all have it; the engine's context is entered once."""
    with sites[0].engine.active():
        return [site._public(stage) for site in sites]


@dataclass(frozen=True, eq=False)
class DecodeStep(StepStages):
    """One step: the stages of the new token, the positions it reads, and its results.

    Its own stages are those of the main site, the first that is not an encoder's (`site` gives any other);
    logits and probabilities are the last site's: the next token's, of the vocabulary or by similarity to the
    token vectors.
    """

    index: int
    token: str
    generated: bool
    """The previous step chose the token; it is not the document's."""
    next_token: str | None
    """The next token: sampled, or the most probable one; None where the logits are not finite."""
    main: SiteStep
    last: SiteStep
    sites: dict[str, SiteStep]
    """By name, in data-flow order; an encoder's sites are not among them: it runs once, before the first."""
    costs: StepCosts
    seconds: float
    """Measured: the time of the token in all sites and of the choice of the next one.

    For a token of the prefill, an equal share of the pass. For a reused step, its time when it was computed.
    """
    prefill: range | None = None
    """The positions that went through all sites in one pass with this one; None for a token fed alone.

    Where an earlier decoding had the first of them, they were taken over, and the others went through behind.
    """

    def with_sites(self, sites: dict[str, SiteStep]) -> DecodeStep:
        """The step with its sites in other arrays."""
        main = next(name for name, site in self.sites.items() if site is self.main)
        return replace(self, sites=sites, main=sites[main], last=sites[next(reversed(sites))])

    def site(self, name: str) -> SiteStep:
        """One site. Raises `KeyError` naming the existing sites."""
        if name not in self.sites:
            raise UnknownName("site", name, among(self.sites))
        return self.sites[name]

    def get(self, stage: str) -> Numbers | None:
        return (self.last if stage in ("logits", "probabilities") else self.main).get(stage)

    @property
    def read(self) -> int:
        """Cached positions that the main site reads, its own not counted."""
        return self.main.read

    @property
    def appended(self) -> int:
        """Positions that the main site adds to its cache; the memory's all count for the first step."""
        return self.main.appended

    @property
    def held_bytes(self) -> int:
        """Bytes that the caches of all sites held after the step, measured."""
        return sum(site.held_bytes for site in self.sites.values())

    @property
    def cached(self) -> Cost:
        """Cost of the step with a cache, over all sites."""
        return self.costs.step(self.index)[0]

    @property
    def uncached(self) -> Cost:
        """Cost of the step without a cache."""
        return self.costs.step(self.index)[1]

    @property
    def logits(self) -> Numbers:
        return self["logits"]

    @property
    def probabilities(self) -> Numbers:
        return self["probabilities"]
