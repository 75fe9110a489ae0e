"""Relative positions that read q and k: Transformer-XL's and DeBERTa's terms of a score.

Both are one sum over a table whose row depends on the distance alone:

    relative = s + q · a[row] + k · b[row] + k · u + c[row]

Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.3): row is the distance i − j, a = R W_R with the
sinusoids R of distances, c = v · R W_R, u and v one vector for each head; b is absent. DeBERTa (He et al.
2021, arXiv 2006.03654, section 3.1): row is a bucket of i − j, a are the positions' keys (content to
position), b their queries (position to content); no u, no c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.positions import deberta_buckets, sinusoidal
from attnviz.model.operands.matrices import table_array
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.positions import Deberta, Table, TransformerXl
from attnviz.model.spec.site import Site

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RelativeParts:
    """The tables for some heads (...): `rows` (q, k) is the table row of each pair."""

    rows: Ints
    to_query: Floats
    """a, (..., row, d_head): multiplied by q."""
    to_key: Floats | None = None
    """b, (..., row, d_head): multiplied by k."""
    key_bias: Floats | None = None
    """u, (..., d_head): multiplied by k whatever the distance."""
    constant: Floats | None = None
    """c, (..., row)."""


Relative = Callable[[Ints, Ints], RelativeParts]
"""The tables of some heads (...) at some distances i − j, (q, k)."""


def relative_of(site: Site) -> Relative | None:
    """The relative part of a site's scores; None without one."""
    resolve = PARTS.get(type(site.position))
    return None if resolve is None else resolve(site)


def relative_parts(site: Site, heads: Ints, q_positions: Ints, k_positions: Ints) -> RelativeParts:
    """The relative parts of the scores of these heads (...) at these positions. The position must
    be a relative one.
    """
    return PARTS[type(site.position)](site)(heads, q_positions[:, None] - k_positions[None, :])


Pulled = tuple[Floats, Floats, dict[str, Floats]]
"""The gradients by q (head, q, d), by k (KV head, k, d), and by each table of the position."""


def pull_relative(
    site: Site, g: Floats, q: Floats, k: Floats, q_positions: Ints, k_positions: Ints
) -> Pulled:
    """The gradients by what the relative terms read, from that by their sum, `g` (head, q, k).

    With A[i, row] the sum of g over the keys in that row of the table, and B[j, row] over the queries: by q A
    a, by k B b + Σ_i g u, by a Aᵀ q, by b Bᵀ k, by u Σ g k, by c Σ A.
    """
    n_heads = len(g)
    parts = relative_parts(site, np.arange(n_heads), q_positions, k_positions)
    size, width = n_heads // len(k), parts.to_query.shape[1]
    by_query = _binned(g, parts.rows, width)
    by_q, keys = by_query @ parts.to_query, np.repeat(k, size, axis=0)
    by_k = np.zeros_like(keys)
    tables = _ByParts(to_query=by_query.mT @ q, constant=by_query.sum(axis=1))
    if parts.to_key is not None:
        by_key = _binned(g.mT, parts.rows.T, width)
        by_k += by_key @ parts.to_key
        tables = replace(tables, to_key=by_key.mT @ keys)
    if parts.key_bias is not None:
        of_keys = g.sum(axis=1)[..., None]
        by_k += of_keys * parts.key_bias[:, None, :]
        tables = replace(tables, key_bias=np.sum(of_keys * keys, axis=1))
    by_k = by_k.reshape(len(k), size, *k.shape[1:]).sum(axis=1)
    return by_q, by_k, PULLS[type(site.position)](site, parts, tables)


def _binned(g: Floats, rows: Ints, width: int) -> Floats:
    """The sums of g (head, i, j) over the j whose `rows[i, j]` is each row of a table: (head, i, row)."""
    n = len(rows)
    places = (np.arange(n)[:, None] * width + rows).ravel()
    sums = np.empty((len(g), n * width))
    for head, cells in enumerate(g):
        sums[head] = np.bincount(places, cells.ravel(), n * width)
    return sums.reshape(len(g), n, width)


@dataclass(frozen=True, eq=False)
class _ByParts:
    """The gradients by `RelativeParts`, all heads."""

    to_query: Floats
    constant: Floats
    to_key: Floats | None = None
    key_bias: Floats | None = None


def _pull_deberta(site: Site, parts: RelativeParts, by: _ByParts) -> dict[str, Floats]:
    assert by.to_key is not None
    return {"keys": _side_by_side(by.to_query), "queries": _side_by_side(by.to_key)}


def _pull_xl(site: Site, parts: RelativeParts, by: _ByParts) -> dict[str, Floats]:
    """r = R W_R is a, and v · r is c: by r both together."""
    position: Any = site.position
    assert by.key_bias is not None
    v, reach = relative_table(site, "v"), (parts.to_query.shape[1] - 1) // 2
    by_r = by.to_query + by.constant[..., None] * v[:, None, :]
    waves = sinusoidal(np.arange(-reach, reach + 1), site.d_model, position.base)
    by_v = np.sum(by.constant[..., None] * parts.to_query, axis=1)
    return {"weights": waves.T @ _side_by_side(by_r), "u": by.key_bias, "v": by_v}


PULLS: dict[type, Callable[[Site, RelativeParts, _ByParts], dict[str, Floats]]] = {
    TransformerXl: _pull_xl,
    Deberta: _pull_deberta,
}
"""From the gradients by the parts to those by the tables of the document."""


def _side_by_side(by_head: Floats) -> Floats:
    """(head, row, d_head) as (row, heads side by side)."""
    return np.ascontiguousarray(by_head.transpose(1, 0, 2)).reshape(by_head.shape[1], -1)


def _deberta_parts(site: Site) -> Relative:
    position: Any = site.position
    keys, queries = (_by_head(site, relative_table(site, name)) for name in ("keys", "queries"))

    def parts(heads: Ints, away: Ints) -> RelativeParts:
        rows = deberta_buckets(away, position.span, position.max_distance)
        return RelativeParts(rows, keys[heads], to_key=queries[heads])

    return parts


def _xl_parts(site: Site) -> Relative:
    position: Any = site.position
    d_model, n_heads, within = site.d_model, site.heads, max(site.n_queries, site.n_keys) - 1
    u, v = (relative_table(site, name) for name in ("u", "v"))

    def parts(heads: Ints, away: Ints) -> RelativeParts:
        reach, farthest = within, int(np.abs(away).max())
        if farthest > reach:  # decoding past the tokens: in leaps, so that not every step makes another table
            reach = 2 ** farthest.bit_length()
        r = _turned_waves(position, d_model, n_heads, reach)[heads]
        return RelativeParts(away + reach, r, key_bias=u[heads], constant=(r @ v[heads][..., None])[..., 0])

    return parts


PARTS: dict[type, Callable[[Site], Relative]] = {TransformerXl: _xl_parts, Deberta: _deberta_parts}
"""The relative positions."""


@lru_cache(maxsize=4)
def _turned_waves(position: TransformerXl, d_model: int, heads: Heads, reach: int) -> Floats:
    """R W_R of the distances from -reach to reach, (head, distance, d_head), read-only."""
    shape = position.table_shapes(d_model, heads.n_heads, heads.d_head)["weights"]
    waves = sinusoidal(np.arange(-reach, reach + 1), d_model, position.base)
    r = waves @ table_array(position.weights, shape)
    by_head = np.ascontiguousarray(r.reshape(len(waves), heads.n_heads, heads.d_head).transpose(1, 0, 2))
    by_head.setflags(write=False)
    return by_head


def _by_head(site: Site, matrix: Floats) -> Floats:
    """(row, heads side by side) as (head, row, d_head)."""
    n_heads, d_head = site.heads.n_heads, site.heads.d_head
    return matrix.reshape(len(matrix), n_heads, d_head).transpose(1, 0, 2)


def relative_table(site: Site, name: str) -> Floats:
    """A table of a relative position, read-only."""
    position = site.position
    table: Table = getattr(position, name)
    heads = site.heads
    return table_array(table, position.table_shapes(site.d_model, heads.n_heads, heads.d_head)[name])
