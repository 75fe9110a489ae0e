"""Training on the screen: what is shown is the run, and what is done to it is done to the document."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QMessageBox, QToolButton
from training_hands import go_to, panel_of, small
from two_layers import model

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.gui.panels.training.choices import LinesBox, TaskCard
from attnviz.gui.panels.training.curves import MOST_POINTS, Trail, axis_end
from attnviz.gui.panels.training.saying import noted
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.slider_field import Track
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Dropout
from attnviz.training.optimiser import Settings
from attnviz.training.parameters import parameters_of
from attnviz.training.record import Course, Moment
from attnviz.training.run import Run, train
from attnviz.training.seen import thinned
from attnviz.training.tasks import Copy

COURSE = Course(16, 0, measured=10, kept=10)


@pytest.fixture(scope="module")
def run() -> Run:
    return train(small(), Copy(), COURSE, Settings(steps=30))


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    desk = make_desk(Document(small()))
    desk.go("train")
    return desk


def assert_alike(one: Experiment, other: Experiment) -> None:
    for mine, theirs in zip(parameters_of(one), parameters_of(other), strict=True):
        np.testing.assert_array_equal(mine.numbers(), theirs.numbers())


def line(desk: Desk) -> str:
    return desk.find(QLabel, "training_where").text()


def test_before_the_first_step_the_maps_are_those_of_the_random_weights(desk: Desk, run: Run) -> None:
    panel = panel_of(desk)
    picture = panel.live.picture
    assert picture is not None and picture.step == 0
    weights = attnviz.run(run.at(0)).site("layers.1.self").matrix("weights", 1)
    np.testing.assert_allclose(np.asarray(picture.heads["layers.1.self", 1].weights), weights, atol=1e-6)
    assert len(panel.heads.maps) == 4 and "Space" in panel.said.text()
    assert "step 0 of 2000 · 1 state kept" in line(desk)


def test_curves_maps_and_scores_are_those_of_the_run(desk: Desk, run: Run) -> None:
    panel = go_to(desk, 30)
    plots = panel.curves.plots
    trained, held_out = plots["loss"].curves()
    np.testing.assert_array_equal(trained[1], [one.loss for one in run.curves.moments])
    np.testing.assert_array_equal(held_out[0], [0, 10, 20, 30])
    np.testing.assert_array_equal(held_out[1], [one.loss for one in run.curves.measures])
    np.testing.assert_array_equal(
        plots["accuracy"].curves()[1][1], [one.accuracy for one in run.curves.measures]
    )
    heads = [("previous", "layers.0.self", 0), ("induction", "layers.1.self", 1)]
    for key, place in zip(heads, (0, 7), strict=True):
        expected = [one.scores[key] for one in run.curves.measures]
        np.testing.assert_array_equal(plots["heads"].curves()[place][1], expected)
    assert panel.live.picture is not None
    assert panel.live.picture.scores == run.curves.measures[-1].scores
    assert_alike(panel.live.picture.experiment, run.experiment)
    assert f"guessing: {math.log(16):.3f}" in panel.curves.legends["loss"].text()
    map_ = desk.find(Thumbnail, "training_head_layers.1.self_1")
    best = max(("previous", "induction"), key=lambda id_: run.curves.measures[-1].scores[id_, *heads[1][1:]])
    assert map_.caption == f"{best} {run.curves.measures[-1].scores[best, *heads[1][1:]]:.2f}"


def test_a_kept_state_is_shown_and_the_run_goes_on_from_it(desk: Desk, run: Run) -> None:
    panel = go_to(desk, 30)
    desk.click(desk.find(QToolButton, "training_first"))
    assert panel.live.picture is not None and panel.live.picture.step == 0
    desk.click(desk.find(QToolButton, "training_step_forward"))
    assert panel.live.picture.step == 10 and "dropped" in panel.note.text()
    assert_alike(panel.live.picture.experiment, run.at(10))
    assert len(panel.curves.plots["loss"].curves()[0][0]) == 30
    desk.find(Track, "training_track").setValue(22)
    assert panel.live.picture.step == 20
    panel.live.step()
    assert panel.live.picture.step == 21 and panel.live.picture.steps == (0, 10, 20, 21)
    assert panel.live.picture.moments == tuple(run.curves.moments[:21])
    desk.click(desk.find(QToolButton, "training_last"))
    assert panel.live.picture.step == 21
    desk.click(desk.find(QToolButton, "training_step_forward"))
    assert panel.live.picture.step == 22


def test_a_click_on_a_curve_shows_the_nearest_state(desk: Desk) -> None:
    panel = go_to(desk, 30)
    plot = panel.curves.plots["loss"]
    for wanted in (10, 30, 0):
        place = QPointF(wanted + 2, 1.0)
        desk.click(plot.viewport(), plot.mapFromScene(plot.view.mapViewToScene(place)))
        assert panel.live.picture is not None and panel.live.picture.step == wanted


def test_space_plays_and_pauses(desk: Desk) -> None:
    panel = panel_of(desk)
    desk.window.setFocus()
    desk.press_key(Qt.Key.Key_Space)
    assert panel.live.is_playing
    desk.qtbot.waitUntil(lambda: panel.live.picture.step > 0, timeout=WAIT_MS)  # type: ignore[union-attr]
    desk.press_key(Qt.Key.Key_Space)
    assert not panel.live.is_playing
    assert desk.store.player.is_playing is False


def test_leaving_gives_the_document_the_weights_as_one_undo_step(desk: Desk, run: Run) -> None:
    before = desk.store.experiment
    panel = go_to(desk, 30)
    assert desk.store.experiment is before
    desk.click(desk.find(QAbstractButton, "training_explore"))
    desk.qtbot.waitUntil(lambda: desk.window.workspaces.present.id == "explore", timeout=WAIT_MS)
    desk.qtbot.waitUntil(lambda: desk.store.experiment is not before, timeout=WAIT_MS)
    assert_alike(desk.store.experiment, run.experiment)
    assert desk.store.experiment.tokens == before.tokens, "the document keeps its text"
    picture = panel.live.picture
    assert picture is not None
    desk.go("train")
    assert panel.live.picture is picture, "the run is that of the document still"
    desk.store.undo()
    assert desk.store.experiment is before and panel.live.picture is picture
    desk.go("explore")
    desk.qtbot.wait(20)
    assert desk.store.experiment is before, "what was undone does not come again"


def test_an_edit_of_the_mechanism_starts_anew_and_says_so(desk: Desk) -> None:
    panel = go_to(desk, 10)
    desk.store.edit(lambda given: replace(given, final_norm=None))
    assert panel.live.picture is not None and panel.live.picture.step == 0
    assert "starts anew" in panel.note.text()
    assert panel.live.plan is not None and panel.live.plan.experiment is desk.store.experiment


def test_an_edit_of_the_text_keeps_the_run(desk: Desk) -> None:
    panel = go_to(desk, 10)
    known = desk.store.experiment.vocabulary
    assert known is not None
    desk.store.edit(set_tokens, (known.tokens[3], known.tokens[5]))
    assert desk.store.experiment.tokens == (known.tokens[3], known.tokens[5])
    assert panel.live.picture is not None and panel.live.picture.step == 10


def test_nothing_of_an_earlier_document_stays(desk: Desk) -> None:
    panel = go_to(desk, 10)
    desk.store.open(load_preset("toy-attention"))
    assert panel.live.picture is None and panel.live.plan is None
    assert panel.heads.maps == {} and not panel.pictures.isVisible()
    assert all(len(curve[0]) == 0 for curve in panel.curves.plots["loss"].curves())
    desk.go("explore")
    desk.qtbot.wait(20)
    assert desk.store.experiment == load_preset("toy-attention").experiment


def test_a_document_without_words_gets_them_by_one_click(desk: Desk) -> None:
    panel = panel_of(desk)
    desk.store.open(load_preset("toy-attention"))
    assert "vocabulary" in panel.empty.accessibleName().lower()
    desk.click(panel.empty.findChild(QAbstractButton, "empty_state_action"))
    known = desk.store.experiment.vocabulary
    assert known is not None and len(known.tokens) == 16
    assert panel.live.picture is not None and panel.pictures.isVisible()
    desk.store.undo()
    assert desk.store.experiment.vocabulary is None and panel.empty.isVisible()


def test_one_click_opens_the_model_that_is_proposed(desk: Desk) -> None:
    panel = panel_of(desk)
    desk.store.open(load_preset("cross-attention"))
    assert panel.empty.isVisible()
    desk.click(panel.empty.findChild(QAbstractButton, "empty_state_induction-birth"))
    assert desk.store.document.title == load_preset("induction-birth").title
    assert panel.live.picture is not None and len(panel.heads.maps) == 4


def test_a_run_that_diverges_says_why_and_keeps_its_last_state(desk: Desk) -> None:
    panel = panel_of(desk)
    panel.choices.optimiser.set_value("sgd")
    panel.choices.numbers["rate"].set_value(1e3)
    panel.choices.numbers["steps"].set_value(5000)
    panel.choices.anew.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    picture = panel.live.picture
    assert picture is not None and picture.reason is not None
    assert panel.said.text().startswith("The run has ended: ") and picture.reason.text() in panel.said.text()
    assert picture.step in picture.steps and picture.step <= len(picture.moments)


def test_the_settings_are_those_of_the_fields(desk: Desk) -> None:
    panel = panel_of(desk)
    for name, value in (("rate", 0.01), ("batch", 4), ("decay", 0.5)):
        panel.choices.numbers[name].set_value(value)
    panel.choices.changed.emit()
    plan = panel.live.plan
    assert plan is not None
    assert (plan.settings.rate, plan.settings.decay, plan.course.batch) == (0.01, 0.5, 4)
    desk.find(DragNumber, "training_seed")
    panel.live.step()
    assert panel.live.picture is not None and panel.live.picture.moments[0].rate == 0.01
    panel.choices.numbers["seed"].set_value(3)
    panel.choices.anew.emit()
    assert panel.live.plan is not None and panel.live.plan.course.seed == 3
    assert panel.live.picture.step == 0 and panel.live.picture.moments == ()


def test_a_task_is_a_card_and_lines_take_a_text(desk: Desk, tmp_path: Path) -> None:
    panel = panel_of(desk)
    desk.click(desk.find(TaskCard, "training_task_lines"))
    assert desk.find(LinesBox, "training_lines").isVisible() and panel.empty.isVisible()
    file = tmp_path / "lines.txt"
    file.write_text("abcd efgh\n" * 60, encoding="utf-8")
    panel.choices.read(file)
    desk.click(panel.empty.findChild(QAbstractButton, "empty_state_action"))
    known = desk.store.experiment.vocabulary
    assert known is not None and set(known.tokens) == set("abcd efgh\n")
    assert panel.live.picture is not None
    panel.choices.read(tmp_path / "missing.txt")
    assert "missing.txt" in desk.said()


def test_a_run_is_in_a_lane_of_its_own_and_ends_with_the_window(
    make_desk: MakeDesk, answers: Answers
) -> None:
    desk = make_desk(Document(small()), inline=False)
    desk.go("train")
    panel, lanes = panel_of(desk), desk.window.services.schedulers
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None, timeout=4 * WAIT_MS)
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: panel.live.picture.step > 3, timeout=4 * WAIT_MS)  # type: ignore[union-attr]
    assert not lanes.training.idle or panel.live.is_playing
    assert lanes.answers.idle and not lanes.run.is_busy("training")
    desk.qtbot.waitUntil(lambda: lanes.run.idle, timeout=WAIT_MS)
    answers.button = QMessageBox.StandardButton.Discard
    desk.close()
    assert answers.boxes == ["unsaved_box"]
    assert lanes.training.wait(2.0) and lanes.training.idle


def test_hidden_it_takes_no_step(make_desk: MakeDesk) -> None:
    desk = make_desk(Document(small()), inline=False)
    desk.go("train")
    panel, lane, given = panel_of(desk), desk.window.services.schedulers.training, desk.store.experiment
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None, timeout=4 * WAIT_MS)
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: panel.live.picture.step > 3, timeout=4 * WAIT_MS)  # type: ignore[union-attr]
    desk.go("explore")
    assert not panel.live.is_playing
    desk.qtbot.waitUntil(lambda: lane.idle and not panel.live.is_due, timeout=WAIT_MS)
    assert panel.live.picture is not None
    trained = panel.live.picture.experiment
    desk.qtbot.waitUntil(lambda: desk.store.experiment is not given, timeout=WAIT_MS)
    assert_alike(desk.store.experiment, trained)
    assert desk.store.experiment.tokens == given.tokens


def test_many_steps_are_drawn_as_means() -> None:
    moments = [Moment(step, float(step % 4), 1.0, 0.1, (1.0, float(step))) for step in range(4000)]
    rows = thinned(Trail().rows(moments), MOST_POINTS)
    assert rows.shape == (800, 4) and rows[0].tolist() == [2.0, np.mean([0, 1, 2, 3, 0]), 1.0, 2.0]


def test_the_rows_of_moments_grow_with_a_run_and_follow_another_branch() -> None:
    trail, moments = Trail(), [Moment(step, float(step), 1.0, 0.1, (2.0,)) for step in range(90)]
    for last in (0, 1, 40, 41, 90):
        assert trail.rows(moments[:last])[:, 1].tolist() == list(range(last))
    branch = (*moments[:30], *(one._replace(loss=-1.0) for one in moments[30:]))
    assert trail.rows(branch)[:, 1].tolist() == [*range(30), *[-1.0] * 60]
    assert trail.rows(moments[:10])[:, 1].tolist() == list(range(10))
    assert trail.rows(()).shape[0] == 0
    assert trail.rows([Moment(0, 5.0, 1.0, 0.1)]).tolist() == [[0.0, 5.0]]


def test_the_axis_doubles_until_the_last_step() -> None:
    assert [axis_end(reached, 2000) for reached in (0, 200, 201, 1700)] == [200, 200, 400, 2000]


def test_a_large_model_says_its_memory_and_a_dropout_that_it_draws() -> None:
    """40 bytes a number: its own and the gradient's, two of the optimiser's, and those of kept states."""
    plain = model()
    dropped = replace(plain, layers=tuple(replace(one, dropout=Dropout(0.1)) for one in plain.layers))
    assert noted(None, plain, 34_816, False) == "34,816 numbers to learn."
    large = noted(None, plain, 12_800_000, False)
    assert large.splitlines()[1] == "With gradients, optimiser and kept states they take 512 MB."
    assert "Dropout drops other numbers in each step and text." in noted(None, dropped, 34_816, False)


def test_another_seed_leaves_the_run_in_the_history(desk: Desk) -> None:
    """Undo brings it back with its steps, its curves and its choices."""
    panel = go_to(desk, 40)
    picture = panel.live.picture
    assert picture is not None
    desk.type_number("training_seed", "3")
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None and not panel.live.is_due, timeout=WAIT_MS)
    assert panel.live.picture is not None and not panel.live.picture.moments
    desk.store.undo()
    desk.qtbot.waitUntil(
        lambda: panel.live.picture is not None and bool(panel.live.picture.moments), timeout=WAIT_MS
    )
    assert panel.choices.numbers["seed"].value() == 0
    assert panel.live.picture.moments == picture.moments
