"""The subject of a computation in the worker: an experiment, and the engine that computes."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace


@dataclass(frozen=True)
class Subject:
    """Equal subjects have equal numbers."""

    experiment: Experiment
    engine: str
    device: str

    @classmethod
    def of(cls, trace: Trace) -> Subject:
        """That of the present numbers, so that others beside them come from the same engine."""
        return cls(trace.experiment, trace.engine, trace.device)
