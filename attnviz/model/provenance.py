"""Provenance of a number: the cells that compute one cell, and the cells computed from it.

Linked hover, the inspector and the tests that recompute every cell read it.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.model.binding import bind
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, Stage, inputs
from attnviz.model.trace import SiteTrace
from attnviz.operations.operation import Indices


@dataclass(frozen=True)
class Region:
    """Cells of one stage: the product of some heads, rows and columns."""

    stage: str
    heads: Indices
    rows: Indices
    columns: Indices

    def has(self, head: int, row: int, column: int) -> bool:
        """True if a cell is one of these."""
        return all(
            allowed is None or index in allowed
            for allowed, index in ((self.heads, head), (self.rows, row), (self.columns, column))
        )


def sources(site: SiteTrace, cell: Cell) -> tuple[Region, ...]:
    """The cells that `cell` is computed from, one region per input of its stage."""
    operation, regions = bind(site.experiment, cell.stage), []
    for place, source in enumerate(inputs_of(site, cell.stage)):
        cells = operation.made_of(place, cell)
        if cells is not None:
            heads = operation.made_of_heads(place, cell) if STAGE_BY_ID[source].per_head else (0,)
            regions.append(Region(source, heads, *cells))
    return tuple(regions)


def consumers(site: SiteTrace, cell: Cell) -> tuple[Region, ...]:
    """The cells that are computed from `cell` directly."""
    regions = []
    for target in site.stages:
        for place, source in enumerate(inputs_of(site, target)):
            if source == cell.stage:
                region = _consumed(site.experiment, STAGE_BY_ID[target], place, cell)
                regions += [region] if region else []
    return tuple(regions)


def _consumed(site: Site, target: Stage, place: int, cell: Cell) -> Region | None:
    """The cells of `target` that read `cell` as input number `place`; None: none."""
    operation = bind(site, target.id)
    heads: Indices = (0,)
    if target.per_head:  # every head reads what has none
        has_heads = STAGE_BY_ID[cell.stage].per_head
        heads = operation.read_by_heads(place, cell) if has_heads else None
    cells = operation.read_by(place, cell)
    return None if heads == () or cells is None else Region(target.id, heads, *cells)


def inputs_of(site: SiteTrace, stage: str) -> tuple[str, ...]:
    """The stages that are read."""
    stages, made_by = inputs(stage, site.stages), STAGE_BY_ID[stage].made_by
    return stages[: bind(site.experiment, stage).n_inputs] if made_by.leaves_inputs else stages


def tokens_of(cell: Cell) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(positions along the query or token axis, positions along the key axis) that a cell belongs to."""
    axes = STAGE_BY_ID[cell.stage].axes[-2:]
    on_rows, on_columns = axes
    queries = (cell.row,) if on_rows in ("token", "query") else ()
    keys = (cell.row,) if on_rows in ("key", "memory") else ()
    if on_columns == "key":
        keys = (cell.column,)
    return queries, keys


def kv_head(site: Site, head: int) -> int:
    """The key/value head that query head `head` reads."""
    return head // site.heads.group_size
