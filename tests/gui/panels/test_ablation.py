"""The strip over the model: there while something is off, with the numbers of `study.change`; its links."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk, count_color, picture
from msgspec.structs import replace
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QLabel

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute
from attnviz.core.text import number, signed
from attnviz.gui.panels.ablation.ablation import AblationPanel
from attnviz.model.edit import edits
from attnviz.model.edit.by_hand import put_edit
from attnviz.model.edit.intact import off_heads
from attnviz.model.io.presets import load_preset as load_plain
from attnviz.model.sites.sites import at, put
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.study.change import change

SITE, HEAD = "layers.2.self", 2


def toggled(experiment: Experiment, site: str = SITE, head: int = HEAD) -> Experiment:
    return put(experiment, edits.toggle_head(at(experiment, site), head))


def strip(desk: Desk) -> AblationPanel:
    panel = desk.window.panels["ablation"]
    assert isinstance(panel, AblationPanel)
    return panel


def answered(desk: Desk) -> AblationPanel:
    """The strip with the change of the present run."""
    desk.settle()
    panel = strip(desk)
    desk.qtbot.waitUntil(lambda: panel.answer.result is not None and not panel.answer.is_stale)
    return panel


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(load_preset("stories-induction"))
    made.go("model")
    made.settle()
    return made


def test_it_stands_while_a_head_is_off_and_in_no_other_workspace(desk: Desk) -> None:
    dock = desk.window.docks["ablation"]
    assert dock.isHidden()
    top = desk.window.docks["grid"].y()
    desk.store.edit(toggled)
    answered(desk)
    assert dock.isVisible() and dock.is_in_sight
    desk.qtbot.waitUntil(lambda: desk.window.docks["grid"].y() > top + 80)
    desk.go("explore")
    assert dock.isHidden()
    desk.go("model")
    assert dock.isVisible()
    desk.store.undo()
    assert dock.isHidden()
    desk.qtbot.waitUntil(lambda: desk.window.docks["grid"].y() == top)


def test_it_comes_back_after_another_panel_was_enlarged(desk: Desk) -> None:
    dock, workspaces = desk.window.docks["ablation"], desk.window.workspaces
    workspaces.enlarge("stage")
    desk.store.edit(toggled)
    assert dock.isHidden()
    workspaces.give_back()
    assert not dock.isHidden()
    workspaces.enlarge("stage")
    desk.store.edit(toggled)
    workspaces.give_back()
    assert dock.isHidden()


def test_its_numbers_are_those_of_the_library(desk: Desk) -> None:
    desk.store.edit(toggled)
    panel = answered(desk)
    wanted = change(execute(desk.store.experiment))
    assert wanted.losses is not None and wanted.best is not None
    assert panel.tokens.tokens == wanted.tokens
    assert panel.tokens.accessibleName().startswith("␣box: 0.9996 → 0.1176, ")
    before, now = wanted.losses
    assert panel.loss.toPlainText().splitlines() == [
        signed(now - before),
        f"{number(before)} → {number(now)}",
        "nats per token, 19 tokens",
    ]
    first, second = wanted.best
    assert panel.best.toPlainText().splitlines()[:2] == [
        signed(second.value - first.value),
        f"{number(first.value)} → {number(second.value)}",
    ]
    assert panel.best.toPlainText().splitlines()[2] == "3·3 → 3·4"
    said = panel.maps.toPlainText()
    assert [number(one.value) in said for one in wanted.maps] == [True] * 3
    assert desk.find(QLabel, "ablation_score_heading").text() == "Best head: induction"
    image = picture(panel.tokens)
    long, short = panel.tokens.bars(0)
    assert long.width() / short.width() == pytest.approx(0.99956 / 0.11755, rel=1e-3)
    assert count_color(image, desk.theme.value, long) > long.width() * 6
    assert count_color(image, desk.theme.error, short) > short.width() * 5


def test_links_go_to_heads_switch_on_and_take_the_mean(desk: Desk) -> None:
    desk.store.edit(toggled)
    panel = answered(desk)
    assert "Layer 3 · head 3 is off" in panel.said.toPlainText()
    assert 'href="head:3:layers.3.self"' in panel.maps.toHtml()
    panel.maps.anchorClicked.emit(QUrl("head:3:layers.3.self"))
    assert (desk.store.document.site, desk.store.document.view.head) == ("layers.3.self", 3)
    panel.said.anchorClicked.emit(QUrl("by"))
    assert desk.store.document.view.grid.replaced_by == "mean"
    panel = answered(desk)
    wanted = change(execute(desk.store.experiment), "mean")
    assert panel.answer.result is not None and panel.answer.result.losses == wanted.losses
    assert panel.answer.result.losses != change(execute(desk.store.experiment)).losses
    assert "zero instead of mean" in panel.said.toPlainText()
    panel.said.anchorClicked.emit(QUrl("on"))
    assert off_heads(desk.store.experiment) == () and desk.window.docks["ablation"].isHidden()


def test_the_score_is_that_of_the_frames(desk: Desk) -> None:
    desk.store.edit(toggled)
    desk.store.look(grid=replace(desk.store.document.view.grid, frames="first"))
    panel = answered(desk)
    assert panel.answer.result is not None and panel.answer.result.score == "first"
    assert desk.find(QLabel, "ablation_score_heading").text().startswith("Best head: ")
    assert panel.answer.result.best == change(execute(desk.store.experiment), score="first").best


def test_several_heads_and_edits_by_hand_are_named(desk: Desk) -> None:
    def both(experiment: Experiment) -> Experiment:
        site = at(experiment, "layers.1.self")
        edited = put(experiment, put_edit(site, Edit("mixed", 4, 0.0, "set", 1)))
        return toggled(toggled(edited), "layers.3.self", 0)

    desk.store.edit(both)
    panel = answered(desk)
    assert (
        panel.said.toPlainText()
        .replace("\xa0", " ")
        .startswith("2 heads are off; 1 edit by hand\n3·3 ×, 4·1 ×\n")
    )
    panel.said.anchorClicked.emit(QUrl("reset"))
    assert len(off_heads(desk.store.experiment)) == 2
    assert "by hand" not in answered(desk).said.toPlainText()
    panel.said.anchorClicked.emit(QUrl("one:2:layers.2.self"))
    assert off_heads(desk.store.experiment) == (("layers.3.self", 0),)
    assert "Layer 4 · head 1 is off" in answered(desk).said.toPlainText()


def test_of_many_heads_that_are_off_the_first_are_named_and_all_in_the_hint(desk: Desk) -> None:
    def many(experiment: Experiment) -> Experiment:
        for site in ("layers.0.self", "layers.1.self"):
            for head in range(4):
                experiment = toggled(experiment, site, head)
        return experiment

    desk.store.edit(many)
    panel = answered(desk)
    said = panel.said.toPlainText().replace("\xa0", " ")
    assert said.startswith("8 heads are off\n1·1 ×, 1·2 ×, 1·3 ×, 1·4 ×, 2·1 ×, 2·2 ×, …")
    assert "1·1, 1·2, 1·3, 1·4, 2·1, 2·2, 2·3, 2·4" in panel.said.toolTip()
    assert "Their outputs are zero; all that follows is computed again." in panel.said.toolTip()
    assert panel.said.document().size().height() <= panel.height()


def test_without_a_vocabulary_it_says_so(make_desk: MakeDesk) -> None:
    desk = make_desk(load_plain("grouped-query"))
    desk.go("model")
    desk.store.edit_attention(edits.toggle_head, 1)
    panel = answered(desk)
    why = "The document has no vocabulary to predict tokens from."
    assert panel.tokens.isHidden() and panel.loss.toPlainText() == why
    assert panel.best.toPlainText().startswith("–")


def test_what_has_no_room_waits_behind_more(desk: Desk) -> None:
    desk.store.edit(toggled)
    panel = answered(desk)
    assert not any(column.isHidden() for column in panel.columns) and panel._more.isHidden()
    desk.window.resize(1024, 640)
    desk.qtbot.waitUntil(lambda: not panel._more.isHidden())
    assert [column.isHidden() for column in panel.columns] == [False, False, True, True]
    desk.click(panel._more)
    assert [column.isHidden() for column in panel.columns] == [True, True, False, False]
