"""Provenance measured: a source is a cell whose change changes the number, and no other cell is one."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, STACKS, block, sited, small
from first_layer import with_fields
from msgspec.structs import replace

import attnviz
from attnviz.model.binding import bind
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.provenance import Region, consumers, kv_head, sources, tokens_of
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Dropout, ExplicitVectors, Heads, Rope
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Origin, SiteTrace

GROUPED = small(heads=Heads(4, 2, 4), position=Rope(base=50.0), masks=(Causal(),), dropout=Dropout(0.3, 1))


def site_of(experiment: Experiment) -> SiteTrace:
    return attnviz.run(experiment).only


def cells_of(site: SiteTrace, stage: str) -> list[Cell]:
    shape = site.shape(stage)
    found = [Cell(stage, r, c, h) for *hs, r, c in np.ndindex(shape) for h in (hs or [0])]
    return found[:: max(1, len(found) // 12)]


MIRRORED = {"rope": GROUPED, "plain": small(heads=Heads(2, 1, 3))}
MIRRORED |= {name: SPREAD[name] for name in ("pre-norm", "post-norm", "parallel", "sandwich", "mla")}


@pytest.mark.parametrize("experiment", MIRRORED.values(), ids=MIRRORED)
def test_sources_and_consumers_are_each_others_mirror(experiment: Experiment) -> None:
    """A cell is a source of another exactly where the other is one of its consumers."""
    site = site_of(experiment)
    for target in site.stages:
        for cell in cells_of(site, target):
            for region in sources(site, cell):
                for source in cells_of(site, region.stage):
                    forward = [r for r in consumers(site, source) if r.stage == target]
                    is_target = any(r.has(cell.head, cell.row, cell.column) for r in forward)
                    # A stage that reads another in two places has two regions of it.
                    back = [r for r in sources(site, cell) if r.stage == region.stage]
                    is_source = any(r.has(source.head, source.row, source.column) for r in back)
                    assert is_target == is_source, (cell, source)


def reached(site: SiteTrace, cell: Cell, stage: str) -> set[int]:
    """The rows of `stage` that a cell comes from, all the way back."""
    rows: set[int] = set()
    waiting, seen = [cell], set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        if here.stage == stage:
            rows.add(here.row)
            continue
        for region in sources(site, here):
            shape = site.shape(region.stage)
            heads = range(shape[0]) if len(shape) == 3 else range(1)
            for h in region.heads if region.heads is not None else heads:
                for r in region.rows if region.rows is not None else range(shape[-2]):
                    for c in region.columns if region.columns is not None else range(shape[-1]):
                        waiting.append(Cell(region.stage, r, c, h))
    return rows


@pytest.mark.parametrize("cell", [Cell("scores", 3, 1, 2), Cell("q_rotated", 2, 1, 3), Cell("v", 1, 0, 1)])
def test_a_number_changes_only_with_the_tokens_it_comes_from(cell: Cell) -> None:
    site = site_of(GROUPED)
    before = float(site.window(cell.stage, cell.head)[cell.row, cell.column])
    rows = reached(site, cell, "tokens_embedded")
    for row in range(GROUPED.n_queries):
        values = vectors_array(GROUPED.vectors).copy()
        values[row] += 0.5
        changed = site_of(replace(GROUPED, vectors=ExplicitVectors(Matrix(values))))
        after = float(changed.window(cell.stage, cell.head)[cell.row, cell.column])
        assert (after != before) == (row in rows), row


@pytest.mark.parametrize(
    "cell", [Cell("norm_1", 2, 1), Cell("ffn_hidden", 2, 3), Cell("residual_2", 3, 0), Cell("output", 1, 2)]
)
def test_a_number_of_a_block_changes_only_with_the_tokens_it_comes_from(cell: Cell) -> None:
    experiment = with_fields(
        GROUPED, masks=(), dropout=Dropout(), block=block("pre"), final_norm=Norm("rms")
    )  # a weight of zero would hide where it comes from
    site = site_of(experiment)
    before = float(site.window(cell.stage)[cell.row, cell.column])
    rows = reached(site, cell, "tokens_embedded")
    for row in range(experiment.n_queries):
        values = vectors_array(experiment.vectors).copy()
        values[row, 0] += 0.5
        changed = site_of(replace(experiment, vectors=ExplicitVectors(Matrix(values))))
        after = float(changed.window(cell.stage)[cell.row, cell.column])
        assert (after != before) == (row in rows), row


def test_a_site_knows_where_its_input_comes_from() -> None:
    trace = attnviz.run(STACKS["encoder and decoder"])
    assert trace.site("encoder.1.self").given == {
        "layer_input": Origin("encoder.0.self", "residual_2"),
        "tokens_embedded": Origin("encoder.0.self", "tokens_embedded"),
    }
    assert trace.site("decoder.0.self").given == {}
    assert trace.site("decoder.0.cross").given == {
        "layer_input": Origin("decoder.0.self", "residual_1"),
        "tokens_embedded": Origin("decoder.0.self", "tokens_embedded"),
        "memory": Origin("encoder.1.self", "output"),
    }
    raw = attnviz.run(STACKS["cross over raw memory"])
    assert set(raw.site("layers.1.cross").given) == {"layer_input", "tokens_embedded"}


def test_weights_of_a_row_are_made_of_the_whole_row() -> None:
    site = site_of(GROUPED)
    (region,) = sources(site, Cell("weights", 3, 1, 2))
    assert region == Region("masked", (2,), (3,), None)
    q, k = sources(site, Cell("scores", 3, 1, 3))
    assert q == Region("q_rotated", (3,), (3,), None) and k == Region("k_rotated", (1,), (1,), None)
    pair = sources(site, Cell("q_rotated", 2, 1, 0))[0]
    assert pair == Region("q", (0,), (2,), (0, 1))
    joined = sources(site, Cell("concatenated", 2, 9))[0]
    assert (joined.heads, joined.columns) == ((2,), (1,))  # 9 = 2·4 + 1


def test_which_tokens_a_cell_belongs_to() -> None:
    assert tokens_of(Cell("weights", 3, 1)) == ((3,), (1,))
    assert tokens_of(Cell("q", 2, 0)) == ((2,), ())
    assert tokens_of(Cell("k", 2, 0)) == ((), (2,))
    assert tokens_of(Cell("attention_output", 1, 5)) == ((1,), ())


def test_the_head_of_keys_that_a_query_head_reads() -> None:
    assert [kv_head(sited(GROUPED), head) for head in range(4)] == [0, 0, 1, 1]


def test_a_region_without_bounds_has_everything() -> None:
    anything = Region("scores", None, None, None)
    assert anything.has(9, 9, 9)
    assert not Region("scores", (0,), None, (1, 2)).has(0, 5, 3)


def test_probabilities_read_the_whole_row_of_logits() -> None:
    experiment = small(masks=(Causal(),))
    site = site_of(experiment)
    (region,) = sources(site, Cell("probabilities", 2, 1))
    assert region == Region("logits", (0,), (2,), None)
    assert bind(site.experiment, "probabilities").pattern == "row"
