"""One number of a parameter: where it comes from, and its gradient, term by term."""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.explain.gradients.of_parameter import sums_of
from attnviz.i18n import _
from attnviz.model.gradient import GradientSite, ProductSite
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.trace import SiteTrace
from attnviz.model.weights import Weight
from attnviz.operations.terms import Explanation, Line, Pieces, Text, words


def explain_parameter(site: SiteTrace, weight: Weight, row: int, column: int) -> Explanation:
    """The source of one number, and in a site of gradients its gradient. Raises `IndexError` without it."""
    value = float(weight.array(site.experiment)[row, column])
    place = f"{weight.symbol}[{column}]" if weight.is_row else f"{weight.symbol}[{row}, {column}]"
    first = Line(words(place), (), value, value, (words(source_of(site.experiment, weight)),))
    cell = Cell(weight.stage or site.stages[0], row, column)
    return Explanation(cell, place, (first, *_gradient_lines(site, weight, place, row, column)))


def source_of(site: Site, weight: Weight) -> str:
    """Origin of the numbers of a weight, in words."""
    kind, source = weight.origin(site), weight.source(site)
    if kind == "tied":
        return _("tied: the number of {matrix}").format(matrix=weight.tied_to(site))
    if kind == "seeded":
        return _("drawn at random, seed {seed}").format(seed=source.seed)
    if kind == "identity":
        return _("the identity: 1 on the diagonal, else 0")
    if kind == "alibi":
        return _("the published slope of the head")
    return _("of the model's file") if _lies_in_file(source) else _("written in the document")


def _lies_in_file(source: object) -> bool:
    return bool(getattr(source, "lies_in_file", False))


def _gradient_lines(site: SiteTrace, weight: Weight, place: str, row: int, column: int) -> Iterator[Line]:
    """The gradient as its sums, or why it is 0."""
    gradient = site.gradient if isinstance(site, ProductSite) else site
    if not isinstance(gradient, GradientSite):
        return
    name, sums = words(f"∂/∂ {place}"), sums_of(gradient, weight.path, row, column)
    why = ""
    if sums is None:
        why = _("0: the choice of the experts is held as it is")
    elif not any(len(one.rows) for one in sums):
        why = _("0: no token and no pair uses this number")
    elif not any(gradient.depends(one.stage) for one in sums):
        why = _("0: the target does not depend on this stage")
    if sums is None or why:
        yield Line(name, (), 0.0, 0.0, (words(why),))
        return
    numbers: Pieces = ()
    for one in sums:
        numbers += (*((Text(" + "),) if numbers else ()), one.series(gradient))
    total = sum(one.total(gradient) for one in sums)
    yield Line(name, (words(" + ".join(one.letters for one in sums)), numbers), total, total)
