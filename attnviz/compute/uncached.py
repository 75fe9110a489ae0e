"""One decoding step as it is without a cache: a pass over all tokens so far, made and measured by itself."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.compute.execute import execute
from attnviz.engines.decodable import at_length
from attnviz.engines.decode import Decoding
from attnviz.engines.program import Check
from attnviz.model.edits import permute_tokens
from attnviz.model.experiment import Experiment
from attnviz.model.trace import SiteTrace

Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class UncachedStep:
    """Step `index` without a cache, measured: `seconds` for the whole pass, an encoder's and the logits of
    all tokens included. `outputs` are the last token's rows of every site, (d_model,), read-only."""

    index: int
    seconds: float
    outputs: dict[str, Numbers]


def uncached_step(decoding: Decoding, index: int, check: Check, reserve: int) -> UncachedStep:
    """Run the tokens up to step `index` in one pass, on the engine and in the dtype of the decoding.

    Raises what `execute` raises.
    """
    experiment = up_to(decoding.experiment, index + 1)
    experiment = replace(experiment, dtype=decoding.dtype)
    began = time.perf_counter()
    trace = execute(experiment, decoding.engine, decoding.device, check=check, reserve=reserve)
    seconds = time.perf_counter() - began
    return UncachedStep(
        index, seconds, {name: _last_row(trace.site(name)) for name in decoding.steps[0].sites}
    )


def up_to(experiment: Experiment, length: int) -> Experiment:
    """The first `length` tokens alone, turned as they are in the whole text."""
    shorter = permute_tokens(experiment, tuple(range(length)))
    return at_length(shorter, experiment.n_queries)


def _last_row(site: SiteTrace) -> Numbers:
    row: Numbers = site.window("attention_output")[-1].copy()  # no view: the other rows are let go
    row.setflags(write=False)
    return row
