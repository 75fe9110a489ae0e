"""Two runs over each other, heads that are off, what a run writes, sizes, speed and keys."""

from __future__ import annotations

import numpy as np
import pytest
from desk import WAIT_MS, Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel
from training_hands import go_to, panel_of, small

from attnviz.gui.panels.training import training as panels
from attnviz.gui.panels.training.heads import HeadMap
from attnviz.gui.panels.training.versus import BEFORE
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.linked_text import LinkedText
from attnviz.model.edit.intact import off_heads
from attnviz.model.spec.document import Document
from attnviz.training.differences import DIFFERENCE_BY_ID
from attnviz.training.optimiser import Settings
from attnviz.training.record import Course
from attnviz.training.run import train
from attnviz.training.seen import compared
from attnviz.training.tasks import TASKS, Copy

COURSE = Course(16, 0, measured=10, kept=10)
LAST = "layers.1.self"


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    desk = make_desk(Document(small()))
    desk.go("train")
    return desk


def text(desk: Desk, name: str) -> str:
    return desk.find(LinkedText, name).toPlainText()


def choose(desk: Desk, id_: str) -> None:
    combo = desk.find(Combo, "training_compare")
    combo.set_value(id_)
    combo.changed.emit(id_)


def right_click(map_: HeadMap) -> None:
    at = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, map_.mapToGlobal(at))
    QApplication.sendEvent(map_, event)


def test_a_run_with_one_difference_takes_the_same_steps_on_the_same_texts(desk: Desk) -> None:
    choose(desk, "no_scale")
    panel = go_to(desk, 20)
    given = panel.live.plan.experiment  # type: ignore[union-attr]
    alone = train(DIFFERENCE_BY_ID["no_scale"].model(given), Copy(), COURSE, Settings(steps=20))
    beside, picture = panel.live.beside, panel.live.picture
    assert beside is not None and picture is not None and beside.step == picture.step == 20
    assert beside.moments == tuple(alone.curves.moments)
    curve = panel.curves.plots["loss"].curves()[2]
    np.testing.assert_array_equal(curve[0], [0, 10, 20])
    np.testing.assert_array_equal(curve[1], [one.loss for one in alone.curves.measures])
    assert f"run B {beside.measures[-1].loss:.3f}" in panel.curves.legends["loss"].text()
    assert "B is A without ÷ √d." in text(desk, "training_parts")
    assert compared(picture.measures, beside.measures) in text(desk, "training_parts")
    table = text(desk, "training_both")
    for one in (picture.measures[-1], beside.measures[-1]):
        assert f"{one.loss:.3f}" in table


def test_a_difference_that_is_chosen_late_catches_up_first(desk: Desk) -> None:
    panel = go_to(desk, 20)
    choose(desk, "one_layer")
    assert panel.live.beside is not None and panel.live.beside.step == 0
    assert panel.live.picture is not None and panel.live.picture.step == 20, "run A stays"
    go_to(desk, 30)
    assert panel.live.beside.step == 30 and len(panel.live.picture.moments) == 30
    assert [one.step for one in panel.live.beside.measures] == [0, 10, 20, 30]


def test_the_run_before_stays_as_run_b(desk: Desk) -> None:
    panel = go_to(desk, 20)
    before = panel.live.picture
    panel.choices.optimiser.set_value("sgd")
    panel.choices.optimiser.changed.emit("sgd")
    assert panel.live.picture is not None and panel.live.picture.step == 0 and before is not None
    assert panel.live.beside is not None and panel.live.beside.moments == before.moments
    assert desk.find(Combo, "training_compare").value() == BEFORE
    assert "Optimiser: SGD with momentum and AdamW" in text(desk, "training_parts")
    go_to(desk, 30)
    assert panel.live.beside.step == 30, "it goes on, with its own optimiser"
    fresh = train(small(), Copy(), COURSE, Settings(steps=30))
    assert panel.live.beside.moments == tuple(fresh.curves.moments)
    desk.click(desk.find(QAbstractButton, "training_restart"))
    assert panel.live.other is None and len(panel.curves.plots["loss"].curves()) == 2


def test_another_task_has_no_run_before(desk: Desk) -> None:
    panel = go_to(desk, 10)
    panel.choices.choose("addition")
    assert panel.live.other is None


def test_b_swaps_the_runs(desk: Desk) -> None:
    choose(desk, "one_layer")
    panel = go_to(desk, 10)
    first, second = panel.live.picture, panel.live.beside
    desk.window.setFocus()
    desk.press_key(Qt.Key.Key_B)
    assert panel.live.picture is not None and first is not None and second is not None
    assert panel.live.picture.moments == second.moments and len(panel.heads.maps) == 2
    assert panel.live.beside is not None and panel.live.beside.moments == first.moments
    desk.press_key(Qt.Key.Key_B)
    assert panel.live.picture.moments == first.moments and len(panel.heads.maps) == 4
    desk.click(desk.find(QAbstractButton, "training_explore"))
    desk.qtbot.waitUntil(lambda: len(desk.store.experiment.layers) == 2, timeout=WAIT_MS)


@pytest.mark.parametrize("way", ["mouse", "map", "window"])
def test_a_head_is_switched_off_and_the_loss_answers(desk: Desk, way: str) -> None:
    panel = go_to(desk, 20)
    map_ = desk.find(HeadMap, f"training_head_{LAST}_1")
    before = panel.live.picture
    assert before is not None
    if way == "mouse":
        right_click(map_)
    elif way == "map":
        map_.setFocus()
        desk.qtbot.keyClick(map_, Qt.Key.Key_Delete)
    else:
        desk.click(map_)
        desk.window.setFocus()
        desk.press_key(Qt.Key.Key_Delete)
    picture = panel.live.picture
    assert picture is not None and picture.off == ((LAST, 1),)
    first, second = picture.measures[-2:]
    assert first.step == second.step == 20 and first.loss == before.measures[-1].loss != second.loss
    assert map_.caption == "off" and map_._is_struck
    said = desk.find(QLabel, "training_said").text()
    assert (
        f"Off: layer 2 · head 2; the loss is {second.loss:.3f}, with all heads it was {first.loss:.3f}"
        in said
    )
    assert off_heads(picture.experiment) == ((LAST, 1),)
    steps, drawn = panel.curves.plots["loss"].curves()[1]
    assert steps.tolist()[-2:] == [20, 20] and drawn.tolist()[-2:] == [first.loss, second.loss]
    right_click(map_)
    assert panel.live.picture is not None and panel.live.picture.off == ()
    assert panel.live.picture.measures[-1].loss == first.loss and not map_._is_struck


def test_a_kept_state_is_tried_without_a_head_and_goes_on_without_it(desk: Desk) -> None:
    panel = go_to(desk, 20)
    desk.qtbot.waitUntil(lambda: not panel.live.is_due, timeout=WAIT_MS)
    panel.live.look(10)
    right_click(desk.find(HeadMap, f"training_head_{LAST}_0"))
    picture = panel.live.picture
    assert picture is not None and picture.step == 10 and picture.off == ((LAST, 0),)
    assert picture.switched is not None and len(picture.moments) == 20, "nothing is dropped yet"
    assert f"the loss is {picture.switched.loss:.3f}" in desk.find(QLabel, "training_said").text()
    assert f"held out {picture.switched.loss:.3f}" in panel.curves.legends["loss"].text()
    panel.live.step()
    assert panel.live.picture is not None and panel.live.picture.step == 11
    assert panel.live.picture.off == ((LAST, 0),) and len(panel.live.picture.moments) == 11


def test_a_row_of_written_words_leads_to_its_step(desk: Desk) -> None:
    panel = go_to(desk, 30)
    picture = panel.live.picture
    assert picture is not None
    panel.live.look(30)
    assert [one.step for one in panel.live.picture.written] == [0, 10, 20, 30]  # type: ignore[union-attr]
    rows = desk.find(LinkedText, "training_rows")
    known = small().vocabulary
    assert known is not None
    right = " ".join(known.tokens[one] for one in picture.prompt.wanted)
    assert right in rows.toPlainText()
    rows.chosen.emit("10")
    assert panel.live.picture is not None and panel.live.picture.step == 10
    line = panel.beside.writes.line
    asked = [at for at, target in enumerate(panel.live.picture.targets) if target >= 0]
    assert line.losses == tuple(panel.live.picture.losses[at] for at in asked)
    heights = {place.word: line.bar_rect(place).height() for place in line.places()}
    worst = max(heights, key=lambda word: line.losses[word])
    assert heights[worst] == max(heights.values())
    for place in line.places():
        assert line.place_at(line.bar_rect(place).bottomLeft().toPoint() + QPoint(1, 4)) == place


def test_the_third_picture_shows_scores_entropy_or_norms(desk: Desk) -> None:
    panel = go_to(desk, 20)
    picture, plot = panel.live.picture, panel.curves.plots["heads"]
    assert picture is not None and len(plot.curves()) == 8
    panel.curves.third.set_value("entropy")
    panel.curves.third.changed.emit("entropy")
    curves = plot.curves()
    assert len(curves) == 4
    expected = [one.scores["entropy", "layers.0.self", 0] for one in picture.measures]
    np.testing.assert_array_equal(curves[0][1], expected)
    panel.curves.third.set_value("norms")
    panel.curves.third.changed.emit("norms")
    curves = plot.curves()
    assert len(curves) == len(picture.parts) == 3
    for index, (_steps, norms) in enumerate(curves):
        np.testing.assert_array_equal(norms, [one.norms[index] for one in picture.moments])
    assert f"layer 2 {picture.moments[-1].norms[picture.parts.index(LAST)]:.3f}" in (
        panel.curves.legends["heads"].text()
    )


def test_a_slow_run_takes_one_step_at_a_time(desk: Desk) -> None:
    panel = panel_of(desk)
    desk.find(Combo, "training_speed").changed.emit("10")
    seen = [panel.live.picture.step]  # type: ignore[union-attr]
    panel.live.changed.connect(lambda: seen.append(panel.live.picture.step))  # type: ignore[union-attr]
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: seen[-1] >= 4, timeout=4 * WAIT_MS)
    panel.live.pause()
    assert sorted(set(seen)) == list(range(max(seen) + 1))


def test_the_sizes_are_those_of_the_chosen_task(desk: Desk) -> None:
    panel = panel_of(desk)
    for task in TASKS:
        panel.choices.choose(task.id)
        shown = {name for name, field in panel.choices.sizes.items() if field.isVisible()}
        assert shown == {(task.id, size.name) for size in task.sizes}
    panel.choices.choose("copy")
    field = panel.choices.sizes["copy", "longest"]
    field.set_value(7)
    field.changed.emit(7)
    plan = panel.live.plan
    assert plan is not None and plan.sampler == Copy(longest=7)
    words = panel.choices.sizes["copy", "n_words"]
    words.set_value(20)
    words.changed.emit(20)
    assert panel.empty.isVisible() and "20 words" in panel.empty.accessibleName()
    desk.click(panel.empty.findChild(QAbstractButton, "empty_state_action"))
    assert desk.store.experiment.vocabulary is not None
    assert len(desk.store.experiment.vocabulary.tokens) == 20 and panel.live.picture is not None


def test_sizes_that_do_not_fit_are_refused_by_name(desk: Desk) -> None:
    panel = panel_of(desk)
    panel.choices.choose("lookup")
    words = panel.choices.sizes["lookup", "n_words"]
    words.set_value(8)
    words.changed.emit(8)
    assert panel.empty.isVisible() and "from 2 to 4" in panel.empty.accessibleName()
    assert not panel.empty.findChild(QAbstractButton, "empty_state_action").isVisible()
    pairs = panel.choices.sizes["lookup", "pairs"]
    pairs.set_value(3)
    pairs.changed.emit(3)
    assert panel.live.picture is not None and panel.pictures.isVisible()


def test_plain_keys_go_through_the_kept_states(desk: Desk) -> None:
    panel = go_to(desk, 30)
    desk.window.setFocus()
    for key, step in (
        (Qt.Key.Key_Left, 20),
        (Qt.Key.Key_Left, 10),
        (Qt.Key.Key_Right, 20),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_End, 30),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Period, 1),
    ):
        desk.press_key(key)
        assert panel.live.picture is not None and panel.live.picture.step == step


def test_a_large_model_waits_for_its_first_step(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of(desk)
    monkeypatch.setattr(panels, "LARGE", 100)
    panel.choices.anew.emit()
    assert panel.live.picture is None and panel.live.is_waiting
    assert "press Space" in panel.said.text() and panel.pictures.isVisible()
    desk.window.setFocus()
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None, timeout=WAIT_MS)
    panel.live.pause()


def test_words_that_the_vocabulary_lacks_give_way_to_the_held_out_text(desk: Desk) -> None:
    desk.store.edit(lambda given: replace(given, tokens=("no", "word")))
    panel = go_to(desk, 10)
    desk.click(desk.find(QAbstractButton, "training_explore"))
    desk.qtbot.waitUntil(lambda: desk.store.experiment.tokens != ("no", "word"), timeout=WAIT_MS)
    assert panel.live.picture is not None
    assert desk.store.experiment.tokens == panel.live.picture.experiment.tokens


@pytest.mark.parametrize(("size", "both", "beside"), [((1280, 800), True, True), ((1024, 640), False, False)])
def test_cards_and_curves_fit_the_window(desk: Desk, size: tuple[int, int], both: bool, beside: bool) -> None:
    panel = panel_of(desk)
    desk.window.resize(*size)
    desk.qtbot.waitUntil(lambda: desk.window.width() == size[0], timeout=WAIT_MS)
    desk.qtbot.wait(20)
    assert panel.beside.writes.isVisible() and panel.beside.versus.isVisible() == both
    maps, curves = panel.heads.mapToGlobal(QPoint()), panel.curves.mapToGlobal(QPoint())
    assert (curves.x() > maps.x()) == beside and (curves.y() > maps.y() + 20) == (not beside)
    if not both:
        panel.beside.choice.set_value("versus")
        panel.beside.choice.changed.emit("versus")
        assert panel.beside.versus.isVisible() and not panel.beside.writes.isVisible()
