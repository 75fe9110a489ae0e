"""One attention of a decoding: tokens go through it, and read the cache of those before."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program, projecting
from attnviz.engines.decode.cache import Cache, cache_for
from attnviz.engines.decode.step import SiteStep
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.patches import SitePatches, patches_of
from attnviz.engines.program import Attended, Check
from attnviz.engines.steps import add
from attnviz.model.caches import FullCache
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.site import Site
from attnviz.model.stages import result_of

Ints = NDArray[np.int64]

READ_OUT = ("logits", "probabilities")


class Fed(NamedTuple):
    """Results of a site for some tokens: their steps, and the output."""

    steps: list[SiteStep]
    result: Array
    """(token, d_model)"""


class DecodingSite:
    """One attention with its block, and the cache that it reads."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        site: Site,
        operands: Operands,
        steps: int,
        encoded: Array | None,
        writing: Writing | None,
    ) -> None:
        self.name, self.reads = name, site.inputs.tokens
        self.memory: Features | None = None
        self._engine, self._site, self._operands = engine, site, operands
        self._edits = patches_of(site)
        memory = operands.memory if encoded is None or operands.memory is None else encoded
        kind = FullCache() if writing is None or memory is not None else writing.cache
        self._restarts = kind.restarts
        capacity = steps if memory is None else memory.shape[0]
        self.cache: Cache = cache_for(engine, operands, capacity, kind)
        if memory is not None:
            self.memory = made = Features(change=self._patches())
            made.add("memory", memory)
            projecting.key_value_heads(engine, operands, made, np.arange(capacity))
            self.cache.append(made)

    def take_over(self, older: Cache, length: int) -> None:
        """Begin after `length` positions that an earlier decoding has cached."""
        if self.memory is None and length:
            self.cache.take_over(older, length)

    def read_out_again(self, step: SiteStep) -> SiteStep:
        """A step of an earlier decoding with the logits of this one's tokens."""
        xp = self._engine.xp
        features = step.features.rows(slice(step.row, step.row + 1), xp)
        for stage in READ_OUT:
            del features.tf[stage]
        features.order = [stage for stage in features.order if stage not in READ_OUT]
        features.change = self._patches(features.positions)
        steps = self._operands.steps(*READ_OUT)
        add(self._engine, self._operands, features, steps, np.arange(features.n_tokens))
        return dataclasses.replace(step, features=features, row=0, attended=step.attended.copied(xp))

    def feed(self, stage: str, x: Array, positions: Ints, begin: int, check: Check) -> Fed:
        """Pass the input, (token, d_model), through the site; `stage` as in `projecting.enter`.

        The tokens are the next ones: `positions` begins where the cache ends. The pass begins at `begin`,
        earlier if its first tokens were taken over.
        """
        engine, operands = self._engine, self._operands
        counted = positions - begin if self._restarts else positions
        patches = self._patches(positions)
        features = projecting.enter(engine, operands, stage, x, counted, patches, in_text=positions)
        projecting.query_heads(engine, operands, features, counted)
        if self.memory is None:
            projecting.key_value_heads(engine, operands, features, counted)
            self.cache.append(features)
        attended, mixed = self._attended(features, positions, patches, check)
        program.output(engine, operands, features, mixed)
        steps = [
            self._step(int(at), row, features, one, patches)
            for row, (at, one) in enumerate(zip(positions, attended, strict=True))
        ]
        return Fed(steps, features.tf[result_of(tuple(features.order))])

    def _patches(self, rows: Ints | None = None) -> SitePatches | None:
        """The edits of the site, for the tokens at some positions; None: those of the memory."""
        return SitePatches(self._engine, self._edits, rows) if self._edits else None

    def _step(
        self, index: int, row: int, features: Features, attended: Attended, patches: SitePatches | None
    ) -> SiteStep:
        """The step of the token at `index`, whose stages are the rows `row` of `features`."""
        cache = self.cache
        if self.memory is None:
            seen, appended = index + 1, 1
            read = attended.weights.shape[-1] - 1
        else:
            seen = read = cache.length
            appended = seen if index == 0 else 0
        return SiteStep(
            self._engine,
            self._site,
            self._operands.scoring,
            index,
            features,
            row,
            attended,
            cache,
            seen,
            read,
            appended,
            cache.length,
            patches,
        )

    def _attended(
        self, features: Features, positions: Ints, patches: SitePatches | None, check: Check
    ) -> tuple[list[Attended], Array]:
        """(weights and mixture of each token, the mixtures of all of them).

        Tokens of one pass attend together, each to those up to itself; one by one if the cache evicts rows
        meanwhile, so that a token attends to the rows of its turn.
        """
        query, length = features.query(), self.cache.length
        if len(positions) == 1:
            attended = self._attend(query, positions, length, patches, check)
            return [attended], attended.mixed
        if self.memory is None and len(self.cache.positions(length)) < length:
            rows = [
                self._attend(
                    query[:, :, row : row + 1, :], positions[row : row + 1], int(at) + 1, patches, check
                )
                for row, at in enumerate(positions)
            ]
            return rows, self._engine.xp.concat([one.mixed for one in rows], axis=2)
        attended = self._attend(query, positions, length, patches, check)
        seen = [length if self.memory is not None else int(at) + 1 for at in positions]
        return [attended.row(row, count) for row, count in enumerate(seen)], attended.mixed

    def _attend(
        self, query: Array, positions: Ints, length: int, patches: SitePatches | None, check: Check
    ) -> Attended:
        """Attend with queries (g, r, token, d) to the cache after `length` positions."""
        cache = self.cache
        in_cache = Features(heads={"q": query, "k": cache.keys(length), "v": cache.values(length)})
        seen = cache.positions(length)
        scoring = self._operands.scoring
        attended, scores = program.attend(self._engine, scoring, in_cache, positions, seen, check)
        return attended if patches is None else patches.attend(scoring, in_cache, attended, scores)[0]
