"""One decoding step without a cache: a pass over all tokens so far, run and timed separately.

A time taken during generation includes everything else the machine did then. The step is therefore repeated
with its cache beside the pass, so that both times are measured at the same moment.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.compute.execute import execute, execute_decoding
from attnviz.core.progress import progress_of
from attnviz.engines.decode.decodable import up_to
from attnviz.engines.decode.run import Decoding
from attnviz.engines.program import Check
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import SiteTrace

Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class UncachedStep:
    """Step `index` without a cache: `seconds` for the whole pass, including an encoder and all logits.

    `cached_seconds` is the time of the step, or of the prefill that ends with it, with the cache of those
    before, which is copied first (NaN if it cannot be reused). `outputs` are the last token's rows of every
    site, (d_model,), read-only.
    """

    index: int
    seconds: float
    cached_seconds: float
    outputs: dict[str, Numbers]


def uncached_step(decoding: Decoding, index: int, check: Check, reserve: int) -> UncachedStep:
    """Run the tokens up to step `index` in one pass, on the engine and in the dtype of the decoding.

    Raises what `execute` raises.
    """
    experiment = replace(up_to(decoding.experiment, index + 1), dtype=decoding.dtype)
    progress, began = progress_of(check), time.perf_counter()
    whole, steps = progress.part(0.0, 0.5), progress.part(0.5, 1.0)
    trace = execute(experiment, decoding.engine, decoding.device, check=whole, reserve=reserve)
    seconds = time.perf_counter() - began
    cached = _cached_seconds(decoding, experiment, steps, reserve)
    outputs = {name: _last_row(trace.site(name)) for name in decoding.steps[index].sites}
    return UncachedStep(index, seconds, cached, outputs)


def _cached_seconds(decoding: Decoding, experiment: Experiment, check: Check, reserve: int) -> float:
    """The last step of `experiment` with the cache of those before it, or its whole prefill."""
    count = experiment.n_queries
    before = count - 1 if decoding.steps[count - 1].prefill is None else 0
    earlier = dataclasses.replace(decoding, steps=decoding.steps[:before])
    where = decoding.engine, decoding.device
    decoded = execute_decoding(experiment, count, *where, check=check, reserve=reserve, earlier=earlier)
    return sum(step.seconds for step in decoded.steps[before:]) if decoded.reused == before else math.nan


def _last_row(site: SiteTrace) -> Numbers:
    # a copy instead of a view releases the other rows
    #
    row: Numbers = site.window("attention_output")[-1].copy()
    row.setflags(write=False)
    return row
