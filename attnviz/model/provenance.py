"""Provenance of a number: the cells that compute one cell, and the cells computed from it.

Linked hover, the inspector and the tests that recompute every cell read it.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from attnviz.model.binding import bind
from attnviz.model.sites.axes import head_and_token, n_matrices
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, Rule, Stage, inputs
from attnviz.model.trace import SiteTrace
from attnviz.operations.operation import Cells, Indices


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
    experiment = site.experiment
    stage = STAGE_BY_ID[cell.stage]
    regions = []
    for place, source in enumerate(inputs_of(site, stage.id)):
        cells = _made_of(experiment, stage, place, cell)
        if cells is not None:
            own = replace(cell, head=head_and_token(experiment, stage.id, cell.head)[0])
            heads = _source_heads(experiment, stage, STAGE_BY_ID[source], own)
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


def _made_of(site: Site, stage: Stage, place: int, cell: Cell) -> Cells | None:
    """The rows and columns of an input that make a cell; None: none."""
    return bind(site, stage.id).made_of(place, cell)


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


def _source_heads(site: Site, stage: Stage, source: Stage, cell: Cell) -> Indices:
    if not source.per_head:
        return (0,)
    if source.axes[0] == "kv_head" and stage.axes[0] == "head":
        return (kv_head(site, cell.head),)
    return bind(site, stage.id).from_heads(cell)


def _consumed(site: Site, target: Stage, place: int, cell: Cell) -> Region | None:
    """The cells of `target` that read `cell` as input number `place`."""
    heads = _target_heads(site, target, cell)
    if target.id == "mixed":
        heads = tuple(head for head in heads or () if head not in site.heads.off)
        if not heads:
            return None
    cells = bind(site, target.id).read_by(place, cell)
    if target.by_token:
        heads = _matrices(site, target, place, cell, heads)
    return None if cells is None else Region(target.id, heads, *cells)


def _matrices(site: Site, target: Stage, place: int, cell: Cell, heads: Indices) -> Indices:
    """The matrices of some heads of a stage by token that read the row of a cell."""
    made_of, count = bind(site, target.id).made_of, n_matrices(site, target.id)
    read = (made_of(place, Cell(target.id, 0, 0, matrix)) for matrix in range(count))
    return tuple(
        matrix
        for matrix, cells in enumerate(read)
        if cells is not None
        and (cells[0] is None or cell.row in cells[0])
        and (heads is None or head_and_token(site, target.id, matrix)[0] in heads)
    )


def _target_heads(site: Site, target: Stage, cell: Cell) -> Indices:
    source = STAGE_BY_ID[cell.stage]
    if not target.per_head:
        return (0,)
    if not source.per_head:
        return None
    if source.axes[0] == "kv_head" and target.axes[0] == "head":
        size = site.heads.group_size
        return tuple(range(cell.head * size, (cell.head + 1) * size))
    return bind(site, target.id).from_heads(cell)


def rule_of(site: Site, stage: Stage) -> Rule:
    """The stage's rule; where its operation reads the same cell alone in this site, that."""
    return "same_cell" if bind(site, stage.id).reach == "cell" else stage.rule
