"""One step of a pass: a stage of tokens or heads, made by its operation."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.product import times
from attnviz.model.stages import STAGE_BY_ID, inputs


@dataclass(frozen=True)
class Step:
    """The reads of the operation that makes a stage, and its weights."""

    arrays: Engine
    operands: Operands
    features: Features
    stage: str

    def input(self, place: int = 0) -> Array:
        """The numbers of input `place`: (token, feature) or (g[, r], …)."""
        return self.features.array(inputs(self.stage, tuple(self.features.order))[place])

    def row(self, path: str) -> Array:
        """A weight that is one row: a gain, a bias."""
        return self.operands.rows[path]

    def times(self, x: Array, path: str) -> Array:
        """x (token, in) times a matrix (in, out); x itself where it is an identity."""
        return times(self.arrays, x, self.operands.matrices.get(path))


def of(engine: Engine, operands: Operands, stage: str, x: Array) -> Array:
    """The numbers of a stage from those of its input."""
    features = Features()
    features.add(STAGE_BY_ID[stage].reads[0][0], x)
    return operands.operations[stage].result(Step(engine, operands, features, stage))


def add(engine: Engine, operands: Operands, features: Features, *stages: str) -> None:
    """Add those of some stages that the site has, each made by its operation."""
    for stage in stages:
        operation = operands.operations.get(stage)
        if operation is not None:
            features.add(stage, operation.result(Step(engine, operands, features, stage)))
