"""`cell_of`: the cell of a stage that an expression names, if it is nothing but one."""

from __future__ import annotations

from attnviz.errors import InputError
from attnviz.model.claims.expression import At, Call, Name, Node, Stretch, Value, as_number, at_place
from attnviz.model.claims.parser import parse
from attnviz.model.claims.scope import Scope
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID


def cell_of(expression: str, scope: Scope) -> Cell | None:
    """The cell of `weights[2, 1]` or `weights("layers.1.self", 0)[2, 1]`; None for another expression.

    Its site is empty for the selected attention.
    """
    try:
        node = parse(expression)
        if not isinstance(node, At) or len(node.places) != 2:
            return None
        stage, site, head = _stage(node.base, scope)
        if stage not in STAGE_BY_ID or stage not in scope.trace.site(site).stages:
            return None
        where = scope.trace.site(site)
        if head is None:
            head = shown_head(where.experiment, scope.view, stage)
        places: list[int] = []
        for axis, place in enumerate(node.places):
            if isinstance(place, Stretch):
                return None
            on = STAGE_BY_ID[stage].axes[axis - 2]
            names = () if on == "feature" else where.labels(on)
            size = where.shape(stage)[axis - 2]
            places.append(at_place(place.value(scope), names, size, is_row=axis == 0) % size)
    except InputError:
        return None
    row, column = places
    return Cell(stage, row, column, head, "" if site == scope.site.name else site)


def _stage(base: Node, scope: Scope) -> tuple[str, str, int | None]:
    """The stage, the attention, and the head if one is named."""
    if isinstance(base, Name):
        return base.name, scope.site.name, None
    if not isinstance(base, Call):
        return "", scope.site.name, None
    arguments: list[Value] = [one.value(scope) for one in base.arguments]
    sites = [one for one in arguments if isinstance(one, str)]
    heads = [one for one in arguments if not isinstance(one, str)]
    site = sites[0] if sites else scope.site.name
    return base.name, site, int(as_number(heads[0])) if heads else None
