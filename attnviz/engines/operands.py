"""Operands of a site for a run: arrays in the engine's precision and on its device, and derived values.

`resolution` resolves them from a site, once; all stages, a decoding step and a window read nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.in_file import InFile
from attnviz.engines.sight import Masks
from attnviz.operations.operation import Operation
from attnviz.operations.products import Mixture

Ints = NDArray[np.int64]
Matrix = Any
"""A matrix (in, out): an array, or an `InFile`, which brings it in where it is used."""


@dataclass(frozen=True, eq=False)
class FeedForward:
    activation: str


@dataclass(frozen=True, eq=False)
class Block:
    """The parts around an attention; `placement` is that of the norms.

    `drops` make the stages of their names.
    """

    placement: str
    residual: bool
    feed_forward: FeedForward | None
    residual_scale: float
    drops: Mapping[str, Operation]


@dataclass(frozen=True, eq=False)
class Transform:
    """The transform between the output and the vocabulary's matrix."""

    activation: str


@dataclass(frozen=True, eq=False)
class Readout:
    """Read-out to logits, `cap` · tanh(`scale` · (x W + b) / `cap`), perhaps of a transform of the output.

    Probabilities follow with the operation `distribution`.
    """

    transform: Transform | None
    logits: Matrix
    bias: Array | None
    distribution: Operation | None
    scale: float = 1.0
    cap: float | None = None

    @property
    def matrix(self) -> Array | None:
        """The matrix as a whole."""
        return self.logits() if isinstance(self.logits, InFile) else self.logits


@dataclass(frozen=True, eq=False)
class Scoring:
    """The functions from queries and keys to weights; `stages` are the score-shaped ones, in order.

    Queries are numbered from 0 in all of them; the offset of their positions is inside.
    `operations` make the stages of their names. `spares_keys`: a blocked key has the weight 0
    whatever its score.
    """

    stages: tuple[str, ...]
    n_kv_heads: int
    group_size: int
    operations: Mapping[str, Operation]
    masks: Masks
    spares_keys: bool
    mixture: Mixture

    @cached_property
    def growth(self) -> float:
        """The largest ratio of a score before the normaliser to a product of q and k; infinite or NaN if
        something is added.
        """
        return math.prod(self.operations[stage].growth for stage in self.to_weights[:-1])

    @property
    def factor(self) -> float | None:
        """The number that products of q and k are multiplied by before all else, if they are."""
        return self.operations[self.stages[1]].multiplier

    @cached_property
    def to_weights(self) -> tuple[str, ...]:
        """The stages up to the normalised scores, which a run stores; the last one is theirs."""
        stored = next(stage for stage in self.stages if self.operations[stage].statistics)
        return self.stages[: self.stages.index(stored) + 1]

    @cached_property
    def behind(self) -> tuple[str, ...]:
        """The stages that change the weights before these mix values."""
        return self.stages[len(self.to_weights) :]

    @cached_property
    def joins_heads(self) -> bool:
        """True if one of them reads other heads, so that all tiles come before it."""
        return any(self.operations[stage].reach == "heads" for stage in self.behind)


@dataclass(frozen=True, eq=False)
class Operands:
    """All of one site, in data-flow order.

    `vectors` (token, d_model) exist if the site begins a stack, `memory` (key, d_keys) if it reads one;
    `added` returns the rows of an additive position; `temper` multiplies queries.
    `operations` make the stages of their names. `rows` are their weights of one row and `matrices` those of
    more, by path in the document; an identity has none.
    """

    vectors: Array | None
    added: Callable[[Ints], NDArray[np.float64]] | None
    memory: Array | None
    rotations: Mapping[str, Operation]
    temper: Operation | None
    scoring: Scoring
    block: Block | None
    readout: Readout | None
    operations: Mapping[str, Operation]
    rows: Mapping[str, Array]
    matrices: Mapping[str, Matrix]

    def matrix(self, path: str) -> Array | None:
        """A matrix as a whole; None for an identity. One that lies in a file is brought in."""
        found = self.matrices.get(path)
        return found() if isinstance(found, InFile) else found
