"""A cached decoding with its proof: the full pass over the same tokens, compared stage by stage."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from attnviz.compute.estimate import estimate
from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.storage import StepErrors, StoredRows, evicted_attention, step_errors, stored_rows
from attnviz.core.progress import progress_of
from attnviz.engines.decode.run import Decoding
from attnviz.engines.engine import ITEMSIZE
from attnviz.engines.parity import compared
from attnviz.engines.program import Check
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID, as_read, kept_for_later
from attnviz.model.trace import SiteTrace, Trace

Numbers = NDArray[Any]

KEPT_BYTES = 256 * 1024**2
"""Largest full pass that is kept beside its decoding."""

SHARES = (0.0, 0.5, 0.65, 0.9, 1.0)
"""Approximate start and end of the steps, the full pass, their comparison and the reading of the cache."""

TOLERANCE = {"float64": 1e-12, "float32": 1e-4, "float16": 3e-2, "bfloat16": 2e-1}
"""Differences below this are rounding of the dtype, for numbers near 1."""

MOST_LATER = 1e-3
"""A relative difference above this counts as different, however large the scores are."""


@dataclass(frozen=True, eq=False)
class FullRows:
    """Results of a pass without a cache for every token at one site; arrays are read-only.

    `keys`, `values` (kv_head, token, d) as the scores and the mixture read them, `output` (token, d_model).
    `given_up` (head, token) is the share of each row's weights on positions that the cache had evicted by
    then.
    """

    keys: Numbers
    values: Numbers
    output: Numbers
    given_up: Numbers


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoding, the greatest absolute difference of each stage from a full pass, and the seconds.

    With several sites, stages are named with theirs. `sizes` are their largest finite numbers,
    `scores` is the bound |q|·|k| of the scores of all sites: the reference for rounding errors.
    """

    given: Experiment
    """The document's experiment, without the changes and the tokens of the decoding."""
    decoding: Decoding
    differences: dict[str, float]
    seconds: float
    sizes: dict[str, float]
    scores: float
    full: dict[str, FullRows] = field(default_factory=dict)
    """The rows of the full pass, for every site that decodes step by step."""
    full_seconds: float = math.nan
    """Measured: the full pass over all tokens, which is the last step without a cache."""
    stored: dict[str, tuple[StoredRows, ...]] = field(default_factory=dict)
    """Rows that the cache of every site reads back, beside the appended rows."""
    next_errors: StepErrors | None = None
    """Difference between the probabilities of every step and those of the full pass."""
    undefined: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each stage with NaN at equal places of both: the number of NaN, and the number of all."""
    trace: Trace | None = None
    """The full pass itself, which explains its numbers; None if it exceeds `KEPT_BYTES`."""

    @property
    def worst(self) -> float:
        """The greatest difference of all stages."""
        return max(self.differences.values(), default=0.0)

    @property
    def is_equal(self) -> bool:
        """True if both sides have every number and no difference exceeds rounding."""
        return not self.undefined and self.is_within

    @property
    def is_within(self) -> bool:
        """True if no difference exceeds rounding."""
        return self.first_beyond is None

    @property
    def first_beyond(self) -> str | None:
        """The first stage in data-flow order whose difference exceeds rounding; None without one.

        `TOLERANCE` is for numbers near 1; larger ones may differ by more. The exponential of the softmax
        turns the absolute rounding of the scores into a relative one, which every later stage inherits,
        including those of later sites.
        """
        tolerance = TOLERANCE[self.decoding.dtype]
        return next(
            (
                name
                for name, difference in self.differences.items()
                if not (math.isfinite(difference) and difference <= self._allowed(name, tolerance))
            ),
            None,
        )

    @property
    def is_undefined(self) -> bool:
        """True if all probabilities are NaN on both sides, so that a comparison is impossible."""
        return any(
            count == total
            for name, (count, total) in self.undefined.items()
            if name.rpartition(".")[2] == "probabilities"
        )

    def _allowed(self, name: str, tolerance: float) -> float:
        site, _dot, stage = name.rpartition(".")
        later = max(min(tolerance * self.scores, MOST_LATER), tolerance)
        if site not in ("", next(iter(self.decoding.steps[0].sites))):
            return later * max(self.sizes[name], 1.0)
        row = STAGE_BY_ID[stage]
        if row.phase == "scores":  # relative to the multiplied vectors, however small the sum is
            return tolerance * max(self.sizes[name], self.scores, 1.0)
        # sums and products alone, before the softmax: relative to their own numbers
        as_projected = row.phase in ("input", "heads") and not row.made_by.statistics
        return (tolerance if as_projected else later) * max(self.sizes[name], 1.0)


def decode_and_compare(
    experiment: Experiment,
    engine: str,
    device: str,
    check: Check,
    reserve: int,
    earlier: Decoding | None = None,
) -> Decoded:
    """Decode the document with a cache, run all its tokens in one pass, and compare; see `execute`."""
    started, progress = time.perf_counter(), progress_of(check)
    steps, whole, beside, read = (progress.part(start, end) for start, end in itertools.pairwise(SHARES))
    decoding = execute_decoding(
        experiment, None, engine, device, check=steps, reserve=reserve, earlier=earlier
    )
    began = time.perf_counter()
    full = execute(decoding.experiment, engine, device, check=whole, reserve=reserve)
    full_seconds = time.perf_counter() - began
    comparison = compared(decoding, full, beside)
    sizes = {stage: one.size for stage, one in comparison.items()}
    scores = max(_score_bound(full.site(name), sizes) for name in full.sites)
    differences = {stage: one.difference for stage, one in comparison.items()}
    undefined = {stage: (one.undefined, one.total) for stage, one in comparison.items() if one.undefined}
    rows, stored, names = {}, {}, tuple(decoding.steps[0].sites)
    for index, name in enumerate(names):
        read.at(index / len(names))
        rows[name] = _full_rows(decoding, full, name, read)
        stored[name] = stored_rows(decoding, name)
    last = full.site(full.sites[-1])
    probabilities = [step.probabilities for step in decoding.steps]
    next_errors = step_errors(probabilities, last["probabilities"])
    seconds = time.perf_counter() - started
    kept = full if estimate(decoding.experiment, ITEMSIZE[decoding.dtype]).bytes <= KEPT_BYTES else None
    return Decoded(
        experiment,
        decoding,
        differences,
        seconds,
        sizes,
        scores,
        full=rows,
        full_seconds=full_seconds,
        stored=stored,
        next_errors=next_errors,
        undefined=undefined,
        trace=kept,
    )


def _full_rows(decoding: Decoding, trace: Trace, name: str, check: Check) -> FullRows:
    """One site's rows of the full pass."""
    site = trace.site(name)
    keys, values = (site[as_read(stage, site.stages)] for stage in kept_for_later())
    return FullRows(keys, values, site["attention_output"], evicted_attention(decoding, site, check))


def _score_bound(site: SiteTrace, sizes: dict[str, float]) -> float:
    """Upper bound of every score of a site: its largest numbers of q and of k, times √d each, times the
    scale.
    """
    prefix = site.name + "." if site.name + ".q" in sizes else ""
    longest = [sizes[prefix + as_read(name, site.stages)] for name in ("q", "k")]
    factor = site.experiment.score_factor
    return math.prod(longest) * site.shape("q")[-1] * max(1.0, abs(1.0 if factor is None else factor))
