"""Positions worked out again in plain Python: rotations with their scaling, learned tables, relative terms.

`read` gives the numbers of the cells that the provenance names; see `block_by_hand`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from block_by_hand import dot
from experiments import sited
from gaps import row_of_kind

from attnviz.model.spec.parts import Rope
from attnviz.model.spec.positions import Deberta, T5Buckets, TransformerXl
from attnviz.model.spec.scalings import DynamicNtk, LinearScaling, Llama3Scaling, LongRope, NoScaling, Yarn
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import Table, WrittenTable
from attnviz.model.spec.view import Cell


def rotated(experiment: Site, cell: Cell, read: Any) -> float:
    rope = experiment.position
    assert isinstance(rope, Rope)
    (source,) = read.stages
    latent = experiment.latent
    n = (latent.d_rope if latent else experiment.heads.d_head) if rope.n_rotated is None else rope.n_rotated
    first = experiment.heads.d_head if latent else 0
    feature = cell.column - first
    if not 0 <= feature < n:
        return read(source, cell.head, cell.row, cell.column)
    half = n // 2
    pair, second = divmod(feature, 2) if rope.pairing == "interleaved" else divmod(feature, half)[::-1]
    at = (2 * pair, 2 * pair + 1) if rope.pairing == "interleaved" else (pair, pair + half)
    multiplier = rope.multipliers[pair] if pair < len(rope.multipliers) else 1.0
    frequency, length = turning(experiment, rope, pair, n)
    token = cell.row + (experiment.query_offset if cell.stage == "q_rotated" else 0)
    angle = (token + rope.start) * multiplier * frequency
    a, b = (length * read(source, cell.head, cell.row, first + column) for column in at)
    return a * math.sin(angle) + b * math.cos(angle) if second else a * math.cos(angle) - b * math.sin(angle)


def turning(experiment: Site, rope: Rope, pair: int, n: int) -> tuple[float, float]:
    """(frequency of a pair, what cosines and sines are multiplied by), with RoPE's scaling."""
    plain = rope.base ** (-2 * pair / n)
    by_hand = row_of_kind("TURNING in tests/positions_by_hand.py", TURNING, type(rope.scaling))
    return by_hand(experiment, rope, plain, pair, n)


def length_of(experiment: Site, rope: Rope) -> int:
    """The last position of queries and keys, plus one, unless the scaling fixes its length."""
    scaling: Any = rope.scaling
    queries = sited(experiment).query_offset + len(experiment.tokens)
    return scaling.length or rope.start + max(queries, sited(experiment).n_keys)


def _plain(experiment: Site, rope: Any, plain: float, pair: int, n: int) -> tuple[float, float]:
    return plain, 1.0


def _linear(experiment: Site, rope: Any, plain: float, pair: int, n: int) -> tuple[float, float]:
    return plain / rope.scaling.factor, 1.0


def _ntk(experiment: Site, rope: Any, plain: float, pair: int, n: int) -> tuple[float, float]:
    scaling = rope.scaling
    ratio = max(length_of(experiment, rope) / scaling.original_length, 1.0)
    grown = 1.0 if n == 2 else (scaling.factor * ratio - scaling.factor + 1) ** (n / (n - 2))
    return (rope.base * grown) ** (-2 * pair / n), 1.0


def _yarn(experiment: Site, rope: Any, plain: float, pair: int, n: int) -> tuple[float, float]:
    scaling = rope.scaling
    ends = [
        n * math.log(scaling.original_length / (2 * math.pi * beta)) / (2 * math.log(rope.base))
        for beta in (scaling.beta_fast, scaling.beta_slow)
    ]
    low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), n - 1)
    share = min(max((pair - low) / ((high - low) or 0.001), 0.0), 1.0)
    lengthened = scaling.attention_factor or 1 + math.log(scaling.factor) / 10
    return (1 - share) * plain + share * plain / scaling.factor, lengthened


def _llama3(experiment: Site, rope: Any, plain: float, pair: int, n: int) -> tuple[float, float]:
    scaling = rope.scaling
    wavelength = 2 * math.pi / plain
    turns = scaling.original_length / wavelength
    low_turns, high_turns = scaling.low_freq_factor, scaling.high_freq_factor
    if turns < low_turns:
        return plain / scaling.factor, 1.0
    if turns > high_turns:
        return plain, 1.0
    smooth = (turns - low_turns) / (high_turns - low_turns)
    return (1 - smooth) * plain / scaling.factor + smooth * plain, 1.0


def _longrope(experiment: Site, rope: Any, plain: float, pair: int, n: int) -> tuple[float, float]:
    scaling = rope.scaling
    is_short = length_of(experiment, rope) <= scaling.original_length
    divisors = scaling.short_factor if is_short else scaling.long_factor
    lengthened = math.sqrt(1 + math.log(scaling.factor) / math.log(scaling.original_length))
    divisor = divisors[pair] if pair < len(divisors) else 1.0
    return plain / divisor, scaling.attention_factor or lengthened


TURNING: dict[type, Callable[[Site, Any, float, int, int], tuple[float, float]]] = {
    NoScaling: _plain,
    LinearScaling: _linear,
    DynamicNtk: _ntk,
    Yarn: _yarn,
    Llama3Scaling: _llama3,
    LongRope: _longrope,
}
"""Each scaling by hand, of (site, RoPE, unscaled frequency, pair, rotated features); see `turning`."""


def entry(table: Table, shape: tuple[int, int], row: int, column: int) -> float:
    """One number of a learned table."""
    if isinstance(table, WrittenTable):
        assert table.values.shape == shape
        return float(table.values.array[row, column])
    return float(np.random.default_rng(table.seed).standard_normal(shape)[row, column] * table.std)


def bucket(position: T5Buckets, ahead: int) -> int:
    """T5's bucket of key - query, by counting."""
    n, first = position.n_buckets, 0
    distance = max(-ahead, 0)
    if position.bidirectional:
        n, distance = n // 2, abs(ahead)
        first = n if ahead > 0 else 0
    exact = n // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(position.max_distance / exact)
    return first + min(exact + int(share * (n - exact)), n - 1)


def related(experiment: Site, cell: Cell, read: Any) -> float:
    """The score, and q and k against vectors of the distance."""
    position, heads = experiment.position, experiment.heads
    kv_head = cell.head // (heads.n_heads // heads.n_kv_heads)
    score = read("scores", cell.head, cell.row, cell.column)
    q = read.row(read.stages[1], cell.head, cell.row)
    k = read.row(read.stages[2], kv_head, cell.column)
    away, d = cell.row + experiment.query_offset - cell.column, heads.d_head
    columns = [cell.head * d + f for f in range(d)]
    if isinstance(position, TransformerXl):
        shape = (experiment.d_model, heads.n_heads * d)
        waves = [
            (math.cos if f % 2 else math.sin)(away / position.base ** ((f - f % 2) / shape[0]))
            for f in range(shape[0])
        ]
        r = [dot(waves, [entry(position.weights, shape, f, c) for f in range(shape[0])]) for c in columns]
        u, v = (
            [entry(t, (heads.n_heads, d), cell.head, f) for f in range(d)] for t in (position.u, position.v)
        )
        return score + dot(q, r) + dot(k, u) + dot(v, r)
    assert isinstance(position, Deberta)
    bucket, middle = away, position.span // 2
    if abs(away) > middle:
        share = math.log(abs(away) / middle) / math.log((position.max_distance - 1) / middle)
        bucket = int(math.copysign(math.ceil(share * (middle - 1)) + middle, away))
    row = min(max(bucket + position.span, 0), 2 * position.span - 1)
    shape = (2 * position.span, heads.n_heads * d)
    keys, queries = ([entry(t, shape, row, c) for c in columns] for t in (position.keys, position.queries))
    return score + dot(q, keys) + dot(k, queries)
