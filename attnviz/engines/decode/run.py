"""Decoding with a cache of keys and values, through the same stage functions.

A prompt is read in one pass, the prefill; then one token at a time is computed. Positions are
absolute everywhere, so a step calls what the full pass calls, for one query, at every site in turn; prefill
and steps together equal the full causal pass: see `attnviz.engines.parity`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.progress import progress_of
from attnviz.engines import program
from attnviz.engines.decode.choice import Choice
from attnviz.engines.decode.cost import Cost, StepCosts
from attnviz.engines.decode.decodable import (
    CHANGES,
    at_length,
    causal_changes,
    causal_experiment,
    encoder_of,
    step_count,
    table_end,
    up_to,
)
from attnviz.engines.decode.reuse import can_reuse, settled
from attnviz.engines.decode.site import DecodingSite
from attnviz.engines.decode.step import DecodeStep, SiteStep
from attnviz.engines.engine import ITEMSIZE, Engine
from attnviz.engines.features import Features
from attnviz.engines.program import Check
from attnviz.engines.resolution import operands_of
from attnviz.engines.run import run
from attnviz.errors import FieldError, Message, whole_number
from attnviz.model.keep_mask import added_keep_masks
from attnviz.model.operands.matrices import output_tokens, vectors_array, vocabulary
from attnviz.model.sites.sites import at, places, shown_site
from attnviz.model.spec.arrays import Matrix, in_float64
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.stages import result_of
from attnviz.model.trace import Trace

Numbers = NDArray[Any]

NOT_FINITE = Message(
    "Later tokens have values that are not finite: a full pass spreads them to earlier tokens, as 0 · NaN is "
    "NaN; decoding does not."
)


@dataclass(frozen=True, eq=False)
class Decoding:
    """All steps of one decoding, and the experiment whose full pass equals them.

    `experiment` has the causal masks, the tokens that were generated, and the read-out. `vocabulary` are the
    texts of logits and probabilities. `encoder` is the run of the encoder, before the first step, its sites
    named as layers; `memories` are the stages that cross-attentions computed from the memory.
    """

    experiment: Experiment
    steps: tuple[DecodeStep, ...]
    vocabulary: tuple[str, ...]
    encoder: Trace | None
    memories: dict[str, Features]
    made_by: Engine
    seconds: float
    notices: tuple[Message, ...] = ()
    reused: int = 0
    """Steps at the beginning that were reused from an earlier decoding."""
    stopped: Message | None = None
    """Why generation ended, one sentence; None if no stop condition held."""
    changed: frozenset[str] = frozenset()
    """Changes of the document by `causal_experiment`; see `decodable.causal_changes`."""

    @property
    def engine(self) -> str:
        return self.made_by.name

    @property
    def device(self) -> str:
        return self.made_by.device

    @property
    def dtype(self) -> str:
        return self.made_by.dtype

    def up_to(self, step: int) -> Experiment:
        """The experiment of the tokens up to a step, 0 the first, in the dtype of the decoding.

        Raises `FieldError` for a step that the decoding does not have.
        """
        last = self.experiment.n_queries - 1
        if not 0 <= step <= last:
            raise FieldError("step", step, whole_number(0, last))
        return replace(up_to(self.experiment, step + 1), dtype=self.dtype)

    def cache(self, site: str) -> tuple[Numbers, Numbers]:
        """Keys and values of a site as they stand after the last step, (kv_head, position, d), read-only.

        As the scores read them: rotated where the experiment rotates. Raises `KeyError`.
        """
        last = self.steps[-1].site(site)
        keys, values = last.cache.keys(last.seen), last.cache.values(last.seen)
        return _read_only(self.made_by, keys), _read_only(self.made_by, values)

    def held(self, site: str) -> tuple[Numbers, ...]:
        """Contents of a site's cache after the last step, (g, position, numbers) each, read-only.

        Keys and values; or, with a latent, the latent and the rotated RoPE key, if any, g = 1.
        """
        last = self.steps[-1].site(site)
        return tuple(_read_only(self.made_by, rows) for rows in last.cache.held(last.seen))

    def of_memory(self, site: str, stage: str) -> Numbers:
        """A stage that a site computed from the memory before the first step, as in a trace.
        Raises `KeyError`.
        """
        made = self.memories[site]
        return _read_only(self.made_by, made.heads[stage] if stage in made.heads else made.tf[stage])

    @cached_property
    def _main_cache(self) -> tuple[Numbers, Numbers]:
        return self.cache(shown_site(self.experiment, ""))

    @property
    def keys(self) -> Numbers:
        """The keys of the main site's cache."""
        return self._main_cache[0]

    @property
    def values(self) -> Numbers:
        """The values of the main site's cache."""
        return self._main_cache[1]

    def fed_together(self, index: int) -> range:
        """The steps computed in one pass with step `index`: those of its prefill, or it alone."""
        prefill = self.steps[index].prefill
        return range(index, index + 1) if prefill is None else prefill

    def total(self, step: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of the steps up to and including `step`, counted from 0."""
        cached, uncached = Cost(), Cost()
        for one in self.steps[: step + 1]:
            cached, uncached = cached.then(one.cached), uncached.then(one.uncached)
        return cached, uncached


def decode(
    engine: Engine,
    experiment: Experiment,
    steps: int | None = None,
    check: Check = program.never_cancelled,
    notices: tuple[Message, ...] = (),
    earlier: Decoding | None = None,
) -> Decoding:
    """Decode `steps` tokens at most; `check` is called at every step.

    The document's tokens come first: in one pass if it defines the generation, else one by one as if
    generated. Beyond them, each step uses the token that the previous step chose: sampled as the experiment's
    `writing` defines, or without it the most probable (the first of equals); one of the vocabulary's, or of
    the existing tokens if the read-out is by similarity. `steps` None: as many as the experiment has tokens,
    or until generation stops. Logits that are not finite cannot be sampled: decoding ends there, and
    `stopped` names the step.

    The common prefix with `earlier` (the same engine, experiment and cache type, the same tokens) is reused
    instead of computed. Raises `ValueError` as `step_count` does.
    """
    steps = step_count(experiment, steps)
    started = time.perf_counter()
    causal = causal_experiment(experiment, steps)
    changed = causal_changes(experiment, causal)
    notices = (*notices, *(text for field, text in CHANGES.items() if field in changed))
    notices = (*notices, *added_keep_masks(experiment))
    longer = at_length(causal, steps)
    if longer is not causal:
        notices = (
            *notices,
            Message("RoPE depends on the length: every step rotates by the frequencies of the final length."),
        )
    with engine.active():
        decoder = _Decoder(engine, longer, steps, check, earlier)
        notices = (*notices, *decoder.notices)
        made: list[DecodeStep] = []
        progress = progress_of(check)
        while len(made) < steps and not decoder.stopped:
            progress.at(len(made) / steps)
            made += decoder.feed()
        if decoder.reused < len(made):
            made = settled(engine, made, decoder.reused, {site.name: site.cache for site in decoder.sites})
        engine.synchronise()
        if spreads_nan(engine, made):
            notices = (*notices, NOT_FINITE)
    return Decoding(
        experiment=decoder.experiment(),
        steps=tuple(made),
        vocabulary=decoder.names,
        encoder=decoder.encoder,
        memories={site.name: site.memory for site in decoder.sites if site.memory is not None},
        made_by=engine,
        seconds=time.perf_counter() - started,
        notices=notices,
        reused=decoder.reused,
        stopped=decoder.stopped or _table_reason(longer, len(made)),
        changed=changed,
    )


class _Decoder:
    """The state between two steps: the sites with their caches, and the tokens so far."""

    def __init__(
        self, engine: Engine, experiment: Experiment, steps: int, check: Check, earlier: Decoding | None
    ) -> None:
        self._engine, self._experiment, self._check, self._steps = engine, experiment, check, steps
        self._choice = Choice(experiment, output_tokens(experiment))
        self._old: tuple[DecodeStep, ...] = ()
        if earlier is not None and can_reuse(engine, experiment, earlier.made_by, earlier.experiment):
            self._old = earlier.steps
        self.reused = 0
        self._x = engine.asarray(vectors_array(experiment.vectors))
        self._n_prefill = 0 if experiment.writing is None else min(experiment.n_queries, steps)
        self._costs = StepCosts(experiment, ITEMSIZE[engine.dtype], self._n_prefill)
        self._main = shown_site(experiment, "")
        self.names, self._known = output_tokens(experiment), _known_vectors(experiment)
        self._generated: list[int] = []
        self._fed = 0
        encoder, encoded = encoder_of(experiment), None
        self.encoder = None
        if earlier is not None and self._old:
            self.encoder = earlier.encoder
        elif encoder is not None:
            self.encoder = run(engine, encoder, progress_of(check).part(0.0, 0.0))  # before the first step
        if self.encoder is not None:
            last = self.encoder.site(self.encoder.sites[-1])
            encoded = engine.asarray(last[result_of(last.stages)])
        self.sites = []
        for place in places(experiment):
            if place.stack != "encoder":
                site = at(experiment, place.name)
                operands = operands_of(engine, experiment, site)
                made = DecodingSite(engine, place.name, site, operands, steps, encoded, experiment.writing)
                self.sites.append(made)

    @property
    def notices(self) -> tuple[Message, ...]:
        """Remarks on the choice of tokens."""
        return self._choice.notices

    @property
    def stopped(self) -> Message | None:
        """Why generation ends here; None if it continues."""
        generates = self._experiment.writing is not None or self._fed < self._steps
        is_cut = generates and self._fed >= self._experiment.n_queries
        return self._choice.stopped or (self._choice.failure if is_cut else None)

    def feed(self) -> list[DecodeStep]:
        """Compute the next token, or the rest of the prefill; steps of an earlier decoding are reused."""
        started = time.perf_counter()
        index, (tokens, x) = self._fed, self._next()
        old = self._reused(index, x[:1])
        made = [old] if old else self._made(index, x)
        chosen = []
        for token, sites in zip(tokens[: len(made)], made, strict=True):
            self._choice.after(self._fed, token, next(reversed(sites.values())))
            chosen.append((token, None if self._choice.next is None else self.names[self._choice.next]))
            self._fed += 1
        self._engine.synchronise()
        seconds = self._old[index].seconds if old else (time.perf_counter() - started) / len(made)
        return [
            DecodeStep(
                index=index + row,
                token=token,
                generated=index >= self._experiment.n_queries,
                next_token=next_token,
                main=sites[self._main],
                last=next(reversed(sites.values())),
                sites=sites,
                costs=self._costs,
                seconds=seconds,
                prefill=range(self._n_prefill) if index < self._n_prefill else None,
            )
            for row, (sites, (token, next_token)) in enumerate(zip(made, chosen, strict=True))
        ]

    def _next(self) -> tuple[tuple[str, ...], Array]:
        """The tokens that come next, and their vectors (token, d_model): those of the document,
        or the chosen one.
        """
        given = self._experiment
        if self._fed < given.n_queries:
            part = slice(self._fed, max(self._fed + 1, self._n_prefill))
            return given.tokens[part], self._x[part]
        chosen = self._choice.next
        assert chosen is not None  # decoding ends where no token can be sampled
        self._generated.append(chosen)
        return (self.names[chosen],), self._engine.asarray(self._known(chosen))

    def _made(self, index: int, x: Array) -> list[dict[str, SiteStep]]:
        """The way through all sites of the tokens from `index` on, (token, d_model)."""
        if self._old and index:
            for site in self.sites:  # of the last step in common: the ones before it may be older still
                site.take_over(self._old[index - 1].site(site.name).cache, index)
        self._old = ()
        positions, begin = np.arange(index, index + x.shape[0]), 0 if index < self._n_prefill else index
        vectors, found, results = x, {}, dict[str, Array]()
        part = progress_of(self._check).part(index / self._steps, (index + len(positions)) / self._steps)
        for number, site in enumerate(self.sites):
            # One token is quick: it needs no progress.
            check = part.step(number, len(self.sites)) if len(positions) > 1 else self._check
            stage, x = ("layer_input", results[site.reads]) if site.reads else ("tokens_embedded", vectors)
            fed = site.feed(stage, x, positions, begin, check)
            found[site.name], results[site.name] = fed.steps, fed.result
        return [dict(zip(found, steps, strict=True)) for steps in zip(*found.values(), strict=True)]

    def _reused(self, index: int, x: Array) -> dict[str, SiteStep]:
        """The sites of the earlier step with the same token after the same ones, if any."""
        if index >= len(self._old) or not self._is_same_pass(index):
            return {}
        old = self._old[index].sites
        first = next(iter(old.values()))
        fed = first.features.tf["tokens_embedded"][first.row : first.row + 1]
        if not np.array_equal(self._engine.to_numpy(fed), self._engine.to_numpy(x)):
            return {}
        self.reused += 1
        held = max(index + 1, self._n_prefill)
        old = {name: step.holding(held) for name, step in old.items()}
        if self._experiment.readout == "vocabulary":
            return old
        # By similarity, the read-out covers all existing tokens, which were others at that step.
        *_before, last = old
        return old | {last: self.sites[-1].read_out_again(old[last])}

    def _is_same_pass(self, index: int) -> bool:
        """True if a pass that counts its positions anew would count those of the earlier step."""
        writing = self._experiment.writing
        restarts = writing is not None and writing.cache.restarts
        return not restarts or (self._old[index].prefill is None) == (index >= self._n_prefill)

    def experiment(self) -> Experiment:
        """The experiment with the generated tokens behind the document's."""
        if not self._generated:
            return self._experiment
        vectors = vectors_array(self._experiment.vectors)
        more = [self._known(token) for token in self._generated]
        return replace(
            self._experiment,
            tokens=(*self._experiment.tokens, *(self.names[token] for token in self._generated)),
            vectors=ExplicitVectors(Matrix(np.concatenate((vectors, *more)))),
        )


def spreads_nan(engine: Engine, steps: list[DecodeStep]) -> bool:
    """True if values of later positions are not finite: a full pass multiplies them by weights of 0.

    The values of every step count, cached or evicted, computed or reused.
    """
    for name, site in steps[0].sites.items():
        if site.experiment.memory is None and not engine.xp.all(
            engine.xp.isfinite(_later_values(engine, [step.sites[name] for step in steps]))
        ):
            return True
    return False


def _later_values(engine: Engine, steps: list[SiteStep]) -> Array:
    """The values of all steps but the first, (g, position, d)."""
    last: dict[int, tuple[Array, int]] = {}
    for step in steps:
        last[id(step.features)] = step.features.value(), step.row  # rows of one pass ascend
    parts = [values[:, : row + 1, :] for values, row in last.values()]
    return engine.xp.concat(parts, axis=1)[:, 1:, :]


def _table_reason(experiment: Experiment, fed: int) -> Message | None:
    """Why generation ends at the end of a learned table; None if it does not."""
    is_at_end = experiment.writing is not None and fed == table_end(experiment)
    return Message("the position table ends here") if is_at_end else None


def _known_vectors(experiment: Experiment) -> Callable[[int], Numbers]:
    """The vector of a token that can be written, (1, d_model), by its number."""
    known = experiment.vocabulary
    if experiment.readout == "vocabulary" and known is not None:
        embedding, scale = known.embedding, known.embedding_scale
        return lambda token: in_float64(embedding.rows(slice(token, token + 1))) * scale
    vectors, rows = vectors_array(experiment.vectors), vocabulary(experiment)[1]
    return lambda token: vectors[rows[token] : rows[token] + 1] + 0.0


def _read_only(engine: Engine, array: Array) -> Numbers:
    with engine.active():
        found = engine.to_numpy(array)[...]
    found.setflags(write=False)
    return found
