"""The steps of a pass that make stages of tokens and heads, each by its operation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.in_file import InFile
from attnviz.engines.operands import Operands, Steps
from attnviz.engines.product import by_file, product
from attnviz.model.stages import STAGE_BY_ID, inputs

Ints = NDArray[np.int64]


class Step:
    """The reads of an operation in a pass: those of `stage`, of one stage after the other."""

    __slots__ = ("arrays", "counted", "features", "operands", "stage")

    def __init__(self, engine: Engine, operands: Operands, features: Features, counted: Ints) -> None:
        self.arrays, self.operands, self.features, self.counted = engine, operands, features, counted
        self.stage = ""

    def input(self, place: int = 0) -> Array:
        """The numbers of input `place`: (token, feature) or (g[, r], …)."""
        features = self.features
        stage = inputs(self.stage, tuple(features.order))[place]
        return features.tf[stage] if stage in features.tf else features.heads[stage]

    def row(self, path: str) -> Array:
        """A weight that is one row: a gain, a bias."""
        return self.operands.rows[path]

    def times(self, x: Array, path: str) -> Array:
        """x (token, in) times a matrix (in, out); x itself where it is an identity."""
        matrices = self.operands.matrices
        if path not in matrices:
            return x
        by = matrices[path]
        return by_file(self.arrays, x, by) if type(by) is InFile else product(self.arrays, x, by)

    def token_positions(self) -> Ints:
        """Numbers of the tokens in the whole text."""
        positions = self.features.positions
        assert positions is not None
        return positions


def add(engine: Engine, operands: Operands, features: Features, steps: Steps, counted: Ints) -> None:
    """Add the stages of some steps; `counted` are the positions (token,) as their encoding counts them."""
    step = Step(engine, operands, features, counted)
    for stage, operation in steps:
        step.stage = stage
        features.add(stage, operation.result(step))


def of(engine: Engine, operands: Operands, stage: str, x: Array) -> Array:
    """The numbers of a stage from those of its input (token, feature)."""
    features = Features()
    features.add(STAGE_BY_ID[stage].reads[0][0], x)
    add(engine, operands, features, operands.steps(stage), np.arange(x.shape[0]))
    return features.tf[stage]
