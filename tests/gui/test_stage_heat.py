"""The picture of a stage as values: labels, colours, levels, and the cells lit by one in focus."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, byte_level_names, small
from first_layer import stacked, with_fields

import attnviz
from attnviz.core.text import visible
from attnviz.explain.arithmetic.cell import explain
from attnviz.figures.content import content
from attnviz.figures.figure import figure_of
from attnviz.figures.palette import PALETTES
from attnviz.figures.sequences.frames import grown
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT
from attnviz.gui.widgets.heat.stages import axis_labels, highlight, stage_content, stage_title
from attnviz.model.io.tables import Table, table_bytes
from attnviz.model.provenance import sources
from attnviz.model.ranges import range_ends
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.parts import Alibi, Causal, Dropout, Heads, Memory, SeededVectors
from attnviz.model.spec.pieces import Pieces
from attnviz.model.spec.view import Cell, Ranges, View
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.stages import STAGE_BY_ID, STAGES
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace

GROUPED = small(heads=Heads(4, 2, 4), masks=(Causal(),))
CROSS = small(heads=Heads(2, 2, 4), memory=Memory(("un", "chat", "!"), SeededVectors(3, 5, 8)))


def site_of(experiment: attnviz.Experiment) -> SiteTrace:
    return attnviz.run(experiment).only


@pytest.mark.parametrize("name", list(SPREAD))
def test_every_stage_of_every_experiment_can_be_drawn(name: str) -> None:
    site = site_of(SPREAD[name])
    for stage in site.stages:
        for head in (0, 99):
            view = View(stage=stage, head=head, ranges=Ranges.of_all("global"))
            content = stage_content(site, view, stage, LIGHT)
            values = site.array(stage) if hasattr(site, "array") else attnviz.run(SPREAD[name])[stage]
            if values.ndim == 3:
                values = values[min(head, len(values) - 1)]
            np.testing.assert_array_equal(content.values, values)


def test_tokens_and_colours_stand_on_their_axes() -> None:
    site = site_of(CROSS)
    content = stage_content(site, View(), "weights", DARK)
    assert content.row_labels == CROSS.tokens and content.column_labels == ("un", "chat", "!")
    assert (content.row_color, content.column_color) == (DARK.query, DARK.key)
    values = stage_content(site, View(), "v", LIGHT)
    assert values.row_labels == ("un", "chat", "!") and values.row_color == LIGHT.value
    assert values.column_labels == ("0", "1", "2", "3")
    assert axis_labels(site, "feature", 3) == ("0", "1", "2")


def test_only_distributions_have_sums_and_only_masked_stages_are_hatched() -> None:
    site = site_of(GROUPED)
    for stage in site.stages:
        content = stage_content(site, View(), stage, LIGHT)
        assert (content.row_sums is not None) == (stage in ("weights", "dropped", "probabilities"))
        assert (content.blocked is not None) == (stage in ("masked", "weights", "dropped"))
    sums = stage_content(site, View(), "weights", LIGHT).row_sums
    np.testing.assert_allclose(sums, 1.0)


def test_titles_count_the_heads_that_the_stage_has() -> None:
    site = site_of(GROUPED)
    assert stage_title(site, View(head=3), "scores") == "scores · head 4 of 4"
    assert stage_title(site, View(head=3), "k") == "k · KV head 2 of 2"
    assert stage_title(site, View(head=3), "attention_output") == "attention output"


def test_one_scale_for_all_heads_spans_all_finite_unblocked_cells() -> None:
    site = site_of(GROUPED)
    scores = attnviz.run(GROUPED)["scores"]
    hidden = np.triu(np.ones((5, 5), dtype=bool), 1)
    largest = np.abs(scores[:, ~hidden]).max()
    assert range_ends(site, "scores", "global", (0,)) == pytest.approx((-largest, largest))
    content = stage_content(site, View(ranges=Ranges.of_all("global")), "scores", LIGHT)
    assert content.levels == pytest.approx((-largest, largest))


def test_a_cell_lights_itself_its_row_and_column_and_its_sources() -> None:
    site, view = site_of(GROUPED), View(head=1)
    focus = Cell("scores", 3, 2, 1)
    here = highlight(site, view, "scores", focus)
    assert here.cell == (3, 2) and here.rows == {3} and here.columns == {2} and not here.locked
    queries = highlight(site, view, "q", focus)
    assert queries.cell is None and queries.rows == {3}
    assert queries.cells == {(3, feature) for feature in range(4)}
    assert highlight(site, view, "k", focus).rows == {2}
    elsewhere = highlight(site, view, "q", focus, head=2)
    assert elsewhere.cells == frozenset()  # another head is not made of these numbers


def test_the_sources_that_are_lit_are_those_of_the_provenance_rules() -> None:
    site = site_of(GROUPED)
    for stage in site.stages:
        shape = site.shape(stage)
        cell = Cell(stage, shape[-2] - 1, shape[-1] - 1, 0)
        for region in sources(site, cell):
            lit = highlight(site, View(), region.stage, cell)
            rows, columns = site.shape(region.stage)[-2:]
            expected = {(r, c) for r in range(rows) for c in range(columns) if region.has(0, r, c)}
            whole = {(r, c) for r in lit.rows for c in range(columns)}
            whole |= {(r, c) for c in lit.columns for r in range(rows)}
            assert expected <= lit.cells | whole, (stage, region.stage)


def test_a_locked_cell_is_marked_as_such() -> None:
    cell = Cell("weights", 1, 0, 0)
    assert highlight(site_of(GROUPED), View(locked=cell), "weights", cell).locked


def test_a_cell_that_is_not_there_lights_nothing() -> None:
    site = site_of(with_fields(GROUPED, masks=()))
    for cell in (None, Cell("masked", 0, 0), Cell("scores", 99, 0), Cell("scores", 0, 0, 9)):
        assert highlight(site, View(), "scores", cell) == NO_HIGHLIGHT
    assert STAGE_BY_ID["masked"].id not in site.stages


def test_the_orientation_turns_the_picture_and_not_the_numbers() -> None:
    site = site_of(CROSS)
    upright = stage_content(site, View(), "weights", LIGHT)
    turned = stage_content(site, View(orientation="queries_as_columns"), "weights", LIGHT)
    assert turned.transposed and not upright.transposed
    np.testing.assert_array_equal(upright.values, turned.values)
    assert turned.row_labels == upright.row_labels


@pytest.mark.parametrize("stage", [stage.id for stage in STAGES if stage.score_shaped])
def test_a_cell_has_one_value_however_it_is_read(stage: str) -> None:
    """In float32 another shape of the same product may end in another digit: no reader may show one."""
    wide = stacked(
        tuple("abcdefghijklmnopqrstuvwxyz"),
        SeededVectors(26, 128, 1),
        heads=Heads(4, 4, 32),
        masks=(Causal(),),
        cap=3.0,
        position=Alibi(),
        dropout=Dropout(0.1),
        dtype="float32",
    )
    for is_whole_first in (False, True):
        site = attnviz.run(wide).only
        if stage not in site.stages:
            return
        if is_whole_first:
            site.window(stage, 2)
        cells = [(row, column) for row in (0, 7, 25) for column in (0, 3, 7, 25)]
        alone = [site.window(stage, 2, slice(r, r + 1), slice(c, c + 1))[0, 0] for r, c in cells]
        rows = [site.window(stage, 2, slice(r, r + 1))[0, c] for r, c in cells]
        drawn = stage_content(site, View(head=2), stage, LIGHT).values
        figure = content(site, View(), stage, 2, PALETTES[0]).maps[0].values
        whole = site[stage][2]
        text = table_bytes(Table.of(site, stage, 2), "csv").decode("utf-8-sig")
        table = [line.split(",")[1:] for line in text.splitlines()[1:]]
        for index, (row, column) in enumerate(cells):
            opened = explain(site, Cell(stage, row, column, 2)).value
            values = [alone[index], rows[index], drawn[row, column], figure[row, column]]
            values += [opened, np.float32(float(table[row][column]))]
            np.testing.assert_array_equal(np.array(values), np.full(6, whole[row, column]))


def test_the_tokens_of_a_byte_level_model_are_read_wherever_they_are_named() -> None:
    """GPT-2 writes a space as Ġ and the bytes of a character as other letters."""
    names = byte_level_names("Ġthe", "å°ı")
    tokens, written = ("Ġthe", "å°ı", "Ċ", "å"), (" the", "小", "\n", "⟨E5⟩")
    rows = np.arange(len(names) * 2.0).reshape(-1, 2)
    vocabulary = Vocabulary(names, Matrix(rows), pieces=Pieces("byte_level"))
    made = attnviz.Experiment(tokens, SeededVectors(len(tokens), 2, 0), vocabulary=vocabulary)
    trace = attnviz.run(made)
    site = trace.site(trace.sites[0])
    assert site.labels("query") == tokens and site.names("query") == site.names("key") == written
    heat = stage_content(site, View(), "weights", LIGHT)
    assert heat.row_labels == heat.column_labels == written
    shown = tuple(map(visible, written))
    assert tuple(shown_token(vocabulary, token) for token in tokens) == shown
    figure = figure_of("stage", Subject(trace, View()), Style())
    assert set(shown) <= {text.get_text() for text in figure.axes[0].texts}
    name = explain(site, Cell("weights", 1, 0)).lines[0].name
    assert all(token in "".join(part.text for part in name) for token in (shown[0], shown[1]))
    gradient = attnviz.backward(made, "layers.0.self.weights[0, 1, 0]")
    for other in (gradient, gradient.product, grown(trace, 2)):
        part = other.site(trace.sites[0])
        assert part.names("key")[:2] == written[:2]
        assert content(part, View(), "weights", 0, PALETTES[0]).across.room == shown
