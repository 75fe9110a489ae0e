"""The tables of relative positions that read q and k, Transformer-XL's and DeBERTa's; see `Relative`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.core.positions import deberta_buckets, sinusoidal
from attnviz.i18n import N_
from attnviz.model.operands.matrices import table_array
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.positions import Deberta, TransformerXl
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import Table
from attnviz.operations.relative import ByParts, PartsAt, RelativeParts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def relative_parts(site: Site, heads: Ints, q_positions: Ints, k_positions: Ints) -> RelativeParts:
    """The relative parts of the scores of these heads (...) at these positions. The position must
    be a relative one.
    """
    return RELATIVES[type(site.position)].parts(site)(heads, q_positions[:, None] - k_positions[None, :])


Tables = Callable[[RelativeParts, ByParts], dict[str, Floats]]
"""From the gradients by the parts to those by the tables of the document, by name."""


def _deberta_tables(site: Site) -> Tables:
    def tables(parts: RelativeParts, by: ByParts) -> dict[str, Floats]:
        assert by.to_key is not None
        return {"keys": _side_by_side(by.to_query), "queries": _side_by_side(by.to_key)}

    return tables


def _xl_tables(site: Site) -> Tables:
    """r = R W_R is a, and v · r is c: by r both together."""
    base, d_model, v = site.position.base, site.d_model, relative_table(site, "v")  # type: ignore[union-attr]

    def tables(parts: RelativeParts, by: ByParts) -> dict[str, Floats]:
        assert by.key_bias is not None
        reach = (parts.to_query.shape[1] - 1) // 2
        by_r = by.to_query + by.constant[..., None] * v[:, None, :]
        waves = sinusoidal(np.arange(-reach, reach + 1), d_model, base)
        by_v = np.sum(by.constant[..., None] * parts.to_query, axis=1)
        return {"weights": waves.T @ _side_by_side(by_r), "u": by.key_bias, "v": by_v}

    return tables


def _side_by_side(by_head: Floats) -> Floats:
    """(head, row, d_head) as (row, heads side by side)."""
    return np.ascontiguousarray(by_head.transpose(1, 0, 2)).reshape(by_head.shape[1], -1)


def _deberta_parts(site: Site) -> PartsAt:
    position: Any = site.position
    keys, queries = (_by_head(site, relative_table(site, name)) for name in ("keys", "queries"))

    def parts(heads: Ints, away: Ints) -> RelativeParts:
        rows = deberta_buckets(away, position.span, position.max_distance)
        return RelativeParts(rows, keys[heads], to_key=queries[heads])

    return parts


def _xl_parts(site: Site) -> PartsAt:
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


class RelativeRow(NamedTuple):
    """A relative position: its tables, the gradients by them, its product with q, and a message about what is
    read of the distance.
    """

    parts: Callable[[Site], PartsAt]
    tables: Callable[[Site], Tables]
    letters: str
    distance: str


RELATIVES: dict[type, RelativeRow] = {
    TransformerXl: RelativeRow(
        _xl_parts, _xl_tables, "q · r", N_("r: the sinusoids of the distance i − j = {distance}, times W_R")
    ),
    Deberta: RelativeRow(
        _deberta_parts, _deberta_tables, "q · K_r", N_("distance i − j = {distance} falls into bucket {row}")
    ),
}
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
