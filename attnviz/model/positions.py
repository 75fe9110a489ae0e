"""`POSITIONS` and `SCALINGS`: the closed sets of position encodings, and the numbers that each one brings.

Forms, validation, the positions panel and tests iterate over the tables; the program asks the functions
below. Everything here is float64 NumPy, small, and a function of absolute positions, so that decoding and a
full pass ask the same questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.core.positions import (
    alibi_bias,
    alibi_slopes,
    dynamic_ntk_base,
    linear_scaling,
    llama3_scaling,
    rope_angles,
    rope_frequencies,
    sinusoidal,
    t5_buckets,
    turning,
    yarn_attention_factor,
    yarn_ends,
    yarn_ramp,
    yarn_scaling,
)
from attnviz.i18n import N_
from attnviz.model.memo import Remembered
from attnviz.model.operands.matrices import table_array
from attnviz.model.spec.positions import (
    Alibi,
    Deberta,
    DynamicNtk,
    Learned,
    LinearScaling,
    Llama3Scaling,
    NoPosition,
    NoScaling,
    Position,
    Rope,
    Scaling,
    Sinusoidal,
    T5Buckets,
    TransformerXl,
    Yarn,
)
from attnviz.model.spec.site import Site

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Changes = Literal["nothing", "vectors", "rotation", "relative", "bias"]


@dataclass(frozen=True)
class PositionRow:
    """One position encoding: its record, its short title, what it does, and what it changes.

    `vectors`: a row is added to each token vector (stage `x`). `rotation`: q and k are turned (`q_rotated`,
    `k_rotated`). `relative`: q and k meet vectors of the distance (`relative`). `bias`: a number is added to
    each score (`biased`).
    """

    record: type[Any]
    title: str
    description: str
    changes: Changes

    @property
    def id(self) -> str:
        """The record's `kind` in a document."""
        return str(self.record.__struct_config__.tag)


@dataclass(frozen=True)
class ScalingRow:
    """One way to stretch RoPE to longer sequences: its record, its short title, and what it does."""

    record: type[Any]
    title: str
    description: str

    @property
    def id(self) -> str:
        """The record's `kind` in a document."""
        return str(self.record.__struct_config__.tag)


POSITIONS: tuple[PositionRow, ...] = (
    PositionRow(NoPosition, N_("none"), N_("Attention ignores the order of the tokens"), "nothing"),
    PositionRow(Sinusoidal, N_("sin"), N_("Sines and cosines added to the token vectors"), "vectors"),
    PositionRow(
        Learned, N_("table"), N_("A learned row of a table is added to each token vector"), "vectors"
    ),
    PositionRow(Rope, N_("RoPE"), N_("q and k rotated by angles that grow with the position"), "rotation"),
    PositionRow(Alibi, N_("ALiBi"), N_("Scores lowered by slope · distance"), "bias"),
    PositionRow(T5Buckets, N_("T5"), N_("Scores plus a learned number for each bucket of distances"), "bias"),
    PositionRow(
        TransformerXl,
        N_("XL"),
        N_("Transformer-XL: q and two learned biases times sinusoids of the distance"),
        "relative",
    ),
    PositionRow(
        Deberta,
        N_("DeBERTa"),
        N_("q times keys of the distance, k times queries of the distance"),
        "relative",
    ),
)

SCALINGS: tuple[ScalingRow, ...] = (
    ScalingRow(NoScaling, N_("none"), N_("Frequencies of the base, unscaled")),
    ScalingRow(
        LinearScaling, N_("linear"), N_("Divides every frequency by the factor: position interpolation")
    ),
    ScalingRow(
        DynamicNtk, N_("dynamic NTK"), N_("The base grows once the sequence exceeds the original length")
    ),
    ScalingRow(
        Yarn,
        N_("YaRN"),
        N_("Divides slow pairs by the factor, leaves fast pairs unchanged, and scales q and k up"),
    ),
    ScalingRow(
        Llama3Scaling,
        N_("Llama 3"),
        N_("Divides low frequencies by the factor; high frequencies are unchanged"),
    ),
)

POSITION_BY_RECORD = {row.record: row for row in POSITIONS}


def changes(position: Position) -> Changes:
    """What a position encoding changes."""
    return POSITION_BY_RECORD[type(position)].changes


def has_bias(experiment: Site) -> bool:
    """Whether a number is added to each score, so that the stage `biased` exists."""
    return changes(experiment.position) == "bias"


# --- added to vectors ------------------------------------------------------------------------------


def added_rows(experiment: Site, positions: Ints) -> Floats | None:
    """What an additive position puts on the vectors of tokens at `positions`, (token, d_model); else None."""
    position, d_model = experiment.position, experiment.d_model
    if isinstance(position, Sinusoidal):
        return sinusoidal(positions + position.start, d_model, position.base)
    if isinstance(position, Learned):
        return learned_table(position, d_model)[positions + position.start]
    return None


def learned_table(position: Learned, d_model: int) -> Floats:
    """(length, d_model), read-only."""
    return table_array(position.table, (position.length, d_model))


# --- rotation --------------------------------------------------------------------------------------


def rotated_features(experiment: Site) -> range:
    """The features of a query or key head that RoPE turns; none without RoPE.

    They are the first ones of the head or, where keys come from a latent, of the part beside its content.
    """
    return _rotated_features(experiment)


@Remembered
def _rotated_features(experiment: Site) -> range:
    position = experiment.position
    if not isinstance(position, Rope):
        return range(0)
    start = 0 if experiment.latent is None else experiment.heads.d_head
    count = experiment.d_turnable if position.n_rotated is None else position.n_rotated
    return range(start, start + count)


def n_rotated(experiment: Site) -> int:
    """How many features of a head RoPE turns; 0 without RoPE."""
    return len(rotated_features(experiment))


def sequence_length(experiment: Site) -> int:
    """The last position of queries and keys, plus one: the length that dynamic NTK reads."""
    start = experiment.position.start if isinstance(experiment.position, Rope) else 0
    return start + max(experiment.n_queries, experiment.n_keys)


def scaled_base(experiment: Site) -> float:
    """RoPE's base, grown where dynamic NTK makes it grow."""
    rope = experiment.position
    assert isinstance(rope, Rope)
    scaling = rope.scaling
    if not isinstance(scaling, DynamicNtk):
        return rope.base
    length = sequence_length(experiment) if scaling.length is None else scaling.length
    return dynamic_ntk_base(rope.base, scaling.factor, scaling.original_length, length, n_rotated(experiment))


def pair_frequencies(experiment: Site) -> Floats:
    """Radians per position of each pair, (pair,): base and scaling, then the multipliers of the dials."""
    rope = experiment.position
    assert isinstance(rope, Rope)
    frequencies = rope_frequencies(n_rotated(experiment), scaled_base(experiment))
    frequencies = _scaled(frequencies, experiment, rope.scaling)
    frequencies[: len(rope.multipliers)] *= np.asarray(rope.multipliers)
    return frequencies


def turns(experiment: Site, end: int) -> tuple[Floats, Floats]:
    """What `core.positions.rotate` turns by at positions 0 to `end` - 1, and perhaps at some more.

    Both (position, rotated feature), times `magnitude`, read-only. Remembered: q and k of all layers turn
    alike, and so do the steps of a decoding.
    """
    return _turning(experiment).up_to(end)


class _Turning:
    """The turns of one RoPE, for as many positions as were asked for; more are made by twice as many."""

    def __init__(self, frequencies: Floats, start: int, length: float, pairing: str) -> None:
        self._frequencies, self._start, self._length, self._pairing = frequencies, start, length, pairing
        self._made = self._at(0)

    def up_to(self, end: int) -> tuple[Floats, Floats]:
        made = self._made
        if len(made[0]) < end:
            self._made = made = self._at(max(end, 2 * len(made[0])))
        return made

    def _at(self, end: int) -> tuple[Floats, Floats]:
        angles = rope_angles(np.arange(end) + self._start, self._frequencies)
        cos, sin = self._length * np.cos(angles), self._length * np.sin(angles)
        made = turning(cos, sin, self._pairing)
        for array in made:
            array.setflags(write=False)
        return made


@lru_cache(maxsize=8)
def _turning_of(frequencies: bytes, start: int, length: float, pairing: str) -> _Turning:
    return _Turning(np.frombuffer(frequencies), start, length, pairing)


@Remembered
def _turning(experiment: Site) -> _Turning:
    """Layers that turn alike have the same one."""
    rope = experiment.position
    assert isinstance(rope, Rope)
    return _turning_of(pair_frequencies(experiment).tobytes(), rope.start, magnitude(rope), rope.pairing)


def _scaled(frequencies: Floats, experiment: Site, scaling: Scaling) -> Floats:
    if isinstance(scaling, LinearScaling):
        return linear_scaling(frequencies, scaling.factor)
    if isinstance(scaling, Yarn):
        return yarn_scaling(frequencies, ramp(experiment), scaling.factor)
    if isinstance(scaling, Llama3Scaling):
        low, high = scaling.low_freq_factor, scaling.high_freq_factor
        return llama3_scaling(frequencies, scaling.factor, low, high, scaling.original_length)
    return frequencies


def ramp(experiment: Site) -> Floats:
    """How much YaRN interpolates each pair, 0 to 1."""
    rope = experiment.position
    assert isinstance(rope, Rope) and isinstance(rope.scaling, Yarn)
    scaling = rope.scaling
    return yarn_ramp(n_rotated(experiment), rope.base, *_ramp_of(scaling))


def ramp_ends(experiment: Site) -> tuple[float, float]:
    """The pairs where YaRN's ramp begins and ends."""
    rope = experiment.position
    assert isinstance(rope, Rope) and isinstance(rope.scaling, Yarn)
    scaling = rope.scaling
    return yarn_ends(n_rotated(experiment), rope.base, *_ramp_of(scaling))


def _ramp_of(scaling: Yarn) -> tuple[int, float, float, bool]:
    """What the ramp depends on besides the rotated pairs and their base."""
    return scaling.original_length, scaling.beta_fast, scaling.beta_slow, scaling.truncate


def magnitude(rope: Rope) -> float:
    """What cosines and sines are multiplied by: YaRN's attention factor, else 1."""
    if not isinstance(rope.scaling, Yarn):
        return 1.0
    factor = rope.scaling.attention_factor
    return yarn_attention_factor(rope.scaling.factor) if factor is None else factor


# --- biases ----------------------------------------------------------------------------------------


def slopes_of(experiment: Site) -> tuple[float, ...]:
    """ALiBi's slope of each head: the ones written out, else the published ones."""
    position = experiment.position
    if isinstance(position, Alibi) and position.slopes is not None:
        return position.slopes
    return tuple(float(slope) for slope in alibi_slopes(experiment.heads.n_heads))


def bucket_table(position: T5Buckets, n_heads: int) -> Floats:
    """(n_buckets, n_heads), read-only."""
    return table_array(position.table, (position.n_buckets, n_heads))


def buckets(position: T5Buckets, q_positions: Ints, k_positions: Ints) -> Ints:
    """T5's bucket of every (query, key), (q, k)."""
    return t5_buckets(
        q_positions, k_positions, position.n_buckets, position.max_distance, position.bidirectional
    )


def bias(experiment: Site, heads: Ints, q_positions: Ints, k_positions: Ints) -> Floats:
    """What is added to the scores of some heads, (..., q, k) for `heads` (...); zeros without a bias."""
    position = experiment.position
    if isinstance(position, Alibi):
        return alibi_bias(np.asarray(slopes_of(experiment))[heads], q_positions, k_positions)
    if isinstance(position, T5Buckets):
        by_head = bucket_table(position, experiment.heads.n_heads).T[heads]
        return np.asarray(by_head[..., buckets(position, q_positions, k_positions)])
    return np.zeros((*heads.shape, len(q_positions), len(k_positions)))
