"""A full pass: run the program on an engine and store its stages as a trace."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.progress import progress_of
from attnviz.engines import program, projecting
from attnviz.engines.empty_rows import empty_rows_notice
from attnviz.engines.engine import Engine, all_finite
from attnviz.engines.features import Features
from attnviz.engines.finite import range_notice
from attnviz.engines.operands import Operands, Scoring
from attnviz.engines.patches import Patch, SitePatches, patches_of, unused_edits
from attnviz.engines.program import Attended, Check, Scores
from attnviz.engines.resolution import operands_of
from attnviz.engines.windows import ScoreWindows
from attnviz.errors import Message
from attnviz.model.keep_mask import added_keep_masks
from attnviz.model.sites.sites import sites as sites_
from attnviz.model.spec.conversions import CONVERSIONS
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Inputs, Place, Site
from attnviz.model.stages import STAGE_BY_ID, inputs, result_of
from attnviz.model.trace import ANY_CELLS, Origin, SiteTrace, Trace
from attnviz.operations.operation import Block


def run(
    engine: Engine,
    experiment: Experiment,
    check: Check = program.never_cancelled,
    notices: tuple[Message, ...] = (),
) -> Trace:
    """Run `experiment`; `check` is called between stages and may raise to stop the run.

    The engine's dtype counts, not the experiment's: a caller that chooses another adds a notice to `notices`.
    """
    started = time.perf_counter()
    with engine.active():
        made = sites_of(engine, experiment, check)
        engine.synchronise()
        is_finite = all(map(SiteRun.is_finite, made))
    notices = (*notices, *unused_edits(experiment), *added_keep_masks(experiment))
    trace = trace_of(engine, experiment, made, time.perf_counter() - started, notices, is_finite)
    empty = empty_rows_notice(trace)
    return trace if empty is None else trace.noticed(empty)


def sites_of(
    engine: Engine,
    experiment: Experiment,
    check: Check = program.never_cancelled,
    patches: Sequence[Patch] = (),
    kept: Sequence[SiteRun] = (),
) -> tuple[SiteRun, ...]:
    """The sites of a pass with `patches`, in data-flow order; the first ones are `kept` from another pass."""
    made: dict[str, SiteRun] = {}
    progress, standing = progress_of(check), sites_(experiment).values()
    for index, site in enumerate(standing):
        progress.at(index / len(standing))
        if index < len(kept):
            made[site.place.name] = kept[index]
        else:
            part = progress.step(index, len(standing))
            made[site.place.name] = _site_run(engine, experiment, site, made, part, patches)
    return tuple(made.values())


def last_sites(
    engine: Engine,
    experiment: Experiment,
    base: Sequence[SiteRun],
    variants: Sequence[Patch],
    check: Check = program.never_cancelled,
) -> Iterator[SiteRun]:
    """The last site of the pass with each patch alone; what precedes the patch is that of `base`.

    All variants pass through one site before any passes through the next: the weights of a site are read, and
    converted where they lie in a file, once for all of them. Of a pass only what a later site reads is kept.
    """
    progress, standing = progress_of(check), list(sites_(experiment).values())
    starts = {site.place.name: index for index, site in enumerate(standing)}
    passing: list[dict[str, Passed]] = [{} for _patch in variants]
    for index, site in enumerate(standing):
        read = {
            name for later in standing[index + 1 :] for name in (later.inputs.tokens, later.inputs.memory)
        }
        is_last, part = index == len(standing) - 1, progress.step(index, len(standing))
        with (engine.on_device or CONVERSIONS).held():
            for number, (patch, one) in enumerate(zip(variants, passing, strict=True)):
                part.at(number / len(variants))
                if index < starts[patch.site]:
                    made = base[index]
                else:
                    made = _site_run(engine, experiment, site, one, program.never_cancelled, (patch,))
                if is_last:
                    yield made
                    continue
                one[made.place.name] = Passed(made.origin, made.result)
                for name in one.keys() - read:
                    del one[name]


class Passed(NamedTuple):
    """A site of which the result alone is kept."""

    origin: Origin
    result: Array


def trace_of(
    engine: Engine,
    experiment: Experiment,
    made: Sequence[SiteRun],
    seconds: float,
    notices: tuple[Message, ...] = (),
    is_finite: bool = True,
) -> Trace:
    """The trace of a pass; a notice says where its numbers stop being finite."""
    sites = tuple(site.trace for site in made)
    where = {"engine": engine.name, "device": engine.device}
    trace = Trace(experiment, sites, **where, seconds=seconds, notices=notices)
    notice = None if is_finite else range_notice(trace, engine.dtype)
    return trace.noticed(notice) if notice else trace


def _site_run(
    engine: Engine,
    experiment: Experiment,
    site: Site,
    others: Mapping[str, SiteRun] | Mapping[str, Passed],
    check: Check,
    patches: Sequence[Patch],
) -> SiteRun:
    """One site; `others` are those that it reads, by their names."""
    operands, reads = operands_of(engine, experiment, site), site.inputs
    x = others[reads.tokens].result if reads.tokens else None
    encoded = others[reads.memory].result if reads.memory else None
    own = patches_of(site) + [patch for patch in patches if patch.site == site.place.name]
    made = forward(engine, operands, x, encoded, check, SitePatches(engine, own) if own else None)
    return SiteRun(engine, operands.scoring, site, made, _origins(reads, others))


class SiteRun(NamedTuple):
    """Stages of one site."""

    engine: Engine
    scoring: Scoring
    site: Site
    made: Forward
    given: dict[str, Origin]

    @property
    def place(self) -> Place:
        """The place of the site in its stack."""
        return self.site.place

    @property
    def features(self) -> Features:
        """The stages of tokens and heads."""
        return self.made.features

    @property
    def result(self) -> Array:
        """The input of the next site, (token, d_model)."""
        return self.features.tf[self.origin.stage]

    @property
    def origin(self) -> Origin:
        """The stage that `result` is."""
        return Origin(self.place.name, result_of(tuple(self.features.order)))

    def is_finite(self) -> bool:
        """True if the attention's output is finite, and so are all its operands."""
        return all_finite(self.engine, self.made.features.tf["attention_output"])

    @property
    def trace(self) -> SiteTrace:
        return SiteTrace(self.place.name, self.site, self.source, self.given)

    @property
    def source(self) -> HeldStages:
        """The source of the trace's numbers."""
        return HeldStages(self.engine, self.scoring, self.made)


def _origins(reads: Inputs, others: Mapping[str, SiteRun] | Mapping[str, Passed]) -> dict[str, Origin]:
    """The stages of other sites that a site reads."""
    given = {}
    if reads.tokens:
        given["layer_input"] = others[reads.tokens].origin
        given["tokens_embedded"] = Origin(reads.embedded, "tokens_embedded")
    if reads.memory:
        given["memory"] = others[reads.memory].origin
    return given


class Forward(NamedTuple):
    """The stages of a pass through one site; `replaced` has patched ones before the softmax, (g, r, q, k).

    `patches` are those of the site, with the numbers that stood in the patched stages.
    """

    features: Features
    attended: Attended
    scores: Scores
    replaced: Mapping[str, Array] = MappingProxyType({})
    patches: SitePatches | None = None


def forward(
    engine: Engine,
    operands: Operands,
    x: Array | None,
    memory: Array | None,
    check: Check,
    patches: SitePatches | None = None,
) -> Forward:
    """All stages of a full pass through one site, on the engine.

    `x` is the output of the site that it reads, (token, d_model); None: it begins with the token vectors.
    `memory` is another site's output; None: a site that reads a memory reads its vectors unchanged.
    """
    stage, x = ("tokens_embedded", operands.vectors) if x is None else ("layer_input", x)
    assert x is not None  # a site that reads no other begins with vectors
    q_positions = program.positions(x.shape[0])
    features = projecting.enter(engine, operands, stage, x, q_positions, patches)
    k_positions = q_positions
    if operands.memory is not None:
        read = features.add("memory", operands.memory if memory is None else memory)
        k_positions = program.positions(read.shape[0])
    projecting.query_heads(engine, operands, features, q_positions)
    projecting.key_value_heads(engine, operands, features, k_positions)
    check()
    attended, scores = program.attend(engine, operands.scoring, features, q_positions, k_positions, check)
    check()
    if patches is None:
        program.output(engine, operands, features, attended.mixed)
        return Forward(features, attended, scores)
    attended, replaced = patches.attend(operands.scoring, features, attended, scores)
    program.output(engine, operands, features, attended.mixed)
    return Forward(features, attended, scores, replaced, patches)


class HeldStages:
    """The arrays of one run on the engine; windows are read or computed on demand."""

    most_cells = ANY_CELLS

    def __init__(self, engine: Engine, scoring: Scoring, made: Forward) -> None:
        self._engine, self._scoring, self._replaced = engine, scoring, made.replaced
        self._features, self._attended, self._scores = made.features, made.attended, made.scores
        self.stages = tuple(made.features.order)

    @cached_property
    def _windows(self) -> ScoreWindows:
        return ScoreWindows(self._engine, self._scoring, self._scores)

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> NDArray[Any]:
        with self._engine.active():
            return self._engine.to_numpy(self._window(stage, head, rows, columns))

    def blocked(self, rows: slice, columns: slice) -> NDArray[np.bool_] | None:
        hidden = self._scores.sight.hidden
        if hidden is not None:
            return hidden[rows, columns]
        q_positions, k_positions = self._scores.positions
        return self._scoring.masks.blocked(q_positions[rows], k_positions[columns])

    def _window(self, stage: str, head: int, rows: slice, columns: slice) -> Array:
        if stage in self._features.tf:
            return self._features.tf[stage][rows, columns]
        group, member = divmod(head, self._scoring.group_size)
        if stage in self._replaced:
            return self._replaced[stage][group, member, rows, columns]
        if stage in self._features.heads:
            array = self._features.heads[stage]
            is_query = STAGE_BY_ID[stage].axes[0] == "head"
            return array[group, member, rows, columns] if is_query else array[head, rows, columns]
        if stage in self._scoring.states:
            return self._at_token(stage, head)[rows, columns]
        if stage == self._scoring.to_weights[-1]:
            return self._attended.weights[group, member, rows, columns]
        if stage in self._scoring.behind:
            return self._behind(stage, head, rows, columns)
        return self._windows.window(stage, head, rows, columns)

    def _at_token(self, stage: str, matrix: int) -> Array:
        """The matrix (row, column) of one head and token, computed from what the head reads."""
        row, n_tokens, every = STAGE_BY_ID[stage], len(self._scores.positions[0]), slice(None)
        head, token = divmod(matrix, n_tokens)
        read = tuple(
            self._window(one, self._read_by(row.axes[0], one, head), every, every)
            for one in inputs(stage, self.stages)
        )
        return self._scoring.states[stage].at_token(self._engine, read, token)

    def _read_by(self, axis: str, stage: str, head: int) -> int:
        """The head of a stage that a head of a stage with another axis of heads reads."""
        is_shared = axis == "head" and STAGE_BY_ID[stage].axes[0] == "kv_head"
        return head // self._scoring.group_size if is_shared else head

    def _behind(self, stage: str, head: int, rows: slice, columns: slice) -> Array:
        """A window of a stage behind the weights, from those of the stage before it."""
        operation, stages = self._scoring.operations[stage], self._scoring.stages
        before, heads = stages[stages.index(stage) - 1], operation.heads_with(head)
        assert heads is not None
        q_positions, k_positions = self._scores.positions
        block = Block(np.array(head), q_positions[rows], k_positions[columns])
        parts = [self._window(before, one, rows, columns) for one in heads]
        return operation.window(self._engine, parts, block)
