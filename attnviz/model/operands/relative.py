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
from dataclasses import dataclass
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


def _deberta_parts(site: Site) -> Relative:
    position: Any = site.position
    keys, queries = (_by_head(site, _table(site, name)) for name in ("keys", "queries"))

    def parts(heads: Ints, away: Ints) -> RelativeParts:
        rows = deberta_buckets(away, position.span, position.max_distance)
        return RelativeParts(rows, keys[heads], to_key=queries[heads])

    return parts


def _xl_parts(site: Site) -> Relative:
    position: Any = site.position
    d_model, n_heads, within = site.d_model, site.heads, max(site.n_queries, site.n_keys) - 1
    u, v = (_table(site, name) for name in ("u", "v"))

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


def _table(site: Site, name: str) -> Floats:
    position = site.position
    table: Table = getattr(position, name)
    heads = site.heads
    return table_array(table, position.table_shapes(site.d_model, heads.n_heads, heads.d_head)[name])
