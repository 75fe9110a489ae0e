"""Operands of a site for a run: arrays in the engine's precision and on its device, and derived values.

`resolution` resolves them from a site, once; all stages, a decoding step and a window read nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.in_file import InFile
from attnviz.engines.sight import Masks
from attnviz.model.stages import STAGE_BY_ID
from attnviz.operations.operation import Operation
from attnviz.operations.products import Mixture

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Linear:
    """x W + b: `matrix` (in, out), None for an identity; `bias` (out,) or (1, out), or None.

    A matrix that lies in a file is not held: `converted` brings it in where it is used.
    """

    held: Array | None
    bias: Array | None = None
    converted: InFile | None = None

    @property
    def matrix(self) -> Array | None:
        return self.held if self.converted is None else self.converted()


@dataclass(frozen=True, eq=False)
class Norm:
    """`function(xp, x, eps=eps)` of every row, times `gain`, plus `bias`; `kind` is one of `NORM_PULLS`.

    `across`: a row is that of all heads side by side.
    """

    function: Callable[..., Array]
    kind: str
    eps: float
    gain: Array | None = None
    bias: Array | None = None
    across: bool = False


@dataclass(frozen=True, eq=False)
class Latent:
    """The products and norms of multi-head latent attention; see `LATENT_PRODUCTS`."""

    query_down: Linear | None
    query_norm: Norm | None
    down: Linear
    norm: Norm | None
    rope_key: Linear | None
    up_key: Linear
    up_value: Linear


@dataclass(frozen=True, eq=False)
class FeedForward:
    """W_up, W_down, W_gate if it is gated, and the router of a mixture of experts.

    `routing` makes the weights of these, and `routed` the stages of its names.
    """

    gate: Linear | None
    up: Linear
    down: Linear
    activation: str
    router: Linear | None = None
    routing: Operation | None = None
    routed: Mapping[str, Operation] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Block:
    """The parts around an attention; `placement` is that of the norms.

    `drops` make the stages of their names.
    """

    placement: str
    residual: bool
    norm_1: Norm | None
    norm_2: Norm | None
    after_1: Norm | None
    after_2: Norm | None
    feed_forward: FeedForward | None
    residual_scale: float
    drops: Mapping[str, Operation]


@dataclass(frozen=True, eq=False)
class Transform:
    """The transform between the output and the vocabulary's matrix."""

    linear: Linear
    activation: str
    norm: Norm | None


@dataclass(frozen=True, eq=False)
class Readout:
    """Read-out to logits, `cap` · tanh(`scale` · (x W + b) / `cap`), perhaps of a transform of the output.

    Probabilities follow with the operation `distribution`.
    """

    transform: Transform | None
    logits: Linear
    distribution: Operation | None
    scale: float = 1.0
    cap: float | None = None


@dataclass(frozen=True, eq=False)
class Scoring:
    """The functions from queries and keys to weights; `stages` are the score-shaped ones, in order.

    Queries are numbered from 0 in all of them; the offset of their positions is inside.
    `factor` is the scale over the temperature, None if neither is used. `operations` make the stages of their
    names. `spares_keys`: a blocked key has the weight 0
    whatever its score.
    """

    stages: tuple[str, ...]
    n_kv_heads: int
    group_size: int
    factor: float | None
    operations: Mapping[str, Operation]
    masks: Masks
    spares_keys: bool
    mixture: Mixture

    @cached_property
    def adds(self) -> bool:
        """True if something is added to scores, so that q, k and the scale do not bound them."""
        grows = (self.operations[stage].grows for stage in self.before_weights if stage != "scaled")
        return any(grows)

    @cached_property
    def to_weights(self) -> tuple[str, ...]:
        """The stages up to the normalised scores, which a run stores; the last one is theirs."""
        count = sum(STAGE_BY_ID[stage].phase == "scores" for stage in self.stages)
        return self.stages[: count + 1]

    @cached_property
    def behind(self) -> tuple[str, ...]:
        """The stages that change the weights before these mix values."""
        return self.stages[len(self.to_weights) :]

    @cached_property
    def joins_heads(self) -> bool:
        """True if one of them reads other heads, so that all tiles come before it."""
        return any(self.operations[stage].reach == "heads" for stage in self.behind)

    @cached_property
    def before_weights(self) -> tuple[str, ...]:
        """The stages that operations make of scores."""
        return tuple(one for one in self.operations if STAGE_BY_ID[one].phase == "scores")


@dataclass(frozen=True, eq=False)
class PairNorm:
    """The norm of each two partner heads: RMSNorm with `eps`, times `factor`."""

    eps: float
    factor: float


@dataclass(frozen=True, eq=False)
class Operands:
    """All of one site, in data-flow order.

    `vectors` (token, d_model) exist if the site begins a stack, `memory` (key, d_keys) if it reads one;
    `added` returns the rows of an additive position; `temper` multiplies queries. With a latent, `key` and
    `value` are None.
    """

    vectors: Array | None
    added: Callable[[Ints], NDArray[np.float64]] | None
    embedding_norm: Norm | None
    embedding_projection: Linear | None
    memory: Array | None
    latent: Latent | None
    query: Linear
    key: Linear | None
    value: Linear | None
    query_norm: Norm | None
    key_norm: Norm | None
    rotations: Mapping[str, Operation]
    temper: Operation | None
    scoring: Scoring
    pair_norm: PairNorm | None
    gate: Linear | None
    output: Linear
    block: Block | None
    final_norm: Norm | None
    readout: Readout | None
