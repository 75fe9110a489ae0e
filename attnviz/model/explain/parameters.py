"""One number of a matrix or a bias: where it comes from, and its gradient, term by term.

Of x W + b with the gradient δ by the result, that by W[i, j] is Σ x[t, i] δ[t, j] over the tokens t, that by
b[j] is Σ δ[t, j].
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attnviz.i18n import _
from attnviz.model.explain.arithmetic.linear import FEED_FORWARD, PROJECTIONS
from attnviz.model.explain.arithmetic.reading import Reading, stage_symbol
from attnviz.model.explain.arithmetic.terms import (
    Explanation,
    Line,
    Pieces,
    Series,
    Term,
    constant,
    digits,
    product,
    words,
)
from attnviz.model.gradients.gradient import GradientSite, ProductSite
from attnviz.model.spec.parts import Tied
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.trace import SiteTrace
from attnviz.model.weights import WEIGHTS, Weight

_PATHS = {
    **{f"projections.{role}": stage for stage, (role, _symbol, _hue) in PROJECTIONS.items()},
    **{f"block.feed_forward.{role}": stage for stage, role in FEED_FORWARD.items()},
}
LINEAR: dict[str, str] = _PATHS | {f"{path}_bias": stage for path, stage in _PATHS.items()}
"""The stage that each matrix or bias of a linear map computes, by its path."""


def explain_parameter(site: SiteTrace, weight: Weight, row: int, column: int) -> Explanation:
    """The source of one number, and in a site of gradients its gradient. Raises `IndexError` without it."""
    value = float(weight.array(site.experiment)[row, column])
    place = f"{weight.symbol}[{column}]" if _is_row(weight) else f"{weight.symbol}[{row}, {column}]"
    first = Line(words(place), (), value, value, (words(source_of(site.experiment, weight)),))
    cell = Cell(weight.stage or site.stages[0], row, column)
    return Explanation(cell, place, (first, *_gradient_lines(site, weight, place, row, column)))


def source_of(site: Site, weight: Weight) -> str:
    """Origin of the numbers of a weight, in words."""
    source = weight.source(site)
    kind = source.__struct_config__.tag
    if isinstance(source, Tied):
        symbol = next(one.symbol for one in WEIGHTS if one.path == f"projections.{source.to}")
        return _("tied: the number of {matrix}").format(matrix=symbol)
    if kind == "seeded":
        return _("drawn at random, seed {seed}").format(seed=source.seed)
    if kind == "identity":
        return _("the identity: 1 on the diagonal, else 0")
    return _("of the model's file") if _lies_in_file(source) else _("written in the document")


def _lies_in_file(source: object) -> bool:
    written = getattr(source, "written", None)
    return written is not None and bool(written.lies_in_file)


def _is_row(weight: Weight) -> bool:
    return weight.path.endswith("_bias")


def _gradient_lines(site: SiteTrace, weight: Weight, place: str, row: int, column: int) -> Iterator[Line]:
    gradient = site.gradient if isinstance(site, ProductSite) else site
    stage = LINEAR.get(weight.path, "")
    if not isinstance(gradient, GradientSite) or stage not in gradient.stages:
        return
    name = words(f"∂/∂ {place}")
    if not gradient.depends(stage):
        note = words(_("0: the target does not depend on this stage"))
        yield Line(name, (), 0.0, 0.0, (note,))
        return
    reading, slopes = Reading(gradient.values), Reading(gradient)
    head, own = _in_heads(gradient, stage, column)
    by = slopes.column(stage, head, own)
    x = None if _is_row(weight) else reading.column(inputs(stage, gradient.stages)[0], 0, row)
    total = float(by.sum() if x is None else by @ x)

    def item(token: int) -> Pieces:
        at = Cell(stage, token, own, head)
        called = f"∂ {gradient.target.name(gradient.name)} / ∂ {reading.full_name(at)}"
        slope = Term(float(by[token]), digits(by[token]), called, at, STAGE_BY_ID[stage].hue)
        if x is None:
            return (slope,)
        source = Cell(inputs(stage, gradient.stages)[0], token, row)
        return product(constant(x[token], reading.full_name(source)), slope)

    letters = f"∂/∂{stage_symbol(stage)}"
    if x is not None:
        letters = f"{stage_symbol(inputs(stage, gradient.stages)[0])} · {letters}"
    steps: tuple[Pieces, ...] = (words(f"Σ {letters}"), (Series(len(np.atleast_1d(by)), item),))
    yield Line(name, steps, total, total)


def _in_heads(site: SiteTrace, stage: str, column: int) -> tuple[int, int]:
    """The head and the feature of a column of a matrix, whose heads stand side by side."""
    if not STAGE_BY_ID[stage].per_head:
        return 0, column
    width = site.experiment.d_qk if stage == "q" else site.experiment.heads.d_head
    return divmod(column, width)
