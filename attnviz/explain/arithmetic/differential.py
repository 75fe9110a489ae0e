"""The arithmetic of differential attention: the weights of two partner heads, and λ."""

from __future__ import annotations

from attnviz.i18n import _
from attnviz.model.provenance import sources
from attnviz.model.reading import Reading
from attnviz.model.spec.differential import LAMBDA_ROWS
from attnviz.model.spec.rows import row_array
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import (
    Line,
    Pieces,
    Series,
    Text,
    constant,
    guarded,
    product,
    words,
)


def combined_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """w₁ − λ w₂ of two partner heads; then λ."""
    site = reading.experiment
    of, (source,) = site.differential, sources(reading.site, cell)
    assert of is not None and source.heads is not None
    first, other = (reading.term(Cell(source.stage, cell.row, cell.column, head)) for head in source.heads)
    share = constant(of.factor(site.heads.d_head), "λ")
    result = first.value - share.value * other.value
    steps = (words("w₁ − λ w₂"), (first, Text(" − "), *guarded(share), Text(" × "), other))
    one, two = (head + 1 for head in source.heads)
    note = words(_("heads {first} and {other} are partners").format(first=one, other=two))
    own = Line((reading.link(cell),), steps, reading.number(cell), result, (note,))
    return own, _share_line(site)


def _share_line(site: Site) -> Line:
    """exp(λ_Q1 · λ_K1) − exp(λ_Q2 · λ_K2) + λ₀."""
    of = site.differential
    assert of is not None
    rows = {name: row_array(getattr(of, name), site.heads.d_head) for name in LAMBDA_ROWS}

    def power(index: int) -> Pieces:
        q, k = rows[f"query_{index}"], rows[f"key_{index}"]

        def item(at: int) -> Pieces:
            return product(
                constant(q[at], f"λ_Q{index}[{at}]", "query"), constant(k[at], f"λ_K{index}[{at}]", "key")
            )

        return Text("exp("), Series(len(q), item), Text(")")

    value = of.factor(site.heads.d_head)
    letters = words("exp(λ_Q1 · λ_K1) − exp(λ_Q2 · λ_K2) + λ₀")
    numbers = (*power(1), Text(" − "), *power(2), Text(" + "), *guarded(constant(of.initial, "λ₀")))
    return Line(words("λ"), (letters, numbers), value, value)
