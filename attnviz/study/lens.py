"""The logit lens: the read-out of the model applied to what each layer leaves in the residual stream.

nostalgebraist 2020, "interpreting GPT: the logit lens". After the last layer it is the model's own answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.progress import progress_of
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.program import Check, never_cancelled
from attnviz.engines.resolution import operands_of
from attnviz.engines.run import SiteRun
from attnviz.engines.steps import add, of
from attnviz.model.sites.sites import at, path_to
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import result_of
from attnviz.study.passes import Passes, experiment_of, on_engine
from attnviz.study.target import Target

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROWS = 64
"""Rows of logits that are held at a time: a vocabulary may have hundreds of thousands of tokens."""


@dataclass(frozen=True, eq=False)
class Lens:
    """The answer of each layer.

    `sites` are the rows. `tokens` (layer, token, top) are the columns of the most probable tokens in
    `vocabulary`, and `probabilities` theirs; `logits` and `ranks` (layer, token) are those of the target,
    with rank 1 the first. `ranks` and `logits` are empty without a target.
    """

    sites: tuple[str, ...]
    vocabulary: tuple[str, ...]
    tokens: Ints
    probabilities: Floats
    logits: Floats
    ranks: Ints


def logit_lens(
    given: Experiment | Document,
    target: Target | None = None,
    *,
    norm: bool = True,
    top: int = 5,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Lens:
    """Read every layer's result out to logits, with the model's last norm or without it.

    Encoder layers are left out. Raises `FieldError` for a model without logits, or an unknown target.
    """

    def job(engine: Engine) -> Lens:
        passes = Passes(engine, experiment_of(given), check)
        last = passes.traces[-1]
        column = (target or Target(last.labels("vocabulary")[0])).columns(last)[0]
        progress = progress_of(check)
        path = path_to(passes.experiment, passes.base[-1].place.name)
        own = [site for site in passes.base if site.place.name in path]
        readings = []
        for index, site in enumerate(own):
            progress.at(index / len(own))
            readings.append(_read(engine, passes, site, norm, column, top))
        sites = tuple(site.place.name for site in own)
        tokens, probabilities, logits, ranks = (np.stack(parts) for parts in zip(*readings, strict=True))
        if target is None:
            logits, ranks = np.empty((0, 0)), np.empty((0, 0), dtype=np.int64)
        return Lens(sites, last.labels("vocabulary"), tokens, probabilities, logits, ranks)

    return on_engine(given, job, engine, device)


def _read(
    engine: Engine, passes: Passes, site: SiteRun, norm: bool, column: int, top: int
) -> tuple[Ints, Floats, Floats, Ints]:
    """Top tokens of a site's result, their probabilities, the target's logits and ranks; rows by rows."""
    last = passes.base[-1]
    operands = operands_of(engine, passes.experiment, at(passes.experiment, last.place.name))
    present = tuple(stage for stage in site.features.order if stage != "output")
    x = site.features.tf[result_of(present)]
    if norm and "output" in operands.operations:
        x = of(engine, operands, "output", x)
    parts = [
        _ranked(_logits(engine, operands, x[first : first + ROWS]), column, top)
        for first in range(0, x.shape[0], ROWS)
    ]
    tokens, probabilities, logits, ranks = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    return tokens, probabilities, logits, ranks


def _logits(engine: Engine, operands: Operands, x: Array) -> Floats:
    """The logits (token, vocabulary) of rows of the residual stream."""
    features = Features()
    features.add("output", x)
    add(engine, operands, features, operands.read_out, np.arange(x.shape[0]))
    return np.asarray(engine.to_numpy(features.tf["logits"]), dtype=np.float64)


def _ranked(numbers: Floats, column: int, top: int) -> tuple[Ints, Floats, Floats, Ints]:
    """The first tokens, their probabilities, the target's logits and ranks, of some rows of logits."""
    top = min(top, numbers.shape[1])
    first = np.argpartition(-numbers, top - 1, axis=1)[:, :top]
    best = np.take_along_axis(numbers, first, axis=1)
    order = np.take_along_axis(first, np.argsort(-best, axis=1, kind="stable"), axis=1)
    shares = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    shares = np.take_along_axis(shares, order, axis=1) / shares.sum(axis=1, keepdims=True)
    ranks = 1 + (numbers > numbers[:, column : column + 1]).sum(axis=1)
    return order, shares, numbers[:, column], ranks
