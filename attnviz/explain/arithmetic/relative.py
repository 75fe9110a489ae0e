"""The arithmetic of the stage `relative`: Transformer-XL's and DeBERTa's terms of a score."""

from __future__ import annotations

import numpy as np

from attnviz.i18n import N_, _
from attnviz.model.operands.relative import RelativeParts, relative_parts
from attnviz.model.provenance import Region, sources
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.positions import Deberta, TransformerXl
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import (
    Hue,
    Line,
    Pieces,
    Series,
    Text,
    constant,
    guarded,
    product,
    words,
)

DISTANCES: dict[type, tuple[str, str]] = {
    TransformerXl: ("q · r", N_("r: the sinusoids of the distance i − j = {distance}, times W_R")),
    Deberta: ("q · K_r", N_("distance i − j = {distance} falls into bucket {row}")),
}
"""Of each relative position, the product with q and what is read of the distance."""


def relative_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The score and its terms, then each term as the product that it is."""
    score, q, k = sources(reading.site, cell)
    at = np.array([cell.row + reading.experiment.query_offset]), np.array([cell.column])
    parts = relative_parts(reading.experiment, np.array(cell.head), *at)
    row = int(parts.rows[0, 0])
    terms = (*_query_terms(reading, cell, q, parts, row), *_key_terms(reading, cell, k, parts, row))
    if parts.constant is not None:
        value = float(parts.constant[row])
        note = words(_("the same for every q and k: depends only on the distance and the head"))
        terms = (*terms, Line(words("v · r"), (), value, value, (note,)))
    first = reading.term(Cell(score.stage, cell.row, cell.column, cell.head))
    numbers: Pieces = (first,)
    for term in terms:
        named = constant(term.value, "".join(piece.text for piece in term.name if isinstance(piece, Text)))
        numbers = (*numbers, Text(" + "), *guarded(named))
    names = [Text(f" + {piece.text}") for term in terms for piece in term.name if isinstance(piece, Text)]
    result = first.value + sum(term.value for term in terms)
    note = _distance_note(reading, cell, row)
    letters: Pieces = (Text(stage_symbol(score.stage)), *names)
    own = Line((reading.link(cell),), (letters, numbers), reading.number(cell), result, (note,))
    return (own, *terms)


def _distance_note(reading: Reading, cell: Cell, row: int) -> Pieces:
    names = {"distance": cell.row + reading.experiment.query_offset - cell.column, "row": row}
    says = DISTANCES[type(reading.experiment.position)][1]
    return words(_(says).format(**names))


def _query_terms(reading: Reading, cell: Cell, q: Region, parts: RelativeParts, row: int) -> tuple[Line, ...]:
    name = DISTANCES[type(reading.experiment.position)][0]
    values = reading.row(q.stage, (q.heads or (0,))[0], cell.row)
    return (_dot(reading, (name, "query"), (q, cell.row), values, parts.to_query[row]),)


def _key_terms(reading: Reading, cell: Cell, k: Region, parts: RelativeParts, row: int) -> tuple[Line, ...]:
    values = reading.row(k.stage, (k.heads or (0,))[0], cell.column)
    if parts.to_key is not None:
        return (_dot(reading, ("k · Q_r", "key"), (k, cell.column), values, parts.to_key[row]),)
    assert parts.key_bias is not None
    return (_dot(reading, ("u · k", "key"), (k, cell.column), values, parts.key_bias),)


def _dot(
    reading: Reading, name: tuple[str, Hue], place: tuple[Region, int], values: Floats, others: Floats
) -> Line:
    """Σ of products of a row of q or k with numbers of a table."""
    region, row = place
    head = (region.heads or (0,))[0]
    other = name[0].replace("q", "").replace("k", "").strip(" ·")

    def item(index: int) -> Pieces:
        return product(
            reading.term(Cell(region.stage, row, index, head), values[index]),
            constant(others[index], f"{other}[{index}]"),
        )

    total = float(np.sum(values * others))
    return Line((Text(name[0], name[1]),), ((Series(len(values), item),),), total, total)
