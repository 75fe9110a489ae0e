"""The cells of a site that are edited by hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.model.binding import bind
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import CUT_STAGES, MASKED_STAGES


def edits_at(site: Site, cell: Cell) -> tuple[Edit, ...]:
    """The edits that cover a cell, in the order in which they apply."""
    if not site.edits:
        return ()
    at, shape = (cell.stage, cell.head, cell.row, cell.column), stage_shape(site, cell.stage)
    return tuple(edit for edit in site.edits if edit.has(*at) and edit.fits(shape))


def edited_cells(site: Site, stage: str, head: int) -> frozenset[tuple[int, int]]:
    """The (row, column) of every edited cell of one head of a stage that the site computes."""
    if not any(edit.stage == stage for edit in site.edits):
        return frozenset()
    shape = stage_shape(site, stage)
    cells = set[tuple[int, int]]()
    for edit in site.edits:
        if edit.stage == stage and edit.head in (None, head) and edit.fits(shape):
            columns = range(shape[-1]) if edit.column is None else (edit.column,)
            cells |= {(edit.position, column) for column in columns}
    return frozenset(cells)


def edited_shapes(site: Site, n: int, m: int) -> dict[str, tuple[int, ...]]:
    """Public shapes of the stages that a run keeps twice, as computed and as edited: n queries and m keys."""
    stages = set(site_stages(site)) if site.edits else set()
    edited = dict.fromkeys(edit.stage for edit in site.edits if edit.stage in stages)
    of_axis = {"token": n, "query": n, "key": m, "memory": m}
    shapes = {}
    for stage in edited:
        axes, shape = STAGE_BY_ID[stage].axes, stage_shape(site, stage)
        shapes[stage] = tuple(of_axis.get(axis, size) for axis, size in zip(axes, shape, strict=True))
    return shapes


def still_hidden(
    site: Site, stage: str, head: int, hidden: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """The hidden cells of one head of a stage, without those that have a number by hand behind the mask."""
    if hidden is None or not site.edits:
        return hidden
    # an edit of an earlier stage is masked again
    order = CUT_STAGES if stage == CUT_STAGES[0] or not site.masks else MASKED_STAGES
    behind = order[: order.index(stage) + 1]
    both = bind(site, stage).heads_with(head) or ()
    cells = [
        cell
        for one in behind
        for read in ((head,) if one == stage else both)
        for cell in edited_cells(site, one, read)
    ]
    if not cells:
        return hidden
    rest = hidden.copy()
    rest[tuple(np.array(cells).T)] = False
    return rest
