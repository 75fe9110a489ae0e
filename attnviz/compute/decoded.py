"""A cached decoding together with its proof: the full pass of the same tokens, compared stage by stage."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.compute.execute import execute, execute_decoding
from attnviz.engines.decode import DecodeStep, Decoding, parity
from attnviz.engines.program import Check
from attnviz.model.experiment import Experiment

BEFORE_SOFTMAX = ("x", "q", "k", "v", "q_rotated", "k_rotated", "v_rotated")

MOST_LATER = 1e-3
"""What is further apart than this, relative to its stage, is different however large the scores are."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoding, the greatest absolute difference of each stage from a full pass, and the seconds.

    `sizes` are the largest finite numbers of the stages, `scores` is the bound |q|·|k| of the raw scores:
    what rounding is to be measured by.
    """

    decoding: Decoding
    differences: dict[str, float]
    seconds: float
    sizes: dict[str, float]
    scores: float

    @property
    def worst(self) -> float:
        """The greatest difference of all stages."""
        return max(self.differences.values(), default=0.0)

    def is_equal(self, tolerance: float) -> bool:
        """Whether no difference is more than rounding: `tolerance` for numbers near 1, more for larger ones.

        The exponential of the softmax turns the absolute rounding of the scores into a relative one, which
        every later stage inherits.
        """
        later = max(min(tolerance * self.scores, MOST_LATER), tolerance)
        return all(
            difference <= (tolerance if stage in BEFORE_SOFTMAX else later) * max(self.sizes[stage], 1.0)
            for stage, difference in self.differences.items()
        )


def decode_and_compare(
    experiment: Experiment, engine: str, device: str, check: Check, reserve: int
) -> Decoded:
    """Decode the document's tokens with a cache, run them in one pass, and compare; see `execute`."""
    started = time.perf_counter()
    decoding = execute_decoding(experiment, None, engine, device, check=check, reserve=reserve)
    full = execute(decoding.experiment, engine, device, check=check, reserve=reserve)
    differences = parity(decoding, full)
    sizes = {stage: _largest(decoding, stage) for stage in differences}
    scores = _longest(decoding, "q") * _longest(decoding, "k")
    return Decoded(decoding, differences, time.perf_counter() - started, sizes, scores)


def _largest(decoding: Decoding, stage: str) -> float:
    return max(float(np.max(_finite(step, stage), initial=0.0)) for step in decoding.steps)


def _longest(decoding: Decoding, stage: str) -> float:
    """The length of the longest vector of `stage`, a bound: its largest number times √d."""
    vectors = getattr(decoding.steps[0], stage)
    return 0.0 if vectors is None else _largest(decoding, stage) * math.sqrt(vectors.shape[-1])


def _finite(step: DecodeStep, stage: str) -> NDArray[np.float64]:
    values = getattr(step, stage)
    sizes = np.abs(np.zeros(0) if values is None else values.astype(np.float64))
    return np.where(np.isfinite(sizes), sizes, 0.0)
