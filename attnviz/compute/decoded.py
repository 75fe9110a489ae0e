"""A cached decoding together with its proof: the full pass of the same tokens, compared stage by stage."""

from __future__ import annotations

import time
from dataclasses import dataclass

from attnviz.compute.execute import execute, execute_decoding
from attnviz.engines.decode import Decoding, parity
from attnviz.engines.program import Check
from attnviz.model.experiment import Experiment


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoding, the greatest absolute difference of each stage from a full pass, and the seconds."""

    decoding: Decoding
    differences: dict[str, float]
    seconds: float

    @property
    def worst(self) -> float:
        """The greatest difference of all stages."""
        return max(self.differences.values(), default=0.0)


def decode_and_compare(
    experiment: Experiment, engine: str, device: str, check: Check, reserve: int
) -> Decoded:
    """Decode the document's tokens with a cache, run them in one pass, and compare; see `execute`."""
    started = time.perf_counter()
    decoding = execute_decoding(experiment, None, engine, device, check=check, reserve=reserve)
    full = execute(decoding.experiment, engine, device, check=check, reserve=reserve)
    differences = parity(decoding, full)
    return Decoded(decoding, differences, time.perf_counter() - started)
