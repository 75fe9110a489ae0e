"""Arcs over a sentence: what is painted, what a hover, a click and a key store, and the rows of all heads."""

from __future__ import annotations

import numpy as np
import pytest
from desk import count_color, picture, pixels
from msgspec.structs import replace
from panels import PanelBench
from pointer import move
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.shades import head_color
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.stage.stage import StageViewPanel
from attnviz.gui.widgets.arcs import ArcsContent, ArcsView
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.links import MOST_HEADS, word_lines
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.view import Cell, FirstToken

SHE, LILY = 20, 4
"""Query and key of the preset “Who is she?”."""


def bench_of(qtbot: QtBot, document: Document, **look: object) -> PanelBench[StageViewPanel]:
    shown = {"picture": "arcs", "locked": None, "stage": "weights"} | look
    document = replace(document, view=replace(document.view, **shown))
    return PanelBench(qtbot, StageViewPanel, document, 744, 600)


@pytest.fixture(scope="module")
def story() -> Document:
    return load_preset("stories-name")


def story_sites(story: Document) -> tuple[str, ...]:
    return attnviz.run(story.experiment).sites


def arcs_of(bench: PanelBench[StageViewPanel]) -> ArcsView:
    view = bench.find(ArcsView, "arcs")
    assert view.isVisible() and view.arcs is not None
    return view


def peak(view: ArcsView, query: int, key: int) -> QPointF:
    assert view.arcs is not None
    at = view.arcs.peak(query, key)
    assert at is not None
    return QPointF(*at)


def click(view: QWidget, at: QPointF) -> None:
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=at.toPoint())


def test_the_thickest_arc_has_the_hue_of_its_head_and_its_number(qtbot: QtBot, story: Document) -> None:
    bench = bench_of(qtbot, story)
    view = arcs_of(bench)
    weights = attnviz.run(story.experiment).site("layers.2.self")["weights"][2, SHE]
    assert view.strongest == LILY == int(weights.argmax())
    assert view.arcs.thickness(float(weights[LILY])) == pytest.approx(
        view.arcs.measures.thick * weights[LILY]
    )
    foot = view.arcs.keys.places[LILY].middle
    near = QRectF(foot - 6, view.arcs.tops[0] - 12, 12, 10)
    assert count_color(picture(view), head_color(2), near) > 60
    assert "0.949" in view.accessibleDescription()
    before = count_color(picture(view), LIGHT.query)
    assert before > 40, "the word of the query is in its colour"


def test_hover_and_clicks_are_those_of_the_map(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, load_preset("fluffy-blue-creature"), query=3, head=0)
    view = arcs_of(bench)
    at = peak(view, 3, 1)
    move(view, at.toPoint(), held=False)
    assert bench.store.pointer.cell == Cell("weights", 3, 1, 0)
    click(view, at)
    assert bench.store.document.view.locked == Cell("weights", 3, 1, 0)
    click(view, at)
    assert bench.store.document.view.locked is None
    move(view, QPointF(2, 2).toPoint(), held=False)
    assert bench.store.pointer.cell is None
    place = view.arcs.keys.places[2]
    click(view, QPointF(place.middle, view.arcs.tops[0] + 5))
    assert bench.store.document.view.query == 2 and view.content.query == 2


def test_keys_select_the_query_and_walk_its_keys_by_weight(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, load_preset("fluffy-blue-creature"), query=3, head=0)
    view = arcs_of(bench)
    order = np.argsort(-bench.store.trace["weights"][0, 3], kind="stable").tolist()
    for key in order:
        QTest.keyClick(view, Qt.Key.Key_Down)
        assert view.key == key
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert bench.store.document.view.locked == Cell("weights", 3, order[-1], 0)
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert bench.store.document.view.query == 2


def test_every_head_of_the_model_has_its_row_and_a_click_takes_it(qtbot: QtBot, story: Document) -> None:
    bench = bench_of(qtbot, story)
    view, trace = arcs_of(bench), attnviz.run(story.experiment)
    assert [row.head for row in view.content.rows] == [0, 1, 2, 3] * 4
    for row in view.content.rows:
        np.testing.assert_allclose(row.weights, trace.site(row.site)["weights"][row.head, SHE], rtol=1e-6)
    assert view.content.labels[10] == "3·3" and view.content.chosen == ("layers.2.self", 2)
    rects = view.row_rects()
    assert all(one.bottom() <= other.top() + 1e-6 for one, other in zip(rects, rects[1:], strict=False))
    span = view.cell_span(LILY)
    place = view.arcs.keys.places[LILY]
    assert span[0] <= place.left and span[0] + span[1] >= place.right, "a cell lies under its word"
    click(view, QPointF(span[0] + 2, rects[5].center().y()))
    assert (bench.store.document.view.site, bench.store.document.view.head) == ("layers.1.self", 1)
    assert bench.store.document.view.locked is None
    assert view.cell_span(LILY) == span
    click(view, QPointF(span[0] + 4, rects[5].center().y()))
    assert bench.store.document.view.locked == Cell("weights", SHE, LILY, 1)


def test_past_sixteen_heads_the_present_layer_has_its_rows_and_a_stepper(qtbot: QtBot) -> None:
    document = load_preset("fluffy-blue-creature")
    stack = set_n_layers(document.experiment, MOST_HEADS // 4 + 1)
    bench = bench_of(qtbot, replace(document, experiment=stack), site="layers.1.self")
    view = arcs_of(bench)
    assert {row.site for row in view.content.rows} == {"layers.1.self"} and view.content.layer == "layer 2"
    before, after = view._stepper_rects()
    click(view, after.center())
    assert bench.store.document.view.site == "layers.2.self"
    click(view, before.center())
    click(view, before.center())
    click(view, before.center())
    assert bench.store.document.view.site == "layers.0.self"


def test_a_sink_is_left_out_by_itself_and_the_switch_remembers_each_head(
    qtbot: QtBot, story: Document
) -> None:
    bench = bench_of(qtbot, story)
    view, switch = arcs_of(bench), bench.find(Toggle, "first_switch")
    assert view.content.is_first_off and switch.isChecked()
    bench.store.look(picture="map")
    shown = bench.panel.map.content
    weights = attnviz.run(story.experiment).site("layers.2.self")["weights"][2]
    assert shown.is_first_off and shown.levels == (0.0, pytest.approx(weights[:, 1:].max()))
    np.testing.assert_array_equal(shown.values, weights, "no number changes")
    assert bench.panel.map.color_bar.scale.name == "weights · Without first token"
    assert (
        count_color(picture(bench.panel.map), LIGHT.muted, bench.panel.map.layout_shown.cell_rect(9, 0)) > 50
    )
    switch.click()
    assert bench.store.document.view.first_tokens == (FirstToken(2, False, "layers.2.self"),)
    assert not bench.panel.map.content.is_first_off
    assert bench.panel.map.color_bar.scale.name == "weights"
    for site in story_sites(story):
        share = attnviz.run(story.experiment).site(site)["weights"][:, 1:, 0].mean(axis=1)
        for head in range(4):
            if (site, head) != ("layers.2.self", 2):
                bench.store.look(site=site, head=head)
                bench.store.set_trace(bench.store.trace)
                assert switch.isChecked() == (share[head] > 0.3), "the choice is that of one head"
    bench.store.look(site="layers.2.self", head=2)
    bench.store.set_trace(bench.store.trace)
    assert not switch.isChecked()
    bench.panel.switch_first()
    assert bench.store.document.view.first_tokens == (FirstToken(2, True, "layers.2.self"),)
    bench.store.look(picture="arcs")
    assert view.content.is_first_off


def test_the_switch_says_why_one_token_cannot_be_left_out(qtbot: QtBot) -> None:
    document = load_preset("fluffy-blue-creature")
    vectors = attnviz.parts.SeededVectors(1, 2)
    alone = replace(document.experiment, tokens=("a",), vectors=vectors)
    bench = bench_of(qtbot, replace(document, experiment=alone, caption=""), query=0)
    switch = bench.find(Toggle, "first_switch")
    assert not switch.isEnabled() and "one token" in switch.toolTip()
    bench.panel.switch_first()
    assert bench.store.document.view.first_tokens == ()
    arcs_of(bench)


def test_of_two_sequences_the_keys_have_a_line_of_their_own(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, load_preset("cross-attention"), query=1)
    view = arcs_of(bench)
    assert not view.arcs.is_one and len(view.arcs.tops) == 2
    key = view.arcs.keys.places[0]
    click(view, QPointF(key.middle, view.arcs.tops[1] + 5))
    assert bench.store.document.view.locked == Cell("weights", 1, 0, 0)


def test_the_words_left_out_are_counted_with_their_share_and_a_click_shows_them(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, load_preset("long-sentence"), query=80)
    view = arcs_of(bench)
    keys, weights = view.arcs.keys, bench.store.trace["weights"][0, 80]
    (rect, count, share), *_rest = view._cuts(view.arcs)
    assert count == keys.first > 0
    assert share == pytest.approx(float(weights[:count].sum()), rel=1e-5)
    click(view, rect.center())
    assert view.arcs.keys.first < keys.first
    assert view.content.query == 80


def test_the_picture_is_one_of_four_and_other_stages_have_the_map_alone(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, load_preset("fluffy-blue-creature"), query=3)
    switch = bench.find(Segmented, "picture_switch")
    assert [id_ for id_, _label, _tip in switch._options] == ["arcs", "map", "mean", "lines"]
    for picture_id in ("map", "mean", "lines", "arcs"):
        bench.panel.show_picture(picture_id)
        assert bench.store.document.view.picture == picture_id
    bench.store.look(stage="scores")
    assert switch.isHidden() and bench.panel.map.isVisible()
    bench.panel.show_picture("mean")
    assert bench.store.document.view.picture == "arcs", "scores have no mean"


def test_every_number_of_heads_paints_in_every_size(qtbot: QtBot) -> None:
    document = load_preset("fluffy-blue-creature")
    many = replace(
        document.experiment,
        layers=tuple(replace(layer, heads=Heads(64, 64, 2)) for layer in document.experiment.layers),
    )
    bench = bench_of(qtbot, replace(document, experiment=many), head=63)
    view = arcs_of(bench)
    for size in ((200, 110), (400, 200), (1280, 700)):
        bench.panel.resize(*size)
        picture(view)
        shown = [rect for rect in view.row_rects() if rect.isValid()]
        assert all(0 <= rect.top() and rect.bottom() <= view.height() for rect in shown)
        if size[1] > 200:
            assert view.row_rects()[63].isValid(), "the chosen head is in sight"


def test_places_that_are_kept_are_those_of_a_fresh_view(qtbot: QtBot, story: Document) -> None:
    documents = story, load_preset("cross-attention"), load_preset("causal-decode")
    runs = [(document.view, attnviz.run(document.experiment)) for document in documents]
    sites = [(view, trace.site(name)) for view, trace in runs for name in trace.sites]
    kept = ArcsView(large=True)
    qtbot.addWidget(kept)
    kept.resize(700, 300)
    kept.show()
    drawn, reused = np.random.default_rng(5), 0
    for _time in range(60):
        if drawn.random() < 0.4 or not kept.content:
            view, site = sites[drawn.integers(len(sites))]
        lines = word_lines(site, view, site.map, (0,)).of_query(int(drawn.integers(2)))
        content = ArcsContent(lines, following=str(drawn.choice(["", "Lily"])))
        if drawn.random() < 0.3:
            kept.set_lit(int(drawn.integers(-1, 2)))
        if drawn.random() < 0.2:
            kept.resize(int(drawn.integers(300, 1200)), 300)
        before = kept.arcs
        kept.set_content(content, "")
        reused += kept.arcs is before
        fresh = ArcsView(large=True)
        qtbot.addWidget(fresh)
        fresh.resize(kept.size())
        fresh.set_lit(kept.key)
        fresh.set_content(content, "")
        assert kept.arcs == fresh.arcs and kept.following_rect() == fresh.following_rect()
    assert 5 < reused < 55


@pytest.mark.parametrize("height", [600, 330, 280])
def test_labels_of_low_rows_stand_apart(qtbot: QtBot, story: Document, height: int) -> None:
    bench = bench_of(qtbot, story)
    bench.panel.resize(744, height)
    view = arcs_of(bench)
    assert view.content is not None
    rects = view.row_rects()
    named = sorted(view._named_rows(view.content, rects))
    tops = [rects[place].center().y() for place in named if rects[place].isValid()]
    assert view._chosen_row() in named and (height > 400) == (len(named) == len(rects))
    assert all(below - above >= 11 for above, below in zip(tops, tops[1:], strict=False))
    image = picture(view)
    for place in set(named) - {view._chosen_row()}:  # its frame crosses its label
        label = pixels(image, QRectF(17, rects[place].center().y() - 7, 16, 14))
        drawn = (np.abs(label - label[0, 0]).sum(axis=-1) > 120).any(axis=1)
        assert drawn.sum() >= 8, "digits are whole, also where rows are lower"


def test_a_key_in_the_row_of_another_head_is_told_to_nobody(qtbot: QtBot, story: Document) -> None:
    bench = bench_of(qtbot, story)
    view, told = arcs_of(bench), list[tuple[int, int]]()
    view.key_hovered.connect(lambda query, key: told.append((query, key)))
    rects, chosen = view.row_rects(), view._chosen_row()
    span = view.cell_span(LILY)
    assert span is not None
    for row in (chosen, chosen - 1):
        move(view, QPointF(span[0] + span[1] / 2, rects[row].center().y()))
        assert view.key == LILY, "it is lit here"
    assert told == [(SHE, LILY), (-1, -1)]
