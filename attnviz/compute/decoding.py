"""A cached decoding together with its proof: the full pass of the same tokens, compared stage by stage."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from attnviz.compute.estimate import estimate
from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.storage import StepErrors, StoredRows, attention_given_up, step_errors, stored_rows
from attnviz.core.progress import progress_of
from attnviz.engines.decode.run import ITEMSIZE, Decoding
from attnviz.engines.parity import compared
from attnviz.engines.program import Check, scale_factor
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import as_read
from attnviz.model.trace import SiteTrace, Trace

Numbers = NDArray[Any]

AS_PROJECTED = ("tokens_embedded", "x", "q", "k", "v", "q_rotated", "k_rotated", "v_rotated")
"""Stages of the first site that only sums and products lead to: their rounding is that of their numbers."""

SCORES = ("scores", "relative", "scaled", "capped", "biased", "masked")
"""Stages whose rounding is that of the vectors that are multiplied, however small the sum comes out."""

KEPT_BYTES = 256 * 1024**2
"""Largest full pass that is kept beside the decoding it was compared with."""

SHARES = (0.0, 0.5, 0.65, 0.9, 1.0)
"""Where the steps, the full pass, their comparison and the reading of the cache begin and end, about."""

MOST_LATER = 1e-3
"""What is further apart than this, relative to its stage, is different however large the scores are."""


@dataclass(frozen=True, eq=False)
class FullRows:
    """What a pass without a cache makes of every token at one site; arrays are read-only.

    `keys`, `values` (kv_head, token, d) as the scores and the mixture read them, `output` (token, d_model).
    `given_up` (head, token) is the share of each row's weights on positions that the cache had no more then.
    """

    keys: Numbers
    values: Numbers
    output: Numbers
    given_up: Numbers


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoding, the greatest absolute difference of each stage from a full pass, and the seconds.

    Stages are named with their site where there are several. `sizes` are their largest finite numbers,
    `scores` is the bound |q|·|k| of the scores of all sites: what rounding is to be measured by.
    """

    decoding: Decoding
    differences: dict[str, float]
    seconds: float
    sizes: dict[str, float]
    scores: float
    full: dict[str, FullRows] = field(default_factory=dict)
    """The rows of the full pass, for every site that takes steps."""
    full_seconds: float = math.nan
    """Measured: the full pass over all tokens, which without a cache is what the last step takes."""
    stored: dict[str, tuple[StoredRows, ...]] = field(default_factory=dict)
    """What the cache of every site reads back, beside what was put in."""
    next_errors: StepErrors | None = None
    """How far the probabilities of every step are from the full pass's."""
    undefined: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each stage with NaN in the same place of both: how many numbers are, and of how many."""
    trace: Trace | None = None
    """The full pass itself, which explains its numbers; None where it has more than `KEPT_BYTES`."""

    @property
    def worst(self) -> float:
        """The greatest difference of all stages."""
        return max(self.differences.values(), default=0.0)

    def is_equal(self, tolerance: float) -> bool:
        """True if every number is there on both sides and no difference is more than rounding."""
        return not self.undefined and self.is_within(tolerance)

    def is_within(self, tolerance: float) -> bool:
        """True if no difference is more than rounding: `tolerance` for numbers near 1, more for larger ones.

        The exponential of the softmax turns the absolute rounding of the scores into a relative one, which
        every later stage inherits, those of later sites as well.
        """
        return all(
            math.isfinite(difference) and difference <= self._allowed(stage, tolerance)
            for stage, difference in self.differences.items()
        )

    @property
    def is_undefined(self) -> bool:
        """True if all probabilities are NaN on both sides, so that nothing can be compared."""
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
        if stage in SCORES:
            return tolerance * max(self.sizes[name], self.scores, 1.0)
        return (tolerance if stage in AS_PROJECTED else later) * max(self.sizes[name], 1.0)


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
    found = compared(decoding, full, beside)
    sizes = {stage: one.size for stage, one in found.items()}
    scores = max(_score_bound(full.site(name), sizes) for name in full.sites)
    differences = {stage: one.difference for stage, one in found.items()}
    undefined = {stage: (one.undefined, one.total) for stage, one in found.items() if one.undefined}
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
    keys, values = (site[as_read(stage, site.stages)] for stage in ("k", "v"))
    return FullRows(keys, values, site["attention_output"], attention_given_up(decoding, site, check))


def _score_bound(site: SiteTrace, sizes: dict[str, float]) -> float:
    """What no score of a site exceeds: its largest numbers of q and of k, times √d each, times the scale."""
    prefix = site.name + "." if site.name + ".q" in sizes else ""
    longest = [sizes[prefix + as_read(name, site.stages)] for name in ("q", "k")]
    factor = scale_factor(site.experiment)
    return math.prod(longest) * site.shape("q")[-1] * max(1.0, abs(1.0 if factor is None else factor))
