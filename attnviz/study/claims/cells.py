"""`cell_of`: the cell of a stage that an expression names, if it is nothing but one."""

from __future__ import annotations

from attnviz.errors import InputError
from attnviz.model.expressions.expression import At, Call, Name, Node, Stretch, at_place
from attnviz.model.expressions.parser import parse
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.claims.scope import Scope


def cell_of(expression: str, scope: Scope) -> Cell | None:
    """The cell of `weights[2, 1]` or `weights("layers.1.self", 0)[2, 1]`; None for another expression.

    Its site is empty for the selected attention.
    """
    try:
        node = parse(expression)
        if not isinstance(node, At) or len(node.places) != 2:
            return None
        node.kind(scope)
        stage, arguments = _named(node.base)
        if stage not in STAGE_BY_ID:
            return None
        where, head = scope.site_and_head(stage, tuple(one.value(scope) for one in arguments))
        places: list[int] = []
        for axis, place in enumerate(node.places):
            if isinstance(place, Stretch):
                return None
            on = STAGE_BY_ID[stage].axes[axis - 2]
            names = where.labels(on) if has_names(on) else ()
            size = where.shape(stage)[axis - 2]
            places.append(at_place(place.value(scope), names, size, is_row=axis == 0) % size)
    except InputError:
        return None
    row, column = places
    return Cell(stage, row, column, head, "" if where.name == scope.site.name else where.name)


def _named(base: Node) -> tuple[str, tuple[Node, ...]]:
    """The name of a stage, or of something else, and what stands in its brackets."""
    if isinstance(base, Call):
        return base.name, base.arguments
    return (base.name, ()) if isinstance(base, Name) else ("", ())
