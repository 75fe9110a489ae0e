"""`POSITIONS`: the closed set of position encodings, and the numbers that each one brings.

RoPE's scalings are in `model/scalings.py`. Forms, validation, the positions panel and tests iterate over
the tables; the program asks the functions below. Everything here is float64 NumPy, small, and a function of
absolute positions, so that decoding and a full pass call the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.positions import alibi_bias, alibi_slopes, rope_angles, sinusoidal, t5_buckets, turning
from attnviz.i18n import N_
from attnviz.model import scalings
from attnviz.model.memo import WeakMemo
from attnviz.model.operands.matrices import table_array
from attnviz.model.scalings import Rotation
from attnviz.model.spec.positions import (
    Alibi,
    Changes,
    Deberta,
    Learned,
    NoPosition,
    Position,
    Rope,
    Sinusoidal,
    T5Buckets,
    TransformerXl,
)
from attnviz.model.spec.site import Site

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bias = Callable[[Ints, Ints, Ints], Floats]
"""The bias of the scores of heads (...), queries (..., q) and keys (..., k): (..., q, k)."""


PullBias = Callable[[Any, Floats, Ints, Ints], tuple[str, Floats]]
"""The parameter of a bias, by name, and the gradient by it: (record, that by the biased scores (head, q, k),
queries (q,), keys (k,)).
"""


# --- rows ------------------------------------------------------------------------------------------


def _as_it_is(position: Any, length: int) -> Any:
    return position


@dataclass(frozen=True)
class PositionRow:
    """One position encoding: its record, its short title, and its effect.

    `hue` is the index of its curve's colour among the hues of heads, None for grey.
    `added` returns the rows that an additive one adds to tokens at some positions, from (record, d_model,
    positions). `bias` returns the term added to the scores of a site. `at_length` returns the record fixed to
    a sequence length.
    """

    record: type[Any]
    title: str
    description: str
    hue: int | None
    added: Callable[[Any, int, Ints], Floats] | None = None
    bias: Callable[[Site], Bias] | None = None
    pull_bias: PullBias | None = None
    at_length: Callable[[Any, int], Any] = _as_it_is

    @property
    def id(self) -> str:
        """The record's `kind` in a document."""
        return str(self.record.__struct_config__.tag)

    @property
    def changes(self) -> Changes:
        """The record's own."""
        changes: Changes = self.record.changes
        return changes


def row_of(position: Position) -> PositionRow:
    """The row of a position encoding."""
    return POSITION_BY_RECORD[type(position)]


def changes(position: Position) -> Changes:
    """Stages that a position encoding changes."""
    return position.changes


def is_additive(position: Position) -> bool:
    """True if it is added to the vectors: once, where these come in."""
    return position.changes == "vectors"


def rope_of(site: Site) -> Rope:
    """The rotary position of a site that has one."""
    assert isinstance(site.position, Rope)
    return site.position


# --- added to vectors ------------------------------------------------------------------------------


def added_rows(site: Site, positions: Ints) -> Floats | None:
    """Rows that an additive position adds to the vectors of tokens at `positions`, (token,
    d_model); else None.
    """
    added = row_of(site.position).added
    return None if added is None else added(site.position, site.d_embedding, positions)


def _waves(position: Sinusoidal, d_model: int, positions: Ints) -> Floats:
    return sinusoidal(positions + position.start, d_model, position.base)


def _learned_rows(position: Learned, d_model: int, positions: Ints) -> Floats:
    rows: Floats = learned_table(position, d_model)[positions + position.start]
    return rows


def learned_table(position: Learned, d_model: int) -> Floats:
    """(length, d_model), read-only."""
    return table_array(position.table, (position.length, d_model))


# --- rotation --------------------------------------------------------------------------------------


def rotated_features(site: Site) -> range:
    """The features of a query or key head that RoPE rotates; empty without RoPE.

    They are the first ones of the head or, with a latent, of the part beside its content.
    """
    return _rotated_features(site)


@WeakMemo
def _rotated_features(site: Site) -> range:
    if site.position.changes != "rotation":
        return range(0)
    position = rope_of(site)
    start = 0 if site.latent is None else site.heads.d_head
    count = site.d_turnable if position.n_rotated is None else position.n_rotated
    return range(start, start + count)


def n_rotated(site: Site) -> int:
    """Number of features of a head that RoPE rotates; 0 without RoPE."""
    return len(rotated_features(site))


def sequence_length(site: Site) -> int:
    """The last position of queries and keys, plus one: the length that RoPE's scalings read."""
    start = getattr(site.position, "start", 0)
    return start + max(site.query_offset + site.n_queries, site.n_keys)


def rotation(site: Site) -> Rotation:
    """Inputs of RoPE's scaling from a site with rotary positions."""
    return Rotation(rope_of(site), n_rotated(site), sequence_length(site))


def pair_frequencies(site: Site) -> Floats:
    """Radians per position of each pair, (pair,): base and scaling, then the multipliers of the dials."""
    return scalings.pair_frequencies(rotation(site))


class Turning:
    """The rotations of one RoPE, for the positions requested so far; the table grows by doubling."""

    def __init__(self, frequencies: Floats, start: int, length: float, pairing: str) -> None:
        self._frequencies, self._start, self._length, self._pairing = frequencies, start, length, pairing
        self._turning = self._at(0)

    def up_to(self, end: int) -> tuple[Floats, Floats]:
        """The cosines and sines for `core.positions.rotate` at positions 0 to `end` - 1, perhaps more.

        Both (position, rotated feature), times `magnitude`, read-only.
        """
        known = self._turning
        if len(known[0]) < end:
            self._turning = known = self._at(max(end, 2 * len(known[0])))
        return known

    def _at(self, end: int) -> tuple[Floats, Floats]:
        angles = rope_angles(np.arange(end) + self._start, self._frequencies)
        cos, sin = self._length * np.cos(angles), self._length * np.sin(angles)
        both = turning(cos, sin, self._pairing)
        for array in both:
            array.setflags(write=False)
        return both


@lru_cache(maxsize=8)
def _turning_of(frequencies: bytes, start: int, length: float, pairing: str) -> Turning:
    return Turning(np.frombuffer(frequencies), start, length, pairing)


def turning_of(site: Site, of: Literal["query", "key"]) -> Turning:
    """The rotations of the queries or keys of a site with RoPE; layers with equal rotations share them."""
    return _turnings(site)[of == "key"]


@WeakMemo
def _turnings(site: Site) -> tuple[Turning, Turning]:
    rope, frequencies = rope_of(site), pair_frequencies(site).tobytes()
    of_queries, of_keys = (
        _turning_of(frequencies, rope.start + offset, magnitude(rope), rope.pairing)
        for offset in (site.query_offset, 0)
    )
    return of_queries, of_keys


def magnitude(rope: Rope) -> float:
    """The multiplier of cosines and sines: the attention factor of a scaling that has one, else 1."""
    return scalings.row_of(rope.scaling).magnitude(rope.scaling)


# --- biases ----------------------------------------------------------------------------------------


def slopes_of(site: Site) -> tuple[float, ...]:
    """ALiBi's slope of each head: the explicit ones, else the published ones."""
    position = site.position
    if isinstance(position, Alibi) and position.slopes is not None:
        return position.slopes
    return tuple(float(slope) for slope in alibi_slopes(site.heads.n_heads))


def bucket_table(position: T5Buckets, n_heads: int) -> Floats:
    """(n_buckets, n_heads), read-only."""
    return table_array(position.table, (position.n_buckets, n_heads))


def buckets(position: T5Buckets, q_positions: Ints, k_positions: Ints) -> Ints:
    """T5's bucket of every (query, key), (..., q, k)."""
    return t5_buckets(
        q_positions, k_positions, position.n_buckets, position.max_distance, position.bidirectional
    )


def bias_of(site: Site) -> Bias | None:
    """The bias of a position; None for one without a bias."""
    resolve = row_of(site.position).bias
    return None if resolve is None else resolve(site)


def bias(site: Site, heads: Ints, q_positions: Ints, k_positions: Ints) -> Floats:
    """The bias of the scores of some heads, (..., q, k) for `heads` (...); zeros without a bias."""
    of_scores = bias_of(site)
    if of_scores is None:
        return np.zeros((*heads.shape, len(q_positions), len(k_positions)))
    return of_scores(heads, q_positions, k_positions)


def _alibi(site: Site) -> Bias:
    slopes = np.asarray(slopes_of(site))
    return lambda heads, q_positions, k_positions: alibi_bias(slopes[heads], q_positions, k_positions)


def _pull_alibi(position: Alibi, g: Floats, q_positions: Ints, k_positions: Ints) -> tuple[str, Floats]:
    """By the slope of each head: −Σ |i − j| g."""
    return "slopes", np.sum(g * alibi_bias(np.ones(len(g)), q_positions, k_positions), axis=(1, 2))


def _pull_t5(position: T5Buckets, g: Floats, q_positions: Ints, k_positions: Ints) -> tuple[str, Floats]:
    """By the table (bucket, head): Σ g over the pairs of each bucket."""
    of_pairs = buckets(position, q_positions, k_positions).ravel()
    summed = [np.bincount(of_pairs, head.ravel(), position.n_buckets) for head in g]
    return "table", np.stack(summed, axis=1)


def _t5(site: Site) -> Bias:
    position: Any = site.position
    by_head = bucket_table(position, site.heads.n_heads).T

    def bias(heads: Ints, q_positions: Ints, k_positions: Ints) -> Floats:
        of_pairs = buckets(position, q_positions, k_positions)
        if of_pairs.ndim == 2:  # all heads at once: a third of the time
            return by_head[heads][..., of_pairs]
        return by_head[heads[..., None, None], of_pairs]

    return bias


# --- the length of a sequence ----------------------------------------------------------------------


def last_token(position: Position) -> float:
    """Number of tokens that the position supports; infinity if no table ends."""
    return position.end


def at_length(site: Site, tokens: int) -> Position:
    """The position at `tokens` queries, if its frequencies depend on their number."""
    position: Any = site.position
    length, first = sequence_length(site), getattr(site.position, "start", 0) + site.query_offset
    longer = max(length, first + tokens)
    adapted: Position = row_of(position).at_length(position, longer) if longer != length else position
    return adapted


def _scaled_at_length(rope: Rope, length: int) -> Rope:
    scaling = scalings.row_of(rope.scaling).at_length(rope.scaling, length)
    return rope if scaling == rope.scaling else replace(rope, scaling=scaling)


# --- the table -------------------------------------------------------------------------------------

POSITIONS: tuple[PositionRow, ...] = (
    PositionRow(NoPosition, N_("none"), N_("Attention ignores the order of the tokens"), hue=None),
    PositionRow(
        Sinusoidal,
        N_("sin"),
        N_("Sines and cosines added to the token vectors"),
        hue=1,
        added=_waves,
    ),
    PositionRow(
        Learned,
        N_("table"),
        N_("A learned row of a table is added to each token vector"),
        hue=4,
        added=_learned_rows,
    ),
    PositionRow(
        Rope,
        N_("RoPE"),
        N_("q and k rotated by angles that grow with the position"),
        hue=6,
        at_length=_scaled_at_length,
    ),
    PositionRow(
        Alibi,
        N_("ALiBi"),
        N_("Scores lowered by slope · distance"),
        hue=2,
        bias=_alibi,
        pull_bias=_pull_alibi,
    ),
    PositionRow(
        T5Buckets,
        N_("T5"),
        N_("Scores plus a learned number for each bucket of distances"),
        hue=3,
        bias=_t5,
        pull_bias=_pull_t5,
    ),
    PositionRow(
        TransformerXl,
        N_("XL"),
        N_("Transformer-XL: q and two learned biases times sinusoids of the distance"),
        hue=7,
    ),
    PositionRow(
        Deberta,
        N_("DeBERTa"),
        N_("q times keys of the distance, k times queries of the distance"),
        hue=0,
    ),
)

POSITION_BY_RECORD = {row.record: row for row in POSITIONS}
