"""The large view: title, formula, flag, the row in focus, and what a click and a stroke store."""

from __future__ import annotations

import io

import numpy as np
import pytest
from desk import count_color, picture
from experiments import sited
from first_layer import change
from msgspec.structs import replace
from panels import PanelBench
from PIL import Image
from pointer import drag, move, press, release
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QToolButton
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.core.levels import RANGES
from attnviz.figures.content import content
from attnviz.figures.palette import PALETTES
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.stage.side import MOST_BARS
from attnviz.gui.panels.stage.stage import SIDE_FROM, StageViewPanel
from attnviz.gui.widgets.formula_line import FormulaLine
from attnviz.gui.widgets.heat.margins import shares
from attnviz.gui.widgets.lines import WordLinesView
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.pictures.patches import KEYS, PatchesView
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit import edits
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.io.presets import load_preset
from attnviz.model.masks import mask_of
from attnviz.model.sites.sites import at
from attnviz.model.spec.document import Document
from attnviz.model.spec.image import Image as Patches
from attnviz.model.spec.parts import Causal, Padding, Painted
from attnviz.model.spec.view import Cell, Lines, Ranges
from attnviz.model.stages import STAGE_BY_ID


def make(qtbot: QtBot, preset: str = "fluffy-blue-creature") -> PanelBench[StageViewPanel]:
    bench = PanelBench(qtbot, StageViewPanel, preset, 720, 420)
    bench.store.look(locked=None, stage="weights")
    bench.find(Toggle, "side_button").click()
    return bench


def text(bench: PanelBench[StageViewPanel], name: str) -> str:
    return bench.find(QLabel, name).text()


def click(bench: PanelBench[StageViewPanel], row: int, column: int) -> None:
    at = bench.panel.map.cell_center(row, column).toPoint()
    press(bench.panel.map, at)
    release(bench.panel.map, at)


def test_every_stage_is_shown_with_its_formula(qtbot: QtBot) -> None:
    bench = make(qtbot)
    trace = attnviz.run(bench.store.experiment)
    for stage in trace.only.stages:
        bench.store.look(stage=stage)
        values = trace[stage]
        np.testing.assert_array_equal(
            bench.panel.map.content.values, values[0] if values.ndim == 3 else values
        )
        assert text(bench, "stage_formula") == STAGE_BY_ID[stage].formula
        assert bench.panel.map.accessibleName() == text(bench, "stage_title")


def test_the_row_of_the_query_in_focus(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.look(query=2)
    bars = bench.find(Bars, "row_bars")
    assert text(bench, "row_title") == "ROW OF “blue”"
    assert bars.sizeHint().height() == 4 * 24
    weights = attnviz.run(bench.store.experiment)["weights"][0, 2]
    lengths = [bars.bar_rect(i).width() for i in range(3)]
    assert lengths[0] / lengths[2] == pytest.approx(weights[0] / weights[2], rel=0.05)
    move(bench.panel.map, bench.panel.map.cell_center(1, 0).toPoint(), held=False)
    assert text(bench, "row_title") == "ROW OF “fluffy”"
    move(bench.panel.map, QPoint(1, 1), held=False)
    assert text(bench, "row_title") == "ROW OF “blue”"


def test_of_a_long_row_the_part_around_the_query_is_drawn(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.edit(edits.set_n_tokens, 500)
    bench.store.look(query=400)
    bars = bench.find(Bars, "row_bars")
    assert bars.sizeHint().height() == MOST_BARS * 24
    at = bars.row_rect(5).center()
    press(bars, at)
    release(bars, at)
    padding = mask_of(sited(bench.store.experiment), Padding)
    assert padding == Padding((400 - MOST_BARS // 2 + 5,))


def test_a_second_click_frees(qtbot: QtBot) -> None:
    bench = make(qtbot)
    click(bench, 2, 1)
    assert bench.store.document.view.locked == Cell("weights", 2, 1, 0)
    click(bench, 2, 1)
    assert bench.store.document.view.locked is None
    assert bench.store.document.view.query == 2


def test_a_cell_that_is_locked_in_another_layer_moves_no_row(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.edit(set_n_layers, 2)
    row = text(bench, "row_title")
    assert row == "ROW OF “creature”"
    bench.store.look(locked=Cell("weights", 2, 1, site="layers.1.self"))
    assert text(bench, "row_title") == row
    assert bench.panel.map.highlight.cell is None
    bench.store.look(site="layers.1.self")
    assert text(bench, "row_title") == "ROW OF “blue”"


def test_an_emptied_row_is_flagged(qtbot: QtBot) -> None:
    bench = make(qtbot)
    assert text(bench, "stage_flag") == ""
    bench.store.edit_attention(edits.set_padding, 0, True)
    assert text(bench, "stage_flag") == "fully masked: a → 0"
    change(bench.store, fully_masked_row="nan")
    assert text(bench, "stage_flag") == "fully masked: a → NaN"
    assert np.isnan(bench.panel.map.content.values[0]).all()
    change(bench.store, mask_bias=-1e4)
    assert text(bench, "stage_flag") == "fully masked: a → softmax"
    assert bench.panel.map.content.blocked is None and bench.panel.map.content.values[0].min() > 0
    bench.store.look(stage="q")
    assert text(bench, "stage_flag") == ""


def test_nan_has_a_mark_of_its_own(qtbot: QtBot) -> None:
    bench = make(qtbot)
    change(bench.store, masks=(), position=attnviz.parts.NoPosition())
    for empty in (False, True):
        change(bench.store, masks=(Padding((0, 1, 2, 3)),) if empty else (), fully_masked_row="nan")
        rect = bench.panel.map.layout_shown.cell_rect(0, 0)
        assert (count_color(picture(bench.panel.map), LIGHT.error, rect, 8) > 5) == empty


def test_a_mask_after_the_softmax_shows_sums_below_one(qtbot: QtBot) -> None:
    bench = make(qtbot)
    change(bench.store, mask_placement="after_softmax")
    sums = bench.panel.map.content.row_sums
    assert sums is not None and (sums[:-1] < 1).all() and sums[-1] == pytest.approx(1)


def test_every_range_is_offered_and_the_bar_shows_its_ends(qtbot: QtBot) -> None:
    bench = make(qtbot)
    box = bench.find(QComboBox, "range_box")
    offered = [row.id for row in RANGES if not row.skips_first]  # the first token has a switch
    assert [box.itemData(i) for i in range(box.count())] == offered
    bench.store.look(ranges=Ranges.of_all("log"))
    assert box.currentData() == "log"


def test_the_bar_of_window_and_figure_names_the_quantity_before_its_range(qtbot: QtBot) -> None:
    bench = make(qtbot)
    for stage, quantity, range_id, of, said in (
        ("weights", "weights", "head", "This head", "weights"),
        ("weights", "weights", "global", "All heads", "weights · All heads"),
        ("attention_output", "attention output", "head", "This map", "attention output"),
    ):
        bench.store.look(stage=stage, ranges=Ranges.of_all(range_id))
        shown, view = bench.panel.map.color_bar.scale, bench.store.document.view
        assert (shown.name, shown.quantity) == (said, quantity)
        drawn = content(bench.store.drawn_site, view, stage, None, PALETTES[0])
        assert drawn.scale.named(drawn.quantity) == shown.name
        assert bench.find(QComboBox, "range_box").currentText() == of


def test_strokes_are_for_scores_only(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.set_paint_mode(True)
    bench.store.look(stage="q")
    before = bench.store.experiment
    center = bench.panel.map.cell_center(0, 0).toPoint()
    drag(bench.panel.map, center, QPoint(60, 40))
    assert bench.store.experiment == before
    bench.store.look(stage="scores")
    drag(bench.panel.map, bench.panel.map.cell_center(3, 0).toPoint(), QPoint(2, 2))
    assert mask_of(sited(bench.store.experiment), Painted) == Painted(((3, 0),))
    assert bench.store.experiment.layers[0].masks[0] == Causal()


def test_the_title_names_the_layer_where_there_are_several(qtbot: QtBot) -> None:
    stack = set_n_layers(load_preset("fluffy-blue-creature").experiment, 2)
    bench = PanelBench(qtbot, StageViewPanel, Document(stack), 720, 420)
    bench.store.look(stage="weights", site="layers.1.self")
    assert "layer 2 of 2 · weights · head 1 of 4" in bench.find(QLabel, "stage_title").toolTip()


def test_a_stroke_and_a_bar_change_the_layer_that_is_looked_at(qtbot: QtBot) -> None:
    stack = set_n_layers(load_preset("fluffy-blue-creature").experiment, 2)
    bench = PanelBench(qtbot, StageViewPanel, Document(stack), 720, 420)
    bench.store.look(stage="weights", site="layers.1.self")
    bench.find(Bars, "row_bars").clicked.emit(2)
    first, second = (at(bench.store.experiment, f"layers.{layer}.self") for layer in (0, 1))
    assert mask_of(first, Padding) is None and mask_of(second, Padding) == Padding((2,))
    bench.panel.map.cell_stroked.emit(3, 0, True)
    first, second = (at(bench.store.experiment, f"layers.{layer}.self") for layer in (0, 1))
    assert mask_of(first, Painted) is None and mask_of(second, Painted) == Painted(((3, 0),))


def test_a_symbol_lights_its_stage_and_is_lit_by_it(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.look(stage="scores")
    formula = bench.find(FormulaLine, "stage_formula")
    formula.resize(formula.sizeHint())
    rect = next(r for part, r in formula.part_rects() if part.text == "k")
    move(formula, rect.center().toPoint(), held=False)
    assert bench.store.pointer.stage == "k_rotated" and formula.lit == "k_rotated"
    lit = picture(formula)
    bench.store.set_stage_hover("weights")
    assert picture(formula) != lit
    press(formula, rect.center().toPoint())
    release(formula, rect.center().toPoint())
    assert bench.store.document.view.stage == "k_rotated"


def test_a_range_belongs_to_a_kind_of_stage_on_the_screen_and_in_the_figure(qtbot: QtBot) -> None:
    bench = make(qtbot)
    box, shades = bench.find(QComboBox, "range_box"), PALETTES[0]

    def choose(stage: str, range_id: str) -> None:
        bench.store.look(stage=stage)
        box.setCurrentIndex(box.findData(range_id))
        box.activated.emit(box.currentIndex())

    choose("scores", "symmetric")
    choose("q", "row")
    kinds = {"scores": "symmetric", "masked": "symmetric", "q": "row", "mixed": "row", "weights": "head"}
    for stage, range_id in kinds.items():
        bench.store.look(stage=stage)
        assert box.currentData() == range_id
        assert bench.panel.map.content.range_id == range_id
        scale = content(bench.store.site, bench.store.document.view, stage, 0, shades).scale
        assert scale.range_id == range_id
    bench.store.look(stage="weights")
    assert bench.panel.map.content.kind == "sequential"
    scale = content(bench.store.site, bench.store.document.view, "weights", 0, shades).scale
    assert (scale.kind, scale.low) == ("sequential", 0.0)


def test_with_queries_as_columns_the_bars_are_of_a_column(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.look(orientation="queries_as_columns")
    assert text(bench, "row_title").startswith("COLUMN OF “")


def test_the_side_is_folded_in_a_narrow_card_until_the_user_decides(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", SIDE_FROM - 1, 420)
    switch, bars = bench.find(Toggle, "side_button"), bench.find(Bars, "row_bars")
    seen = [bars.isVisible()]
    for width in (SIDE_FROM, SIDE_FROM - 1):
        bench.panel.resize(width, 420)
        assert switch.isChecked() == bars.isVisible()
        seen.append(bars.isVisible())
    assert seen == [False, True, False]
    switch.click()
    assert bars.isVisible() and text(bench, "row_title") == "ROW OF “creature”"
    bench.panel.resize(SIDE_FROM + 100, 420)
    switch.click()
    assert not bars.isVisible()


def test_the_title_line_names_the_document_before_all_else(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 320)
    formula, header = bench.find(FormulaLine, "stage_formula"), bench.panel.header()
    assert text(bench, "document_name") == "A fluffy blue creature"
    assert formula.isHidden()
    bench.find(Toggle, "formula_switch").click()
    assert bench.store.document.view.parts == ("entropy", "formula")
    for width in (900, 360):
        header.resize(width, header.sizeHint().height())
        QApplication.processEvents()
        assert formula.isHidden() == (width < 640)
        name = bench.find(QLabel, "document_name")
        assert name.width() >= min(name.sizeHint().width(), width // 6)
        assert text(bench, "stage_title") == ("weights · head 1" if width < 640 else "weights · head 1 of 4")


@pytest.mark.parametrize(("preset", "width"), [("encoder-only", 640), ("fluffy-blue-creature", 640)])
def test_the_title_line_shows_both_names_whole_before_its_boxes(
    qtbot: QtBot, preset: str, width: int
) -> None:
    bench = PanelBench(qtbot, StageViewPanel, preset, width + 20, 420)
    bench.panel.header().resize(width, bench.panel.header().sizeHint().height())
    QApplication.processEvents()
    for name in ("document_name", "stage_title"):
        label = bench.find(QLabel, name)
        assert label.isVisible()
        assert label.width() >= label.fontMetrics().horizontalAdvance(label.text())


def test_the_title_line_settles_at_every_width(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 420)
    header = bench.panel.header()
    formula = bench.find(FormulaLine, "stage_formula")
    bench.store.look(parts=("formula",))
    seen = set()
    for width in range(300, 1000, 7):  # at some of them the formula has just no room beside the names
        header.resize(width, header.sizeHint().height())
        QApplication.processEvents()
        settled = formula.isHidden()
        header._fit()
        assert formula.isHidden() == settled, width
        seen.add(settled)
    assert seen == {True, False}


def test_thirteen_tokens_fill_the_card_of_the_smallest_window(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 728, 543)
    bench.store.edit(edits.set_n_tokens, 13)
    geometry = bench.panel.map.layout_shown
    assert min(geometry.plot.width(), geometry.plot.height()) >= 400
    assert geometry.cell_w / geometry.cell_h <= 1.3


NO_KEY, CTRL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier


def click_row_label(bench: PanelBench[StageViewPanel], row: int) -> None:
    at, plot = bench.panel.map.cell_center(row, 0), bench.panel.map.layout_shown.plot
    QTest.mouseClick(
        bench.panel.map, Qt.MouseButton.LeftButton, NO_KEY, QPointF(plot.left() - 12, at.y()).toPoint()
    )


def click_column_label(
    bench: PanelBench[StageViewPanel], column: int, modifier: Qt.KeyboardModifier = NO_KEY
) -> None:
    at, plot = bench.panel.map.cell_center(0, column), bench.panel.map.layout_shown.plot
    place = QPointF(at.x(), plot.top() - 8).toPoint()
    QTest.mouseClick(bench.panel.map, Qt.MouseButton.LeftButton, modifier, place)


def test_labels_choose_the_query_and_the_keys_whose_share_is_summed(qtbot: QtBot) -> None:
    bench = make(qtbot)
    click_row_label(bench, 2)
    assert bench.store.document.view.query == 2
    click_column_label(bench, 0)
    click_column_label(bench, 2, CTRL)
    assert bench.store.document.view.keys == (0, 2)
    weights = attnviz.run(bench.store.experiment)["weights"][0]
    np.testing.assert_allclose(shares(bench.panel.map.content), weights[:, 0] + weights[:, 2])
    click_column_label(bench, 0, CTRL)
    assert bench.store.document.view.keys == (2,)
    click_column_label(bench, 2)
    assert bench.store.document.view.keys == () and bench.store.document.view.locked is None
    bench.store.look(stage="q")
    click_column_label(bench, 1)
    assert bench.store.document.view.keys == ()


def test_a_zoomed_map_moves_to_what_is_chosen_in_another_panel(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.edit(edits.set_n_tokens, 40)
    bench.store.look(query=0)
    one = bench.panel.map
    one.zoom_by(6, one.layout_shown.plot.topLeft())
    corner = one.layout_shown.offset
    bench.store.look(head=1)
    bench.store.set_hover(Cell("weights", 39, 39, 1))  # a preview moves nothing
    assert one.layout_shown.offset == corner
    bench.store.look(query=20)
    assert one.cell_center(20, 0).y() == pytest.approx(one.layout_shown.plot.center().y())
    assert one.layout_shown.offset.x() == corner.x()
    bench.store.look(locked=Cell("scores", 30, 25, 1))
    assert one.cell_center(30, 25) == one.layout_shown.plot.center()
    bench.store.look(locked=None, query=5)
    assert one.cell_center(5, 25) == one.layout_shown.plot.center()


def test_chosen_keys_past_the_end_are_left_out(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.store.look(keys=(1, 3))
    bench.store.edit(edits.set_n_tokens, 3)
    assert bench.panel.map.content.chosen == (1,)


def test_each_key_has_its_mean_weight(qtbot: QtBot) -> None:
    bench = make(qtbot)
    weights = attnviz.run(bench.store.experiment)["weights"][0]
    np.testing.assert_allclose(bench.panel.map.content.column_means, weights.mean(axis=0))
    change(bench.store, masks=(Causal(), Padding((0,))), fully_masked_row="nan")
    weights = attnviz.run(bench.store.experiment)["weights"][0]
    assert np.isnan(weights[0]).all()
    np.testing.assert_allclose(bench.panel.map.content.column_means, weights[1:].mean(axis=0))
    bench.store.look(stage="scores")
    assert bench.panel.map.content.column_means is None


def test_a_long_map_proposes_a_range_in_which_it_can_be_read(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "long-sentence", 720, 420)
    link = bench.find(QToolButton, "range_proposal")
    assert link.isVisible() and link.text() == "Try: Each row"
    link.click()
    assert bench.store.document.view.range_of("weights") == "row" and not link.isVisible()
    assert bench.panel.map.content.range_id == "row"
    bench.store.edit(edits.set_n_tokens, 8)
    bench.store.look(ranges=Ranges())
    assert not link.isVisible()


def test_weights_are_drawn_as_lines_by_a_switch_and_other_stages_as_maps(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 420)
    bench.store.look(locked=None, stage="weights", query=3)
    words, switch = bench.find(WordLinesView, "word_lines"), bench.find(Segmented, "picture_switch")
    assert bench.panel.map.isVisible() and not words.isVisible()
    bench.find(QAbstractButton, "segment_lines").click()
    assert bench.store.document.view.picture == "lines"
    assert words.isVisible() and not bench.panel.map.isVisible()
    assert bench.store.document.view.lines == Lines("all", "one")
    assert bench.find(QComboBox, "range_box").isHidden()
    assert words.query == 3 and words.accessibleName().startswith(text(bench, "stage_title"))
    for kind, id_ in (("queries", "one"), ("heads", "all"), ("queries", "all")):
        chooser = bench.find(Segmented, f"lined_{kind}")
        chooser.findChild(QAbstractButton, f"segment_{id_}").click()
        assert getattr(bench.store.document.view.lines, kind) == id_
    assert bench.store.document.view.lines == Lines("all", "all")
    assert words.lines is not None and words.lines.query is None and len(words.lines.heads) == 4
    bench.store.look(stage="scores")
    assert bench.panel.map.isVisible() and not words.isVisible() and not switch.isVisible()
    bench.store.look(stage="weights")
    assert words.isVisible() and bench.panel.focusProxy() is words


def test_weights_between_the_patches_of_an_image_are_drawn_on_it(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 420)
    file = io.BytesIO()
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4, :4, 0] = 255  # the first patch is red
    Image.fromarray(pixels).save(file, "PNG")
    document = bench.store.document
    assert document.experiment.n_queries == 4
    bench.store.open(replace(document, image=Patches(file.getvalue(), rows=2, columns=2)))
    bench.store.look(locked=None, stage="weights", query=3)
    patches = bench.find(PatchesView, "patches")
    assert bench.panel.map.isVisible() and not patches.isVisible()
    shown, first = picture(bench.panel.map), bench.panel.map.cell_center(0, 0)
    left = QRectF(0, first.y() - 4, bench.panel.map.layout_shown.plot.left() - 4, 8)
    assert count_color(shown, "#ff0000", left, 2) > 40  # its label is its picture
    assert count_color(shown, "#ff0000", left.translated(0, 60), 2) == 0
    bench.find(QAbstractButton, "segment_patches").click()
    assert bench.store.document.view.picture == "patches"
    assert patches.isVisible() and not bench.panel.map.isVisible()
    np.testing.assert_allclose(patches.weights, bench.store.trace["weights"][0, 3], rtol=1e-6)
    at = patches.token_rect(KEYS, 1).center().toPoint()
    QTest.mouseClick(patches, Qt.MouseButton.LeftButton, NO_KEY, at)
    assert bench.store.document.view.locked == Cell("weights", 3, 1, 0)
    bench.store.look(stage="scores")
    assert bench.panel.map.isVisible() and not patches.isVisible()
    bench.store.look(stage="weights", locked=None)
    bench.store.edit(edits.set_n_tokens, 5)  # no longer the patches of the image
    assert bench.panel.map.isVisible() and bench.panel.findChild(QAbstractButton, "segment_patches") is None


def test_the_mean_of_the_heads_is_a_map_whose_cells_open_the_head_behind_them(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 420)
    bench.store.look(locked=None, stage="weights", head=0)
    bench.find(QAbstractButton, "segment_mean").click()
    assert bench.store.document.view.picture == "mean" and bench.panel.map.isVisible()
    weights = bench.store.trace["weights"]
    np.testing.assert_allclose(bench.panel.map.content.values, weights.mean(axis=0), rtol=1e-6)
    assert text(bench, "stage_title").startswith("weights · mean")
    assert bench.panel.map.content.title == f"weights · mean of {len(weights)} heads"
    click(bench, 3, 1)
    assert bench.store.document.view.locked == Cell("weights", 3, 1, int(weights[:, 3, 1].argmax()))
    assert bench.panel.map.highlight.cell == (3, 1) and bench.panel.map.highlight.locked
    bench.store.edit(edits.set_vector_cell, 0, 0, 2.0)
    np.testing.assert_allclose(
        bench.panel.map.content.values, bench.store.trace["weights"].mean(axis=0), rtol=1e-6
    )
    bench.store.look(stage="scores")
    assert bench.panel.map.content.values.shape == weights.shape[1:] and "mean" not in text(
        bench, "stage_title"
    )


def test_words_point_at_cells_and_select_queries(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 420)
    bench.store.look(locked=None, stage="weights", query=3, picture="lines")
    words = bench.find(WordLinesView, "word_lines")
    places = words.columns
    key = QPointF(places.right + 8, places.y(1)).toPoint()
    query = QPointF(places.left - 8, places.y(2)).toPoint()
    move(words, key, held=False)
    assert bench.store.pointer.cell == Cell("weights", 3, 1, 0)
    QTest.mouseClick(words, Qt.MouseButton.LeftButton, NO_KEY, key)
    assert bench.store.document.view.locked == Cell("weights", 3, 1, 0)
    QTest.mouseClick(words, Qt.MouseButton.LeftButton, NO_KEY, query)
    assert bench.store.document.view.query == 2 and bench.store.document.view.locked is None


def test_the_selected_query_scrolls_into_sight_among_many_words(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "long-sentence", 720, 420)
    bench.store.look(locked=None, stage="weights", query=3, picture="lines")
    words = bench.find(WordLinesView, "word_lines")

    def is_in_sight(query: int) -> bool:
        qtbot.wait(20)
        places = words.columns
        place = QRectF(0, places.y(query) - places.row / 2, 1, places.row).toAlignedRect()
        return words.visibleRegion().boundingRect().contains(place)

    assert is_in_sight(3) and not is_in_sight(100)
    for query in (100, 127, 0):
        bench.store.look(query=query)
        assert is_in_sight(query)
    bench.store.look(picture="map", query=90)
    bench.store.look(picture="lines")
    assert is_in_sight(90)


def test_a_query_beyond_the_drawn_words_is_the_last_one(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, StageViewPanel, "fluffy-blue-creature", 720, 420)
    bench.store.look(locked=None, stage="weights", query=1, picture="lines")
    words = bench.find(WordLinesView, "word_lines")
    words.set_chosen(9, -1)
    assert words.query == 3 and words.key == -1
    picture(words)  # raises what its paintEvent raises
    words.set_chosen(2, 9)
    assert (words.query, words.key) == (2, 3)


def test_a_double_click_that_shows_the_whole_map_locks_no_cell(qtbot: QtBot) -> None:
    bench = make(qtbot)
    bench.panel.map.zoom_by(2.0, bench.panel.map.cell_center(2, 1))
    at = bench.panel.map.cell_center(2, 1).toPoint()
    press(bench.panel.map, at)
    release(bench.panel.map, at)
    assert bench.store.document.view.locked == Cell("weights", 2, 1, 0)
    QTest.mouseDClick(bench.panel.map, Qt.MouseButton.LeftButton, NO_KEY, at)
    assert bench.store.document.view.locked is None
    assert bench.panel.map.layout_shown.visible() == (0, 4, 0, 4)
