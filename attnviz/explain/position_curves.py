"""The score of one query and one key against their distance, for every position encoding at once.

The numbers are those of the present experiment: q and k of the pair as the trace has them before rotation,
moved to other distances. An encoding that the experiment does not use is taken with its defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.positions import rope_angles, rotate, turning
from attnviz.explain.score_pair import Pair
from attnviz.model import scalings
from attnviz.model.binding import bind
from attnviz.model.edit.switching import set_position
from attnviz.model.operands.projection import entered, keys, queries
from attnviz.model.operands.relative import relative_parts
from attnviz.model.positions import (
    POSITIONS,
    added_rows,
    changes,
    last_token,
    magnitude,
    pair_frequencies,
    rope_of,
    rotated_features,
    rotation,
    row_of,
)
from attnviz.model.provenance import kv_head
from attnviz.model.scalings import SCALINGS
from attnviz.model.sites.stages import score_stages
from attnviz.model.spec.positions import Rope
from attnviz.model.spec.scalings import NoScaling
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace
from attnviz.operations.operation import NUMPY, Block

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAREST, FARTHEST = 16, 256


@dataclass(frozen=True)
class CurveRow:
    """A curve that can be drawn, described by the row of its encoding; the scalings share the hue of RoPE."""

    id: str
    title: str
    description: str
    hue: int | None
    dash: tuple[float, ...]


def _rows() -> Iterator[CurveRow]:
    for row in POSITIONS:
        yield CurveRow(row.id, row.title, row.description, row.hue, ())
        for scaling in SCALINGS if row.record is Rope else ():
            if scaling.record is not NoScaling:
                id_ = f"{row.id}_{scaling.id}"
                yield CurveRow(id_, scaling.title, scaling.description, row.hue, scaling.dash)


CURVE_ROWS = {row.id: row for row in _rows()}
"""The rows of all curves by their ids, RoPE's scalings after RoPE."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One encoding: the score after scale, cap and bias at each distance; NaN for a missing position.

    `id` is the position's, for a scaled RoPE `rope_` and the scaling's; `title` a message id.
    """

    id: str
    title: str
    values: Floats
    is_present: bool


def distances(site: Site) -> Ints:
    """Key position minus query position, from one end of the sequence to the other, within bounds."""
    longest = max(site.query_offset + site.n_queries, site.n_keys) - 1
    reach = min(max(longest, NEAREST), FARTHEST)
    return np.arange(-reach, reach + 1)


def curves(site: SiteTrace, pair: Pair) -> tuple[Curve, ...]:
    """All encodings over `distances`, in the order of `POSITIONS` and `SCALINGS`."""
    experiment = site.experiment
    unturned = "" if experiment.qk_norm is None else "_normed"
    q = _row(site, f"q{unturned}", pair.head, pair.query) * _temper(experiment, pair.query)
    k = _row(site, f"k{unturned}", kv_head(experiment, pair.head), pair.key)
    came_in = site.stages[0]
    # The second one replaces the key only if both are of one sequence.
    q_vector, k_vector = _row(site, came_in, 0, pair.query), _row(site, came_in, 0, _within(site, pair.key))
    away = distances(experiment)
    present = kind_of(experiment)
    found = []
    for id_, title, candidate in candidates(experiment):
        raw = _raw(candidate, pair, (q_vector, k_vector), (q, k), away)
        with np.errstate(all="ignore"):  # infinite scores are shown as gaps
            values = _shaped(candidate, raw, pair.head, away)
        found.append(Curve(id_, title, values, id_ == present))
    return tuple(found)


def _shaped(candidate: Site, raw: Floats, head: int, away: Ints) -> Floats:
    """Raw scores through every stage before the masks that works on them in place."""
    found = raw[None].copy()
    # Queries are numbered from 0 behind their offset: the query of all distances is at position 0.
    block = Block(np.array(head), np.array([-candidate.query_offset]), away)
    for stage in score_stages(candidate):
        row, operation = STAGE_BY_ID[stage], bind(candidate, stage)
        if row.phase == "scores" and operation.reach == "cell" and not row.is_infinite:
            operation.shape_(NUMPY, found, block)
    return np.asarray(found[0])


def _temper(site: Site, query: int) -> float:
    """The factor of a query by its position."""
    given = site.position_temperature
    return 1.0 if given is None else float(given.factors(np.array([query + site.query_offset]))[0])


def kind_of(site: Site) -> str:
    """The id of the site's own curve."""
    position: Any = site.position
    kind, scaling = row_of(position).id, getattr(position, "scaling", None)
    return kind if scaling in (None, NoScaling()) else f"{kind}_{scalings.row_of(scaling).id}"


def candidates(site: Site) -> Iterator[tuple[str, str, Site]]:
    """(id, title, the site with it) of each encoding that these heads can have."""
    position = site.position
    for row in POSITIONS:
        own = position if isinstance(position, row.record) else row.record()
        try:
            fitted = set_position(site, own)
        except ValueError:  # RoPE with a single feature
            continue
        if row.record is not Rope:
            yield row.id, row.title, fitted
            continue
        rope = rope_of(fitted)
        for scaling in SCALINGS:
            is_own = isinstance(rope.scaling, scaling.record)
            kept = rope.scaling if is_own else scaling.fresh(rotation(fitted))
            try:
                scaled = replace(fitted, position=replace(rope, scaling=kept))
            except ValueError:  # YaRN with a base of 1 or less
                continue
            is_plain = scaling.record is NoScaling
            yield (row.id, row.title, scaled) if is_plain else (f"rope_{scaling.id}", scaling.title, scaled)


def _within(site: SiteTrace, key: int) -> int:
    """A memory may be longer than the tokens."""
    return min(key, site.experiment.n_queries - 1)


def _row(site: SiteTrace, stage: str, head: int, row: int) -> Floats:
    return np.asarray(site.window(stage, head, slice(row, row + 1))[0], dtype=np.float64)


def _raw(
    candidate: Site,
    pair: Pair,
    vectors: tuple[Floats, Floats],
    qk: tuple[Floats, Floats],
    away: Ints,
) -> Floats:
    """q · k at each distance, before scale and bias; `vectors` are the inputs of the site at the two."""
    q, k = qk
    how = changes(candidate.position)
    if how == "rotation":
        return _turned(candidate, q, k, away)
    if how == "vectors" and candidate.memory is None:
        return _moved(candidate, pair, vectors, away)
    plain = np.full(len(away), float(q @ k))
    return plain + _related(candidate, pair.head, qk, away) if how == "relative" else plain


def _related(candidate: Site, head: int, qk: tuple[Floats, Floats], away: Ints) -> Floats:
    """Terms of Transformer-XL or DeBERTa at each distance."""
    q, k = qk
    parts = relative_parts(candidate, np.array(head), np.array([0]), away)
    by_row = parts.to_query @ q
    if parts.to_key is not None:
        by_row = by_row + parts.to_key @ k
    if parts.constant is not None:
        by_row = by_row + parts.constant
    found: Floats = by_row[parts.rows[0]]
    return found if parts.key_bias is None else found + float(parts.key_bias @ k)


def _turned(candidate: Site, q: Floats, k: Floats, away: Ints) -> Floats:
    """The query stays at position 0: rotations depend on the distance alone."""
    rope = rope_of(candidate)
    angles = rope_angles(np.concatenate(([0], away)), pair_frequencies(candidate))
    cos, sin = turning(magnitude(rope) * np.cos(angles), magnitude(rope) * np.sin(angles), rope.pairing)
    rows = np.broadcast_to(k, (len(away), len(k)))
    start = rotated_features(candidate).start
    turned_q = rotate(np, q[None], (cos[:1], sin[:1]), rope.pairing, start)[0]
    found: Floats = rotate(np, rows, (cos[1:], sin[1:]), rope.pairing, start) @ turned_q
    return found


def _moved(candidate: Site, pair: Pair, vectors: tuple[Floats, Floats], away: Ints) -> Floats:
    """The key's vector at other positions of the sequence; the query stays.

    Positions before the first one, and past the end of a learned table, do not exist.
    """
    position = candidate.position
    at = pair.query + candidate.query_offset + away
    exists = (at >= 0) & (at < last_token(position))
    q_vector, k_vector = vectors
    rows = added_rows(candidate, np.append(at[exists], pair.query))
    assert rows is not None
    k = keys(candidate, entered(candidate, k_vector + rows[:-1]), pair.head)
    q = queries(candidate, entered(candidate, q_vector + rows[-1:]), pair.head)
    found = np.full(len(away), np.nan)
    found[exists] = k @ q[0] * _temper(candidate, pair.query)
    return found


def wave(site: Site) -> Floats | None:
    """The rows that an additive position adds to the tokens, (token, d_model); else None."""
    return added_rows(site, np.arange(site.n_queries))
