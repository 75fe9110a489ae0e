"""Provenance of a number: the cells that compute one cell, and the cells computed from it.

Operations say which; where a stage has none yet, `RULES` has one row per rule of `STAGES`. Linked hover, the
inspector and the tests that recompute every cell read these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.model.binding import bind
from attnviz.model.operands.matrices import vocabulary
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
            heads = _source_heads(experiment, stage, STAGE_BY_ID[source], cell)
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
    if stage.made_by is None:
        return RULE_BY_ID[stage.rule].made_of(site, place, cell)
    return bind(site, stage.id).made_of(place, cell)


def inputs_of(site: SiteTrace, stage: str) -> tuple[str, ...]:
    """The stages that are read; a vocabulary's logits come from its own matrix, not from the tokens here."""
    stages = inputs(stage, site.stages)
    return stages[:1] if stage == "logits" and site.experiment.readout == "vocabulary" else stages


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


def _beside(site: Site, stage: Stage, head: int) -> Indices:
    """The heads of the inputs that make those of a head of a stage, if they have the same numbers."""
    return (head,) if stage.made_by is None else bind(site, stage.id).heads_with(head)


def _source_heads(site: Site, stage: Stage, source: Stage, cell: Cell) -> Indices:
    if not source.per_head:
        return (0,)
    if stage.rule == "join_heads":
        return (cell.column // site.heads.d_head,)
    if source.axes[0] == "kv_head" and stage.axes[0] == "head":
        return (kv_head(site, cell.head),)
    return _beside(site, stage, cell.head)


def _consumed(site: Site, target: Stage, place: int, cell: Cell) -> Region | None:
    """The cells of `target` that read `cell` as input number `place`."""
    heads = _target_heads(site, target, cell)
    if target.made_by is None:
        cells = RULE_BY_ID[target.rule].read_by(site, place, cell)
    else:
        operation = bind(site, target.id)
        heads = None if heads is None else tuple(head for head in heads if not operation.is_off(head))
        cells = operation.read_by(place, cell)
    return None if cells is None or heads == () else Region(target.id, heads, *cells)


def _target_heads(site: Site, target: Stage, cell: Cell) -> Indices:
    source = STAGE_BY_ID[cell.stage]
    if not target.per_head:
        return (0,)
    if not source.per_head:
        return None
    if source.axes[0] == "kv_head" and target.axes[0] == "head":
        size = site.heads.group_size
        return tuple(range(cell.head * size, (cell.head + 1) * size))
    return _beside(site, target, cell.head)


def rule_of(site: Site, stage: Stage) -> Rule:
    """The stage's rule; where its operation reads the same cell alone in this site, that."""
    is_cell = stage.made_by is not None and bind(site, stage.id).reach == "cell"
    return "same_cell" if is_cell else stage.rule


# --- the rules -------------------------------------------------------------------------------------


def _given(site: Site, place: int, cell: Cell) -> Cells:
    raise KeyError(cell.stage)  # it has no inputs


def _same_cell(site: Site, place: int, cell: Cell) -> Cells:
    return (cell.row,), (cell.column,)


def _of_a_head(site: Site, place: int, cell: Cell) -> Cells:
    return (cell.row,), (cell.column % site.heads.d_head,)


def _of_a_gate(site: Site, place: int, cell: Cell) -> Cells:
    return (cell.row,), (0 if place and _shares_gate(site) else cell.column,)


def _by_a_gate(site: Site, place: int, cell: Cell) -> Cells:
    return (cell.row,), None if place and _shares_gate(site) else (cell.column,)


def _shares_gate(site: Site) -> bool:
    """True if all features of a head have one gate."""
    return site.gate is not None and site.gate.per == "head"


def _by_the_joined(site: Site, place: int, cell: Cell) -> Cells:
    return (cell.row,), (cell.head * site.heads.d_head + cell.column,)


def _of_a_logit(site: Site, place: int, cell: Cell) -> Cells:
    return ((cell.row,) if place == 0 else (vocabulary(site)[1][cell.column],)), None


def _by_a_logit(site: Site, place: int, cell: Cell) -> Cells | None:
    if place == 0:
        return (cell.row,), None
    rows = vocabulary(site)[1]
    return (None, (rows.index(cell.row),)) if cell.row in rows else None


@dataclass(frozen=True)
class RuleRow:
    """One rule: the (rows, columns) of input number `place` that make a cell of the stage, and those of the
    stage that read a cell of that input; None: none.
    """

    id: Rule
    made_of: Callable[[Site, int, Cell], Cells]
    read_by: Callable[[Site, int, Cell], Cells | None]


RULES: tuple[RuleRow, ...] = (
    RuleRow("given", _given, _given),
    RuleRow("same_cell", _same_cell, _same_cell),
    RuleRow("gated", _of_a_gate, _by_a_gate),
    RuleRow("join_heads", _of_a_head, _by_the_joined),
    RuleRow("qd,wd->qw", _of_a_logit, _by_a_logit),
)

RULE_BY_ID = {row.id: row for row in RULES}
