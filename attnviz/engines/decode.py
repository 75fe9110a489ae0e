"""Decoding one token at a time with a cache of keys and values, through the same stage functions.

Positions are absolute everywhere, so a step calls what the full pass calls, for one query, and the
steps together equal the full causal pass: see `parity`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines import program, projecting
from attnviz.engines.decode_cost import Cost, step_costs
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.program import Attended, Block, Check, Ints
from attnviz.i18n import _
from attnviz.model.arrays import Matrix
from attnviz.model.experiment import Experiment
from attnviz.model.masks import looks_ahead
from attnviz.model.materialise import vectors_array, vocabulary
from attnviz.model.parts import Causal, ExplicitVectors, Rope
from attnviz.model.position_parts import DynamicNtk, Learned
from attnviz.model.positions import sequence_length
from attnviz.model.trace import Trace

Numbers = NDArray[Any]

MAX_STEPS = 100_000
"""Most steps of one decoding."""

PER_HEAD = ("q", "k", "v", "q_normed", "k_normed", "q_rotated", "k_rotated", "v_rotated", "mixed")
"""Stages of a step that have one row for each head or key/value head."""

STEP_STAGES = (
    "x",
    *PER_HEAD,
    "weights",
    "dropped",
    "concatenated",
    "attention_output",
    "logits",
    "probabilities",
)
"""Stages that a step and a full pass have in common."""

ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True, eq=False)
class DecodeStep:
    """One step: what the new token makes, what it reads, what comes out. Arrays are read-only.

    Public layouts without the token axis: q, mixed (head, d); k, v (kv_head, d); weights and dropped
    (head, key seen so far); concatenated (head·d,); attention_output (d_model,); logits and
    probabilities (vocabulary,), the next token's by similarity to the token vectors. A stage that the
    experiment does not use is None; so are k and v where there is a memory, whose keys and values are
    in the cache before the first step.
    """

    index: int
    token: str
    generated: bool
    """Fed because it was the most probable, not because the document has it."""
    read: int
    """Cached positions whose key and value the step reads, its own not counted."""
    appended: int
    """Positions that the step adds to the cache; the memory's all count for the first step."""
    cached: Cost
    uncached: Cost
    x: Numbers
    q: Numbers
    k: Numbers | None
    v: Numbers | None
    q_normed: Numbers | None
    k_normed: Numbers | None
    q_rotated: Numbers | None
    k_rotated: Numbers | None
    v_rotated: Numbers | None
    weights: Numbers
    dropped: Numbers | None
    mixed: Numbers
    concatenated: Numbers
    attention_output: Numbers
    logits: Numbers
    probabilities: Numbers
    next_token: str
    """The most probable next token, the first of them where several are."""


@dataclass(frozen=True, eq=False)
class Decoding:
    """All steps of one decoding, and the experiment whose full pass equals them.

    `keys` and `values` are the cache as it stands after the last step, (kv_head, position, d), as the
    scores read it: rotated where the experiment rotates. `experiment` has the causal mask, the tokens
    that were generated, and the readout.
    """

    experiment: Experiment
    steps: tuple[DecodeStep, ...]
    vocabulary: tuple[str, ...]
    keys: Numbers
    values: Numbers
    engine: str
    device: str
    dtype: str
    seconds: float
    notices: tuple[str, ...] = ()

    def total(self, step: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of the steps up to and including `step`, counted from 0."""
        cached, uncached = Cost(), Cost()
        for one in self.steps[: step + 1]:
            cached, uncached = cached.then(one.cached), uncached.then(one.uncached)
        return cached, uncached


def causal_experiment(experiment: Experiment) -> Experiment:
    """The experiment that decoding computes: causal, with a readout.

    Self-attention gets a causal mask where its masks may look ahead, and masks before the softmax: after it,
    a row would be divided by a sum over keys that do not exist yet. Cross-attention keeps its masks as
    they are, since all of the memory is there from the start. For frequencies that depend on the length see
    `at_length`.
    """
    changes: dict[str, Any] = {"readout": "similarity"}
    if experiment.memory is None:
        if looks_ahead(experiment.masks):
            changes["masks"] = (*experiment.masks, Causal())
        changes["mask_placement"] = "before_softmax"
    return msgspec.structs.replace(experiment, **changes)


def at_length(experiment: Experiment, steps: int) -> Experiment:
    """The experiment as `steps` tokens will have it, where its frequencies depend on the number of tokens.

    Keys are cached as they were turned, so dynamic NTK must know the length at the end from the start; with
    steps within the document's tokens it does.
    """
    rope = experiment.position
    if not isinstance(rope, Rope) or not isinstance(rope.scaling, DynamicNtk):
        return experiment
    length = max(sequence_length(experiment), rope.start + steps)
    if rope.scaling.length is not None or length == sequence_length(experiment):
        return experiment
    scaling = msgspec.structs.replace(rope.scaling, length=length)
    return msgspec.structs.replace(experiment, position=msgspec.structs.replace(rope, scaling=scaling))


def step_count(experiment: Experiment, steps: int | None) -> int:
    """The number of steps that is meant.

    Raises `ValueError` for `steps` below 1 or above `MAX_STEPS`, or past the end of a learned table.
    """
    count = experiment.n_queries if steps is None else steps
    if not 1 <= count <= MAX_STEPS:
        raise ValueError(f"steps is {steps}; legal is 1 to {MAX_STEPS:,}")
    if isinstance(experiment.position, Learned):
        experiment.position.check_end(max(count, experiment.n_queries))
    return count


def decode(
    engine: Engine,
    experiment: Experiment,
    steps: int | None = None,
    check: Check = program.never_cancelled,
    notices: tuple[str, ...] = (),
) -> Decoding:
    """Decode `steps` tokens (None: as many as the experiment has); `check` is called at every step.

    The document's tokens are fed first; past them, each step feeds the most probable token of the step
    before (the first of equals). Raises `ValueError` as `step_count` does.
    """
    steps = step_count(experiment, steps)
    started = time.perf_counter()
    causal = causal_experiment(experiment)
    if experiment.masks and causal.masks != experiment.masks:
        notices = (*notices, _("Decoding adds a causal mask: these masks let a query see later keys."))
    if causal.mask_placement != experiment.mask_placement:
        notices = (*notices, _("Decoding masks before the softmax: later keys do not exist yet."))
    longer = at_length(causal, steps)
    if longer is not causal:
        notices = (*notices, _("Dynamic NTK: every step turns by the frequencies of the length at the end."))
    with engine.active():
        decoder = _Decoder(engine, longer, steps)
        made = []
        for _index in range(steps):
            check()
            made.append(decoder.step())
        engine.synchronise()
        keys, values = decoder.cache.window(engine)
    return Decoding(
        experiment=decoder.experiment(),
        steps=tuple(made),
        vocabulary=decoder.names,
        keys=keys,
        values=values,
        engine=engine.name,
        device=engine.device,
        dtype=engine.dtype,
        seconds=time.perf_counter() - started,
        notices=notices,
    )


class _Cache:
    """Keys and values as the scores read them, (g, position, d), in arrays allocated once."""

    def __init__(self, engine: Engine, experiment: Experiment, capacity: int) -> None:
        heads = experiment.heads
        self._keys = engine.empty((heads.n_kv_heads, capacity, heads.d_head))
        self._values = engine.empty((heads.n_kv_heads, capacity, heads.d_head))
        self.length = 0

    def append(self, keys: Array, values: Array) -> None:
        """Write the keys and values of the next positions behind the others."""
        end = self.length + keys.shape[1]
        self._keys[:, self.length : end, :] = keys
        self._values[:, self.length : end, :] = values
        self.length = end

    def keys(self) -> Array:
        return self._keys[:, : self.length, :]

    def values(self) -> Array:
        return self._values[:, : self.length, :]

    def window(self, engine: Engine) -> tuple[Numbers, Numbers]:
        """Both as read-only NumPy arrays."""
        return _frozen(engine.to_numpy(self.keys())), _frozen(engine.to_numpy(self.values()))


class _Decoder:
    """The state between two steps: the cache and the tokens fed so far."""

    def __init__(self, engine: Engine, experiment: Experiment, steps: int) -> None:
        self._engine, self._experiment = engine, experiment
        self._vectors = vectors_array(experiment.vectors)
        self.names, self._first_rows = vocabulary(experiment)
        self._fed: list[int] = []
        self._next = 0
        memory = experiment.memory
        self.cache = _Cache(engine, experiment, steps if memory is None else experiment.n_keys)
        if memory is not None:
            made = Features()
            x = engine.asarray(vectors_array(memory.vectors))
            projecting.key_value_heads(engine, experiment, made, x, np.arange(experiment.n_keys))
            self.cache.append(made.key(), made.value())

    def step(self) -> DecodeStep:
        """Feed the next token."""
        engine, experiment = self._engine, self._experiment
        index = len(self._fed)
        generated = index >= experiment.n_queries
        row = self._first_rows[self._next] if generated else index
        self._fed.append(row)
        read = self.cache.length
        positions = np.array([index])
        x = engine.asarray(self._vectors[row : row + 1])
        features = projecting.enter(engine, experiment, "tokens_embedded", x, positions)
        x = features.x()
        projecting.query_heads(engine, experiment, features, x, positions)
        if experiment.memory is None:
            projecting.key_value_heads(engine, experiment, features, x, positions)
            self.cache.append(features.key(), features.value())
        attended = self._attend(features, positions)
        program.output(engine, experiment, features, attended)
        program.read_out(engine, experiment, features)
        rows = self._rows(features, attended, positions)
        self._next = _most_probable(rows["probabilities"])
        cached, uncached = step_costs(experiment, index, ITEMSIZE[engine.dtype])
        return DecodeStep(
            index=index,
            token=experiment.tokens[row],
            generated=generated,
            read=read,
            appended=cached.kv_projections,  # what is projected is appended, once
            cached=cached,
            uncached=uncached,
            next_token=self.names[self._next],
            **rows,
        )

    def experiment(self) -> Experiment:
        """The experiment with the generated tokens behind the document's."""
        known = self._experiment.n_queries
        extra = self._fed[known:]
        if not extra:
            return self._experiment
        tokens = self._experiment.tokens
        return msgspec.structs.replace(
            self._experiment,
            tokens=(*tokens, *(tokens[row] for row in extra)),
            vectors=ExplicitVectors(Matrix(np.concatenate((self._vectors, self._vectors[extra])))),
        )

    def _attend(self, features: Features, positions: Ints) -> Attended:
        """Attention of the new query to everything in the cache."""
        cache = self.cache
        seen = Features(heads={"q": features.query(), "k": cache.keys(), "v": cache.values()})
        return program.attend(self._engine, self._experiment, seen, positions, np.arange(cache.length))

    def _rows(self, features: Features, attended: Attended, positions: Ints) -> dict[str, Any]:
        """The stages of the step in public layout, without the token axis."""
        engine, experiment = self._engine, self._experiment
        rows: dict[str, Any] = dict.fromkeys(PER_HEAD)
        made = {**features.heads, "mixed": attended.mixed, "weights": attended.weights}
        for stage, array in made.items():
            rows[stage] = _heads_first(engine.to_numpy(array))
        rows["dropped"] = None
        if experiment.dropout.active:
            rows["dropped"] = _heads_first(engine.to_numpy(self._dropped(attended, positions)))
        for stage in ("concatenated", "attention_output", "logits", "probabilities"):
            rows[stage] = _frozen(engine.to_numpy(features.tf[stage])[0])
        rows["x"] = _frozen(engine.to_numpy(features.tf.get("x", features.tf["tokens_embedded"]))[0])
        return rows

    def _dropped(self, attended: Attended, positions: Ints) -> Array:
        experiment = self._experiment
        heads = np.arange(experiment.heads.n_heads).reshape(attended.weights.shape[:2])
        block = Block(heads, positions, np.arange(self.cache.length), None)
        dropped = self._engine.xp.asarray(attended.weights, copy=True)
        self._engine.multiply_(dropped, program.dropout_factors(experiment, block))
        return dropped


def parity(decoding: Decoding, trace: Trace) -> dict[str, float]:
    """Largest absolute difference between the steps and a full pass, for each stage that both have.

    `trace` is a run of `decoding.experiment`. Weights that a step could not see yet must be zero in the
    full pass. NaN equals NaN; a NaN on one side only is an infinite difference.
    """
    site = trace.only
    result = {}
    for stage in STEP_STAGES:
        if stage not in site.stages or getattr(decoding.steps[0], stage) is None:
            continue
        whole = site[stage]
        result[stage] = max(
            _difference(getattr(step, stage), whole[..., step.index, :]) for step in decoding.steps
        )
    return result


def _difference(step: Numbers, full: Numbers) -> float:
    seen = step.shape[-1]
    unseen = full[..., seen:]
    # A row of nothing but NaN is NaN to its end, also where other heads have numbers.
    unseen = np.where(np.isnan(step).all(axis=-1, keepdims=True) & np.isnan(unseen), 0.0, unseen)
    a, b = step.astype(np.float64), full[..., :seen].astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    both = np.concatenate((apart.ravel(), np.abs(unseen).ravel()))
    return float(np.max(np.where(np.isnan(both), np.inf, both), initial=0.0))


def _heads_first(array: Numbers) -> Numbers:
    """(g[, r], 1, n) as (head, n), a read-only copy."""
    return _frozen(array.reshape(-1, array.shape[-1]))


def _frozen(array: Numbers) -> Numbers:
    # A copy: on a CPU the array may be part of what the engine goes on writing to.
    array = array.copy()
    array.setflags(write=False)
    return array


def _most_probable(probabilities: Numbers) -> int:
    """The first of the largest; NaN counts as never."""
    return int(np.argmax(np.where(np.isnan(probabilities), -1.0, probabilities)))
