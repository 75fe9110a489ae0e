"""`Relative`: terms of a score that read q and k at their distance, as Transformer-XL and DeBERTa have them.

Both are one sum over a table whose row depends on the distance alone:

    relative = s + q · a[row] + k · b[row] + k · u + c[row]

Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.3): row is the distance i − j, a = R W_R with the
sinusoids R of distances, c = v · R W_R, u and v one vector for each head; b is absent. DeBERTa (He et al.
2021, arXiv 2006.03654, section 3.1): row is a bucket of i − j, a are the positions' keys (content to
position), b their queries (position to content); no u, no c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    At,
    Block,
    Cells,
    Floats,
    Ints,
    Numbers,
    Operation,
    Pulled,
    Reads,
    Use,
    Writer,
    are_shared,
    in_groups,
    singly,
)
from attnviz.operations.terms import Hue, Line, Pieces, Series, Text, constant, guarded, product, words


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


PartsAt = Callable[[Ints, Ints], RelativeParts]
"""The tables of some heads (...) at some distances i − j, (q, k)."""


@dataclass(frozen=True, eq=False)
class ByParts:
    """The gradients by `RelativeParts`, all heads."""

    to_query: Floats
    constant: Floats
    to_key: Floats | None = None
    key_bias: Floats | None = None


@dataclass(frozen=True, eq=False)
class Relative(Operation):
    """s + q · a[row] + k · b[row] + k · u + c[row] of the `parts`; `group_size` heads read each head of k.

    Query i stands at position i + `offset`. `tables(parts, gradients)` are the gradients by the tables of the
    document, by name. `letters_of_query` is the product with q, `distance` says what is read of the distance.
    """

    parts: PartsAt
    group_size: int
    offset: int
    tables: Callable[[RelativeParts, ByParts], dict[str, Floats]]
    letters_of_query: str
    distance: str

    help = N_("Each score gains terms that depend on the distance between query and key.")
    cites = "transformer_xl"
    pattern = "relative"
    reach = "tokens"
    kept = (2,)

    def _at(self, heads: Ints, queries: Ints, keys: Ints) -> RelativeParts:
        return self.parts(heads, queries[:, None] - keys + self.offset)

    def with_numbers(self, numbers: Mapping[str, Floats]) -> None:
        """Its tables are functions of the document."""

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        positions = block.q_positions, block.k_positions
        if block.heads.ndim == 2 and are_shared(positions):
            self._add_(arrays, scores, self._at(block.heads, *positions), *block.qk)
            return
        leading = scores.shape[:-4]
        heads = np.broadcast_to(block.heads, (*leading, *scores.shape[-4:-2]))
        queries, keys = (np.broadcast_to(one, (*leading, 1, 1, one.shape[-1])) for one in positions)
        for at in np.ndindex(leading):
            parts = self._at(heads[at], queries[at][0, 0], keys[at][0, 0])
            q, k = (one[at] for one in block.qk)
            self._add_(arrays, scores[at], parts, q, k)

    def _add_(self, arrays: Arrays, scores: Array, parts: RelativeParts, q: Array, k: Array) -> None:
        """The terms of q (..., g, r, q, d) and k (..., g, k, d) to the scores (..., g, r, q, k), in place."""
        transposed = arrays.xp.matrix_transpose
        n_queries, n_keys = parts.rows.shape
        k_g1kd = k[..., None, :, :]
        to_query = q @ transposed(arrays.asarray(parts.to_query))
        scores += to_query[..., np.arange(n_queries)[:, None], parts.rows]
        if parts.to_key is not None:
            to_key = k_g1kd @ transposed(arrays.asarray(parts.to_key))
            scores += to_key[..., np.arange(n_keys)[None, :], parts.rows]
        if parts.key_bias is not None:
            scores += transposed(k_g1kd @ arrays.asarray(parts.key_bias[..., None]))
        if parts.constant is not None:
            scores += arrays.asarray(parts.constant[..., parts.rows])

    def pull(self, g: Any, pulled: Pulled) -> None:
        """By the scores, by q and k, and by the tables.

        With A[i, row] the sum of g over the keys in that row of the table, and B[j, row] over the queries: by
        q A a, by k B b + Σ_i g u, by a Aᵀ q, by b Bᵀ k, by u Σ g k, by c Σ A.
        """
        pulled.add(g)
        as_q, as_k = pulled.input(1), pulled.input(2)
        cells, q, k = (pulled.by_heads(array) for array in (g.part(), as_q, as_k))
        by_q, by_k = np.empty_like(q), np.empty_like(k)
        places = pulled.positions()
        for at, *positions in [((), *places)] if are_shared(places) else singly(cells, places):
            parts = self._at(np.arange(cells.shape[-3]), *positions)
            by_q[at], by_k[at], found = self._pulled(parts, cells[at], q[at], k[at])
            for name, gradient in self.tables(parts, found).items():
                pulled.add_parameter(f"position.{name}", pulled.arrays.asarray(gradient))
        pulled.add(pulled.arrays.asarray(by_q.reshape(as_q.shape)), 1)
        pulled.add(pulled.arrays.asarray(by_k), 2)

    def _pulled(
        self, parts: RelativeParts, cells: Floats, q: Floats, k: Floats
    ) -> tuple[Floats, Floats, ByParts]:
        """The gradients by q and k, (..., head, token, d), and by the parts, summed over what is in front,
        from that by the scores.
        """
        width = parts.to_query.shape[1]
        by_query = _binned(cells, parts.rows, width)
        by_q, keys = by_query @ parts.to_query, np.repeat(k, self.group_size, axis=-3)
        by_k = np.zeros_like(keys)
        found = ByParts(to_query=_summed(by_query.mT @ q, 3), constant=_summed(by_query.sum(axis=-2), 2))
        if parts.to_key is not None:
            by_key = _binned(cells.mT, parts.rows.T, width)
            by_k += by_key @ parts.to_key
            found = replace(found, to_key=_summed(by_key.mT @ keys, 3))
        if parts.key_bias is not None:
            of_keys = cells.sum(axis=-2)[..., None]
            by_k += of_keys * parts.key_bias[:, None, :]
            found = replace(found, key_bias=_summed(np.sum(of_keys * keys, axis=-2), 2))
        of_groups = by_k.reshape(*k.shape[:-2], self.group_size, *k.shape[-2:])
        return by_q, of_groups.sum(axis=-3), found

    def made_of(self, place: int, cell: At) -> Cells:
        row, column = (cell.row,), (cell.column,)
        return ((row, column), (row, None), (column, None))[place]

    def read_by(self, place: int, cell: At) -> Cells:
        row = (cell.row,)
        return ((row, (cell.column,)), (row, None), (None, row))[place]

    def made_of_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return (cell.head // self.group_size if place == 2 else cell.head,)

    def read_by_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return in_groups(cell.head, self.group_size) if place == 2 else (cell.head,)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """1 by the score; a[row] by q; b[row] + u by k."""
        if use.place == 0:
            return np.ones(use.shape)
        parts = self._at(np.array(use.heads), np.array(use.rows), np.array(use.columns))
        if use.place == 1:
            return np.asarray(parts.to_query[:, parts.rows, use.cell.column])
        found = np.zeros(use.shape)
        if parts.to_key is not None:
            found += parts.to_key[:, parts.rows, use.cell.column]
        if parts.key_bias is not None:
            found += parts.key_bias[:, use.cell.column][:, None, None]
        return found

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The score and its terms, then each term as the product that it is."""
        cell, first = numbers.cell, numbers.term()
        parts = self._at(np.array(cell.head), np.array([cell.row]), np.array([cell.column]))
        row = int(parts.rows[0, 0])
        terms = tuple(self._terms(numbers, parts, row))
        pieces: Pieces = (first,)
        for term in terms:
            named = constant(term.value, "".join(one.text for one in term.name if isinstance(one, Text)))
            pieces = (*pieces, Text(" + "), *guarded(named))
        names = [Text(f" + {one.text}") for term in terms for one in term.name if isinstance(one, Text)]
        result = first.value + sum(term.value for term in terms)
        distance = cell.row + self.offset - cell.column
        note = words(_(self.distance).format(distance=distance, row=row))
        return (numbers.line(((Text(numbers.symbol()), *names), pieces), result, note), *terms)

    def _terms(self, numbers: Numbers, parts: RelativeParts, row: int) -> Sequence[Line]:
        """The products with q and k, and the constant of the distance."""
        cell, kv_head = numbers.cell, numbers.cell.head // self.group_size
        q, k = (1, cell.head, cell.row), (2, kv_head, cell.column)
        found = [_dot(numbers, (self.letters_of_query, "query"), q, parts.to_query[row])]
        if parts.to_key is not None:
            found.append(_dot(numbers, ("k · Q_r", "key"), k, parts.to_key[row]))
        else:
            assert parts.key_bias is not None
            found.append(_dot(numbers, ("u · k", "key"), k, parts.key_bias))
        if parts.constant is not None:
            value = float(parts.constant[row])
            note = words(_("the same for every q and k: depends only on the distance and the head"))
            found.append(Line(words("v · r"), (), value, value, (note,)))
        return found

    def code(self, writer: Writer) -> Sequence[str]:
        return writer.of_position()


def _binned(g: Floats, rows: Ints, width: int) -> Floats:
    """The sums of g (..., i, j) over the j whose `rows[i, j]` is each row of a table: (..., i, row)."""
    n = len(rows)
    places = (np.arange(n)[:, None] * width + rows).ravel()
    leading = g.shape[:-2]
    sums = np.empty((*leading, n * width))
    for at in np.ndindex(leading):
        sums[at] = np.bincount(places, g[at].ravel(), n * width)
    return sums.reshape(*leading, n, width)


def _summed(x: Floats, n_axes: int) -> Floats:
    """The sum over all axes but the last `n_axes`."""
    return np.asarray(x.sum(axis=tuple(range(x.ndim - n_axes))))


def _dot(numbers: Numbers, name: tuple[str, Hue], place: tuple[int, int, int], others: Floats) -> Line:
    """Σ of products of a row of q or k (input, head, row) with numbers of a table."""
    values = numbers.row_of(*place)
    other = name[0].replace("q", "").replace("k", "").strip(" ·")

    def item(index: int) -> Pieces:
        return product(
            numbers.number_of(*place, index, values[index]), constant(others[index], f"{other}[{index}]")
        )

    total = float(np.sum(values * others))
    return Line((Text(*name),), ((Series(len(values), item),),), total, total)
