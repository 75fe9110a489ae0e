"""One attention of a decoding: a token goes through it, and reads the cache of those before."""

from __future__ import annotations

import dataclasses

import numpy as np

from attnviz.core.dims import Array
from attnviz.engines import program, projecting
from attnviz.engines.cache import Cache, cache_for
from attnviz.engines.decode_step import SiteStep
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.model.caches import FullCache
from attnviz.model.experiment import Experiment
from attnviz.model.materialise import vectors_array
from attnviz.model.writing import Writing

READ_OUT = ("logits", "probabilities")


class DecodingSite:
    """One attention with its block, and the cache that it reads."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        experiment: Experiment,
        steps: int,
        encoded: Array | None,
        writing: Writing | None,
    ) -> None:
        self.name = name
        self.memory: Features | None = None
        self._engine, self._experiment = engine, experiment
        memory = experiment.memory
        kind = FullCache() if writing is None or memory is not None else writing.cache
        capacity = steps if memory is None else experiment.n_keys
        self.cache: Cache = cache_for(engine, experiment, capacity, kind)
        if memory is not None:
            x = engine.asarray(vectors_array(memory.vectors)) if encoded is None else encoded
            self.memory = made = Features()
            made.add("memory", x)
            projecting.key_value_heads(engine, experiment, made, x, np.arange(experiment.n_keys))
            self.cache.append(made)

    def take_over(self, older: Cache, length: int) -> None:
        """Begin after `length` positions that an earlier decoding has cached."""
        if self.memory is None and length:
            self.cache.take_over(older, length)

    def read_out_again(self, step: SiteStep) -> SiteStep:
        """A step of an earlier decoding with the logits of this one's tokens."""
        old = step.features
        tf = {stage: array for stage, array in old.tf.items() if stage not in READ_OUT}
        features = Features(tf, old.heads, [stage for stage in old.order if stage not in READ_OUT])
        program.read_out(self._engine, self._experiment, features)
        return dataclasses.replace(step, features=features)

    def step(self, stage: str, x: Array, index: int) -> SiteStep:
        """What comes in, (1, d_model), through the site; `stage` as `projecting.enter` has it."""
        engine, experiment, cache = self._engine, self._experiment, self.cache
        positions = np.array([index])
        features = projecting.enter(engine, experiment, stage, x, positions)
        x = features.x()
        projecting.query_heads(engine, experiment, features, x, positions)
        read = appended = cache.length
        if self.memory is None:
            projecting.key_value_heads(engine, experiment, features, x, positions)
            cache.append(features)
            appended = 1
            read = len(cache.positions(cache.length)) - 1
        seen = cache.length
        in_cache = Features(heads={"q": features.query(), "k": cache.keys(seen), "v": cache.values(seen)})
        attended = program.attend(engine, experiment, in_cache, positions, cache.positions(seen))
        program.output(engine, experiment, features, attended)
        program.read_out(engine, experiment, features)
        if self.memory is not None and index > 0:
            appended = 0
        held = cache.held_bytes
        return SiteStep(engine, experiment, index, features, attended, cache, seen, read, appended, held)
