"""The grid of heads: painted from the trace, clicked to go there, framed by a score."""

from __future__ import annotations

from typing import Any, get_args
from unittest.mock import Mock

import numpy as np
import pytest
from desk import Desk, MakeDesk, color_in, count_color, picture
from first_layer import change
from PySide6.QtCore import QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel

from attnviz.analysis import Target, ablate, head_scores
from attnviz.checkpoints.presets import load_preset as load_story
from attnviz.compute.execute import execute
from attnviz.compute.scheduler import Stopped
from attnviz.core.head_scores import HEAD_SCORES
from attnviz.core.text import number, signed
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.colors import LEVELS, cell_colors
from attnviz.gui.panels.grid.grid import GridPanel
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.linked_text import LinkedText
from attnviz.gui.widgets.segmented import Segmented
from attnviz.model.edit import edits
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.io.files import dumps, loads
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Frames, HeadGrid
from attnviz.study.heads.tiles import facts_of


def panel_of(desk: Desk) -> GridPanel:
    """The panel in its workspace."""
    panel = desk.window.panels["grid"]
    assert isinstance(panel, GridPanel)
    desk.go("model")
    desk.qtbot.waitUntil(panel.isVisible)
    panel.set_seen(True)
    return panel


def asked_of(answer: Answer[Any, Any]) -> list[Any]:
    """The questions to a worker from now on."""
    asked: list[Any] = []

    def on_changed() -> None:
        if answer.is_due:
            asked.append(answer.asked)

    answer.changed.connect(on_changed)
    return asked


def said(desk: Desk) -> str:
    line, links = desk.find(ElidedLabel, "grid_said"), desk.find(LinkedText, "grid_best")
    assert line.isHidden() != links.isHidden()
    return links.toPlainText() if line.isHidden() else line.text()


def test_every_head_is_there_and_painted_in_the_colours_of_its_numbers(make_desk: MakeDesk) -> None:
    desk = make_desk("grouped-query")
    desk.store.look(stage="weights")
    panel = panel_of(desk)
    assert len(panel.tiles) == 8
    assert desk.find(QLabel, "grid_title").text() == "8 heads · 8 tokens · weights"
    words, scores = desk.find(QLabel, "grid_color_by"), desk.find(Segmented, "grid_score")
    assert words.isHidden() == (scores.sizeHint().width() + words.sizeHint().width() + 8 > panel.width())
    assert scores.width() >= min(scores.sizeHint().width(), panel.width())
    image, grid = picture(panel.canvas), panel.canvas.grid
    colors = cell_colors("sequential", desk.theme)
    for head in range(8):
        weights = desk.store.site["weights"][head]
        box = grid.rect(0, 0, head)
        for row, column in ((7, 0), (7, 7), (5, 2), (0, 0)):
            at = QPointF(
                box.left() + (column + 0.5) * box.width() / 8, box.top() + (row + 0.5) * box.height() / 8
            )
            wanted = colors[round(float(weights[row, column] / weights.max()) * (LEVELS - 1))]
            got = np.array(color_in(image, at).getRgb()[:3])
            assert np.abs(got - wanted).max() <= 3, (head, row, column)
        masked = QPointF(box.right() - 3, box.top() + 3)
        assert color_in(image, masked) == QColor(desk.theme.ground)


def test_one_head_is_counted_in_the_singular(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel_of(desk)
    desk.qtbot.waitUntil(lambda: desk.find(QLabel, "grid_title").text() == "1 head · 4 tokens · weights")


def test_a_click_goes_to_the_layer_and_the_head(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    panel = panel_of(desk)
    place = (0, 1, 1)
    desk.click(panel.canvas, panel.canvas.grid.rect(*place).center())
    assert (desk.store.document.site, desk.store.document.view.head) == ("layers.1.self", 1)
    image, box = picture(panel.canvas), panel.canvas.grid.rect(*place)
    around = box.adjusted(-5, -5, 5, 5)
    assert count_color(image, desk.theme.ink, around) > 4 * box.width()
    desk.store.look(site="layers.0.self", head=0)
    assert count_color(picture(panel.canvas), desk.theme.ink, around) < box.width()


def test_a_head_that_is_switched_off_is_struck_and_named_so(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    desk.store.look(site="layers.1.self")
    panel = panel_of(desk)
    on, off = panel.canvas.grid.rect(0, 1, 0), panel.canvas.grid.rect(0, 1, 1)
    before = count_color(picture(panel.canvas), desk.theme.muted, off)
    desk.store.edit_attention(edits.toggle_head, 1)
    desk.settle()
    image = picture(panel.canvas)
    assert count_color(image, desk.theme.muted, off) > before + off.width() / 2
    assert count_color(image, desk.theme.muted, on) == before
    desk.hover(panel.canvas, off.center())
    desk.qtbot.waitUntil(lambda: said(desk).startswith("layer 2 of 2 · head 2 · switched off · "))
    desk.store.edit_attention(edits.toggle_head, 1)
    desk.settle()
    assert count_color(picture(panel.canvas), desk.theme.muted, off) == before


def test_the_score_of_a_head_that_is_off_is_struck_out_under_the_word(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    desk.store.look(site="layers.1.self", grid=HeadGrid(frames="first"))
    panel, place = panel_of(desk), (0, 1, 1)
    desk.qtbot.waitUntil(lambda: place in panel.canvas.scores)
    before, shown = panel.canvas.scores[place], dict(panel.canvas.scores)
    box = panel.canvas.grid.rect(*place)
    below = QRectF(box.right() + 5, box.top() + 14, panel.canvas.grid.beside - 4, 13)
    assert count_color(picture(panel.canvas), desk.theme.muted, below) == 0
    desk.store.edit_attention(edits.toggle_head, 1)
    desk.settle()
    desk.qtbot.waitUntil(lambda: place not in panel.canvas.scores)
    assert panel.canvas.struck == {place: before}
    assert panel.canvas.scores == {at: score for at, score in shown.items() if at != place}
    assert count_color(picture(panel.canvas), desk.theme.muted, below) > 10


def test_hover_names_the_head_and_the_key_with_most_weight(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    panel = panel_of(desk)
    assert said(desk).startswith("Click a head")
    desk.hover(panel.canvas, panel.canvas.grid.rect(0, 1, 0).center())
    weights = desk.store.trace.site("layers.1.self")["weights"][0] if desk.store.trace else np.zeros((1, 1))
    key = int(np.argmax(weights.mean(axis=0)))
    token = desk.store.experiment.tokens[key]
    expected = f"attends most to “{token}”: {weights.mean(axis=0)[key]:.3f} on average"
    desk.qtbot.waitUntil(lambda: said(desk).startswith(f"layer 2 of 2 · head 1 · {expected}"))


def test_arrows_walk_and_enter_chooses(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    panel = panel_of(desk)
    desk.store.look(site="layers.0.self", head=0)
    panel.canvas.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(panel.canvas, Qt.Key.Key_Right)
    assert panel.canvas.current == (0, 0, 1)
    QTest.keyClick(panel.canvas, Qt.Key.Key_Left)
    QTest.keyClick(panel.canvas, Qt.Key.Key_Down)
    assert panel.canvas.current == (0, 1, 0)
    QTest.keyClick(panel.canvas, Qt.Key.Key_Return)
    assert desk.store.document.site == "layers.1.self"


def test_a_score_frames_the_heads_that_have_it(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk)
    desk.store.look(stage="weights")

    def ring() -> QImage:
        around = panel.canvas.grid.rect(0, 0, 0).adjusted(-8, -8, 8, 8).toRect()
        return picture(panel.canvas).copy(around)

    before = ring()
    desk.choose("grid_score", "entropy")
    bits = -(weights := desk.store.site["weights"][0]) * np.log2(weights)
    desk.qtbot.waitUntil(lambda: bool(panel.canvas.scores))
    score = panel.canvas.scores[0, 0, 0]
    assert score == pytest.approx(float(bits.sum(axis=1).mean() / 2)) and score > 0.5  # 2 bits: four keys
    assert count_color(ring(), desk.theme.key_mark) > 100 and ring() != before
    desk.choose("grid_score", "none")
    assert ring() == before


def test_a_score_names_its_best_heads_and_stands_first_where_a_head_is_hovered(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-induction"))
    panel = panel_of(desk)
    desk.choose("grid_score", "induction")
    found = head_scores(execute(desk.store.experiment))["induction"]
    scores = np.array(list(found.values()))
    order = np.argsort(-scores, axis=None)[:3]
    best = [(scores.flat[at], at // scores.shape[1] + 1, at % scores.shape[1] + 1) for at in order]
    wanted = ", ".join(f"layer {layer} · head {head} {number(score, 3)}" for score, layer, head in best)
    wait_for(desk, f"Largest induction: {wanted}")
    score, layer, head = best[0]
    assert desk.find(QLabel, "grid_scale").text() == f"full frame: {number(score, 3)}"
    edge = panel.canvas.grid.rect(0, layer - 1, head - 1).adjusted(-8, -8, 8, 8)
    # The largest induction of a small model is far below 1; its frame is as strong as any.
    assert score < 0.9 and count_color(picture(panel.canvas), desk.theme.key_mark, edge) > 200
    links = desk.find(LinkedText, "grid_best")
    score_2, layer_2, head_2 = best[1]
    links.anchorClicked.emit(QUrl(f"head:{head_2 - 1}:layers.{layer_2 - 1}.self"))
    assert f'href="head:{head_2 - 1}:layers.{layer_2 - 1}.self"' in links.toHtml()
    assert (desk.store.document.site, desk.store.document.view.head) == (
        f"layers.{layer_2 - 1}.self",
        head_2 - 1,
    )
    desk.hover(panel.canvas, panel.canvas.grid.rect(0, layer - 1, head - 1).center())
    wait_for(desk, f"layer {layer} of 4 · head {head} · induction {number(score, 2)} · attends most to ")
    assert said(desk).count("induction") == 1
    desk.choose("grid_score", "none")
    wait_for(desk, f"layer {layer} of 4 · head {head} · attends most to ")


def test_an_edit_measures_the_heads_only_where_the_frames_show_it(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk)
    questions = asked_of(panel._tiles._answer)

    def asked() -> list[bool]:
        return [one.with_facts for one in questions]

    desk.store.edit(edits.set_vector_cell, 0, 0, 0.25)
    desk.qtbot.waitUntil(lambda: asked() == [False])
    desk.choose("grid_score", "entropy")
    desk.qtbot.waitUntil(lambda: asked() == [False, True] and bool(panel.canvas.scores))
    before = dict(panel.canvas.scores)
    desk.store.edit(edits.set_vector_cell, 0, 0, 2.5)
    desk.qtbot.waitUntil(lambda: panel.canvas.scores != before)
    assert panel.canvas.scores[0, 0, 0] == facts_of(desk.store.site, 0).scores["entropy"]
    assert asked() == [False, True, True]
    desk.choose("grid_score", "none")
    desk.store.edit(edits.set_vector_cell, 0, 0, 0.75)
    desk.hover(panel.canvas, panel.canvas.grid.rect(0, 0, 0).center())
    desk.qtbot.waitUntil(
        lambda: said(desk).endswith(f"entropy {facts_of(desk.store.site, 0).scores['entropy']:.2f}")
    )


def test_names_frame_the_heads_where_the_document_has_references(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    panel = panel_of(desk)
    button = desk.find(Segmented, "grid_score").findChild(QAbstractButton, "segment_reference")
    assert button is not None and button.isEnabled()
    desk.choose("grid_score", "reference")
    desk.qtbot.waitUntil(lambda: len(panel.canvas.scores) == len(panel.tiles))
    assert desk.store.trace is not None
    for layer, name in enumerate(desk.store.trace.sites):
        for head, weights in enumerate(desk.store.trace.site(name)["weights"]):
            wanted = (weights[20, 4] + weights[13, 6] + weights[13, 8]) / 2
            assert panel.canvas.scores[0, layer, head] == pytest.approx(float(wanted))
    for pronoun, key in desk.store.experiment.references:
        desk.store.edit(edits.toggle_reference, pronoun, key)
    desk.settle()
    desk.qtbot.waitUntil(lambda: not panel.canvas.scores)
    assert not button.isEnabled() and "Let a pronoun refer to its name first" in button.toolTip()
    desk.store.edit(edits.toggle_reference, 20, 4)
    desk.settle()
    desk.qtbot.waitUntil(lambda: bool(panel.canvas.scores) and button.isEnabled())


def test_heads_stand_by_their_score_within_each_layer(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    panel, order = panel_of(desk), desk.find(Segmented, "grid_order")
    canvas, places = panel.canvas, sorted(panel.tiles)
    plain = {place: canvas.tile_rect(place) for place in places}
    assert not order.isEnabled()  # nothing to sort by
    desk.choose("grid_score", "previous")
    assert order.isEnabled()
    by_number = {place: canvas.tile_rect(place) for place in places}
    for layer in range(4):  # each with room for its number, in the same order
        lefts = [by_number[0, layer, head].left() for head in range(4)]
        assert lefts == sorted(lefts) and lefts[1] - lefts[0] > by_number[0, layer, 0].width() + 20
    image = picture(canvas)
    desk.choose("grid_order", "score")
    assert desk.store.trace is not None
    scores = head_scores(desk.store.trace)["previous"]
    moved = 0
    for layer, name in enumerate(desk.store.trace.sites):
        for slot, head in enumerate(np.argsort(-scores[name], kind="stable").tolist()):
            place, there = (0, layer, head), by_number[0, layer, slot]
            assert canvas.tile_rect(place) == there and canvas.place_at(there.center()) == place
            moved += head != slot
    assert moved and picture(canvas) != image
    best = int(scores["layers.1.self"].argmax())
    desk.hover(canvas, by_number[0, 1, 0].center())
    assert said(desk).startswith(f"layer 2 of 4 · head {best + 1} ·")
    desk.click(canvas, by_number[0, 1, 0].center())
    assert (desk.store.document.site, desk.store.document.view.head) == ("layers.1.self", best)
    canvas.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.current == (0, 1, int(np.argsort(-scores["layers.1.self"], kind="stable")[1]))
    desk.choose("grid_score", "none")
    assert not order.isEnabled() and {place: canvas.tile_rect(place) for place in places} == plain


def test_the_frames_and_the_order_are_part_of_the_view(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    panel, canvas = panel_of(desk), panel_of(desk).canvas
    desk.choose("grid_score", "previous")
    desk.choose("grid_order", "score")
    found = {place: canvas.tile_rect(place) for place in panel.tiles}
    chosen = desk.store.document.view.grid
    assert chosen == HeadGrid("previous", "score")
    assert (
        loads(dumps(Document(load_preset("toy-attention").experiment, desk.store.document.view))).view.grid
        == chosen
    )
    desk.store.look(grid=HeadGrid())
    assert desk.find(Segmented, "grid_score").value() == "none"
    assert {place: canvas.tile_rect(place) for place in panel.tiles} != found
    desk.store.look(grid=chosen)
    assert {place: canvas.tile_rect(place) for place in panel.tiles} == found
    desk.store.look(grid=HeadGrid("effect", token=" the", replaced_by="mean"))
    line = desk.find(DocumentLine, "effect_token")
    assert (line.text(), panel.controls.effect.way, panel.controls.effect.isVisible()) == (
        " the",
        "mean",
        True,
    )
    desk.qtbot.waitUntil(lambda: "The logit of" in said(desk))
    assert set(get_args(Frames)) == {"none", "effect", *(row.id for row in HEAD_SCORES)}


def test_an_encoder_decoder_has_one_grid_per_kind(make_desk: MakeDesk) -> None:
    desk = make_desk("encoder-decoder")
    panel = panel_of(desk)
    assert len(panel.canvas.grid.blocks) == 3
    assert {place[0] for place in panel.tiles} == {0, 1, 2}
    desk.click(panel.canvas, panel.canvas.grid.rect(2, 0, 0).center())
    assert desk.store.document.site == "decoder.0.cross"


def test_it_follows_edits_stage_and_document_and_rests_behind_a_tab(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.store.look(stage="weights")
    panel = panel_of(desk)
    before = panel.tiles[0, 0, 0].values.copy()
    change(desk.store, temperature=4.0)
    desk.settle()
    assert not np.array_equal(panel.tiles[0, 0, 0].values, before)
    np.testing.assert_array_equal(panel.tiles[0, 0, 0].values, desk.store.site["weights"][0])
    desk.store.look(stage="scores")
    np.testing.assert_array_equal(panel.tiles[0, 0, 0].values, desk.store.site["scores"][0])
    asked = asked_of(panel._tiles._answer)
    desk.go("explore")
    desk.qtbot.waitUntil(lambda: not panel.is_seen)
    desk.store.open(load_preset("grouped-query"))
    desk.settle()
    assert all(answer.asked is answer.of is None for answer in panel.answers), "it holds no run"
    before_front = len(asked)
    desk.go("model")
    desk.qtbot.waitUntil(lambda: panel.is_seen)
    assert len(asked) > before_front and len(panel.tiles) == 8
    # Hidden and shown again, the tiles still apply; under another look they do not.
    for look, wanted in (({}, 0), ({"orientation": "queries_as_columns"}, 1)):
        asked.clear()
        desk.go("explore")
        desk.qtbot.waitUntil(lambda: not panel.is_seen)
        desk.store.look(**look)
        desk.go("model")
        desk.qtbot.waitUntil(lambda: panel.is_seen)
        assert len(asked) == wanted and len(panel.tiles) == 8


def test_tiles_arrive_one_attention_at_a_time(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only", inline=False)
    panel = panel_of(desk)
    arrived: list[set[str]] = []
    panel._tiles.arrived.connect(lambda places: arrived.append({panel.tiles[at].site for at in places}))
    change(desk.store, temperature=2.0)
    desk.settle()
    desk.qtbot.waitUntil(lambda: len(arrived) >= 2)
    assert all(len(sites) == 1 for sites in arrived)
    assert set().union(*arrived) == {"layers.0.self", "layers.1.self"}


def test_a_search_frames_the_heads_and_enter_goes_to_the_greatest(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    panel = panel_of(desk)
    trace, tokens = desk.store.trace, desk.store.experiment.tokens
    assert trace is not None
    line = desk.find(DocumentLine, "grid_search")
    line.setText(f"{tokens[3].strip()} {tokens[1].strip()}")
    desk.settle()
    weights = {
        (0, layer, head): float(trace.site(name)["weights"][head, 3, 1])
        for layer, name in enumerate(trace.sites)
        for head in range(trace.site(name).experiment.heads.n_heads)
    }
    assert panel.canvas.scores == pytest.approx(weights)
    best = max(weights, key=weights.__getitem__)
    assert said(desk).endswith(f"{tokens[3]} → {tokens[1]} {weights[best]:.3f}")
    QTest.keyClick(line, Qt.Key.Key_Return)
    view = desk.store.document.view
    assert (desk.store.document.site, view.head) == (f"layers.{best[1]}.self", best[2])
    assert view.locked is not None and (view.locked.row, view.locked.column) == (3, 1)
    line.setText("nowhere")
    desk.settle()
    assert said(desk) == "The text has no such tokens." and not panel.canvas.scores
    line.clear()
    assert said(desk).startswith("Click a head")


def by_effect(desk: Desk) -> GridPanel:
    panel = panel_of(desk)
    desk.click(desk.find(QAbstractButton, "segment_effect"))
    return panel


def write(desk: Desk, token: str) -> None:
    line = desk.find(DocumentLine, "effect_token")
    line.setText(token)
    QTest.keyClick(line, Qt.Key.Key_Return)


def wait_for(desk: Desk, start: str) -> None:
    desk.qtbot.waitUntil(lambda: said(desk).startswith(start), timeout=20_000)


def test_heads_are_framed_by_their_effect_on_the_likeliest_token(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    panel = by_effect(desk)
    experiment = desk.store.experiment
    logits = execute(experiment).site("layers.3.self")["logits"][-1]
    assert experiment.vocabulary is not None
    token = experiment.vocabulary.tokens[int(np.argmax(logits))]
    wait_for(desk, "The logit of ")
    wanted = ablate(experiment, Target(token))
    assert number(wanted.base, 3) in said(desk)
    changes = {(site, head): c for site, of in wanted.values.items() for head, c in enumerate(of)}
    most = max(abs(change) for change in changes.values())
    assert desk.find(QLabel, "grid_scale").text() == f"full frame: {number(most, 3)}"
    for (group, layer, head), support in panel.canvas.scores.items():
        assert group == 0
        assert support == pytest.approx(-changes[f"layers.{layer}.self", head])
    (strongest, head), change = max(changes.items(), key=lambda one: abs(one[1]))
    layer = int(strongest.split(".")[1])
    assert f"without the head: layer {layer + 1} · head {head + 1} {signed(change)}" in said(desk)
    image = picture(panel.canvas)
    frame = desk.theme.key_mark if change < 0 else desk.theme.query
    assert count_color(image, frame, panel.canvas.grid.rect(0, layer, head).adjusted(-3, -3, 3, 3)) > 20


def test_cancelled_effects_are_computed_again_by_a_button(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(load_story("stories-name"))
    panel = by_effect(desk)
    wait_for(desk, "The logit of ")
    again, asked = desk.find(QAbstractButton, "effect_again"), asked_of(panel._effects)
    assert again.isHidden()
    with monkeypatch.context() as patched:
        patched.setattr("attnviz.study.ablation.ablate", Mock(side_effect=Stopped))
        desk.click(*panel.controls.effect.findChildren(QAbstractButton, "segment_mean"))
        wait_for(desk, "Cancelled.")
    desk.click(again)
    wait_for(desk, "The logit of ")
    assert again.isHidden() and [one.by for one in asked] == ["mean", "mean"]


def test_another_token_and_the_mean_ask_again(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    panel = by_effect(desk)
    wait_for(desk, "The logit of ")
    write(desk, "Tom")
    desk.click(*panel.controls.effect.findChildren(QAbstractButton, "segment_mean"))
    wait_for(desk, "The logit of “Tom")
    wanted = ablate(desk.store.experiment, Target("Tom"), by="mean")
    supports = [-float(change) for of in wanted.values.values() for change in of]
    assert max(panel.canvas.scores.values()) == pytest.approx(max(supports))


def test_a_token_that_is_none_and_a_model_without_logits_say_so(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    by_effect(desk)
    write(desk, "xylophonic")
    wait_for(desk, "target must be ")
    plain = make_desk("grouped-query")
    by_effect(plain)
    plain.qtbot.waitUntil(lambda: "a read-out to logits" in said(plain))


def test_fewer_layers_do_not_name_the_effects_of_those_before(make_desk: MakeDesk) -> None:
    desk = make_desk(load_story("stories-name"))
    by_effect(desk)
    wait_for(desk, "The logit of ")
    desk.store.edit(set_n_layers, 1)
    desk.settle()
    wait_for(desk, "The logit of ")
    assert "layer 2" not in said(desk)
