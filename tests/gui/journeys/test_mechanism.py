"""Mechanism to picture: switches and sliders change the stored experiment, the strip and the large map."""

from __future__ import annotations

import numpy as np
from desk import Desk, MakeDesk, picture
from experiments import sited
from first_layer import change
from pointer import drag, move, press, release
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QPushButton

import attnviz
from attnviz.gui.panels.mechanism.tile import MaskTile
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.model.masks import mask_of
from attnviz.model.spec.parts import Causal, Heads, Painted, Sinusoidal, Window
from attnviz.model.spec.view import Cell


def strip(desk: Desk) -> list[str]:
    """The stages in the strip, as they stand."""
    found = [t for t in desk.window.findChildren(Thumbnail) if t.objectName().startswith("stage_")]
    shown = [t for t in found if t.isVisible()]
    return [t.property("stage") for t in sorted(shown, key=lambda t: t.x())]


def check(desk: Desk) -> None:
    """The strip, the large map and a script agree about the present experiment."""
    desk.settle()
    trace = attnviz.run(desk.store.experiment)
    assert strip(desk) == list(trace.only.stages)
    view = desk.store.document.view
    np.testing.assert_array_equal(desk.map.content.values, trace["weights"][view.head])


def test_a_mask_comes_and_goes(desk: Desk) -> None:
    assert "masked" in strip(desk)
    desk.switch("causal_toggle")
    assert desk.store.experiment.layers[0].masks == ()
    check(desk)
    assert "masked" not in strip(desk)
    assert (desk.map.content.values > 0).all()
    desk.switch("window_toggle")
    assert isinstance(desk.store.experiment.layers[0].masks[0], Window)
    check(desk)
    assert "masked" in strip(desk)
    assert desk.map.content.blocked is not None and desk.map.content.blocked[0, 3]
    desk.switch("causal_toggle")
    assert [type(mask) for mask in desk.store.experiment.layers[0].masks] == [Causal, Window]
    check(desk)
    for _count in range(3):
        desk.store.undo()
    check(desk)
    assert not desk.store.can_undo


def test_dropout_and_readout_add_their_stages(desk: Desk) -> None:
    desk.switch("readout_toggle")
    check(desk)
    assert strip(desk)[-2:] == ["logits", "probabilities"]
    desk.switch("readout_toggle")
    check(desk)
    assert "logits" not in strip(desk)


def test_positions_change_the_strip(desk: Desk) -> None:
    assert "q_rotated" in strip(desk) and "x" not in strip(desk)
    desk.choose("position_segmented", "sinusoidal")
    assert isinstance(desk.store.experiment.layers[0].position, Sinusoidal)
    check(desk)
    assert "q_rotated" not in strip(desk) and "x" in strip(desk)
    desk.choose("position_segmented", "alibi")
    check(desk)
    assert "biased" in strip(desk)
    desk.choose("position_segmented", "none")
    check(desk)
    assert "biased" not in strip(desk)


def test_the_scale_is_written_at_its_arrow_and_changes_the_weights(desk: Desk) -> None:
    before = desk.map.content.values
    desk.choose("scale_segmented", "none")
    check(desk)
    assert not np.allclose(desk.map.content.values, before)
    change(desk.store, temperature=2.0)
    check(desk)
    np.testing.assert_allclose(desk.map.content.values, before, rtol=1e-12)  # ÷√4 is ÷2


def test_the_number_of_heads_is_the_number_of_pictures(desk: Desk) -> None:
    desk.store.look(head=3)
    desk.type_number("n_heads_field", "2")
    assert desk.store.experiment.layers[0].heads == Heads(2, 2, 4)
    check_last_head(desk, 2)
    desk.choose("n_kv_heads_segmented", "1")
    assert desk.store.experiment.layers[0].heads == Heads(2, 1, 4)
    check_last_head(desk, 2)
    desk.type_number("n_heads_field", "8")
    desk.settle()
    assert heads(desk) == 8


def heads(desk: Desk) -> int:
    found = [t for t in desk.window.findChildren(Thumbnail) if t.objectName().startswith("head_")]
    return sum(t.isVisible() for t in found)


def check_last_head(desk: Desk, count: int) -> None:
    """Head 4 was chosen; of fewer heads the last one is shown."""
    desk.settle()
    assert heads(desk) == count
    trace = attnviz.run(desk.store.experiment)
    np.testing.assert_array_equal(desk.map.content.values, trace["weights"][count - 1])
    assert desk.find(QLabel, "stage_title").text() == f"weights · head {count} of {count}"


def test_one_stroke_of_the_brush_is_one_entry(desk: Desk) -> None:
    first = desk.store.document
    desk.click(desk.find(QPushButton, "paint_button"))
    assert desk.store.pointer.paints
    start, end = (desk.map.cell_center(3, column).toPoint() for column in (0, 2))
    drag(desk.map, start, end - start, steps=2)
    painted = mask_of(sited(desk.store.experiment), Painted)
    assert painted.cells == ((3, 0), (3, 1), (3, 2))
    desk.settle()
    assert desk.map.content.values[3].tolist() == [0, 0, 0, 1]
    assert desk.find(QLabel, "painted_count").text() == "3 painted cells"
    # What comes after the stroke is an entry of its own.
    desk.switch("causal_toggle")
    desk.store.undo()
    assert mask_of(sited(desk.store.experiment), Painted) == painted
    desk.store.undo()
    assert desk.store.experiment == first.experiment and not desk.store.can_undo
    desk.settle()
    # A stroke that begins on a blocked cell frees.
    desk.store.redo()
    desk.settle()
    drag(desk.map, end, QPoint(start.x() - end.x(), 0), steps=3)
    assert mask_of(sited(desk.store.experiment), Painted) is None
    desk.press_key(Qt.Key.Key_Escape)
    assert not desk.store.pointer.paints and not desk.find(QPushButton, "paint_button").isChecked()
    drag(desk.map, start, end - start)
    assert mask_of(sited(desk.store.experiment), Painted) is None


def test_the_small_picture_takes_a_stroke_while_painting_and_none_before(desk: Desk) -> None:
    tile = desk.find(MaskTile, "mask_tile")
    start, end = (tile.cell_rect(3, column).center().toPoint() for column in (0, 2))
    drag(tile, start, end - start, steps=2)
    assert mask_of(sited(desk.store.experiment), Painted) is None
    desk.click(desk.find(QPushButton, "paint_button"))
    drag(tile, start, end - start, steps=2)
    assert mask_of(sited(desk.store.experiment), Painted).cells == ((3, 0), (3, 1), (3, 2))
    assert tile.blocked_cells[3].tolist() == [True, True, True, False]
    drag(tile, end, start - end, steps=2)
    assert mask_of(sited(desk.store.experiment), Painted) is None
    desk.store.undo()
    desk.store.undo()
    assert not desk.store.can_undo


def test_a_stroke_keeps_up_with_the_numbers(desk: Desk) -> None:
    desk.click(desk.find(QPushButton, "paint_button"))
    cells = [desk.map.cell_center(2, column).toPoint() for column in range(3)]
    press(desk.map, cells[0])
    for cell in cells[1:]:
        move(desk.map, cell)
        desk.settle()
    release(desk.map, cells[-1])
    assert len(mask_of(sited(desk.store.experiment), Painted).cells) == 3
    desk.settle()
    assert desk.find(QLabel, "stage_flag").text() == "fully masked: blue → 0"
    desk.store.undo()
    assert not desk.store.can_undo


def test_nan_is_drawn_said_and_lived_with(make_desk: MakeDesk) -> None:
    desk = make_desk("fully-masked-row")
    desk.choose("fully_masked_row_segmented", "nan")
    desk.settle()
    desk.store.look(stage="weights", locked=None)
    empty = np.isnan(desk.map.content.values).all(axis=1)
    assert empty.any() and not empty.all()
    assert "→ NaN" in desk.find(QLabel, "stage_flag").text()
    assert picture(desk.map).width() > 0
    for stage in attnviz.run(desk.store.experiment).only.stages:
        desk.store.look(stage=stage)
        picture(desk.window)
    row = int(np.flatnonzero(empty)[0])
    desk.store.look(stage="mixed")
    assert np.isnan(desk.map.content.values[row]).all()
    desk.choose("fully_masked_row_segmented", "zeros")
    desk.settle()
    assert (desk.map.content.values[row] == 0).all()


def test_a_second_sequence_is_typed_and_taken_away(desk: Desk) -> None:
    desk.store.look(stage="scores", locked=None)
    desk.switch("memory_toggle")
    desk.settle()
    memory = desk.store.experiment.memory
    assert memory is not None and "memory" in strip(desk)
    assert desk.map.content.values.shape == (4, len(memory.tokens))
    assert desk.map.content.column_labels == memory.tokens
    desk.choose("sequence_segmented", "memory")
    drag(desk.vectors.viewport(), desk.vector_center(0, 0), QPoint(0, -30))
    assert desk.store.experiment.memory != memory
    desk.settle()
    np.testing.assert_array_equal(desk.map.content.values, attnviz.run(desk.store.experiment)["scores"][0])
    desk.switch("memory_toggle")
    desk.settle()
    assert desk.store.experiment.memory is None and desk.vectors.values().shape == (4, 8)


def test_a_stage_that_is_gone_gives_way_to_the_weights(desk: Desk) -> None:
    desk.store.look(stage="q_rotated", locked=Cell("q_rotated", 1, 1, 0))
    desk.choose("position_segmented", "none")
    desk.settle()
    assert desk.find(QLabel, "stage_title").text() == "weights · head 1 of 4"
    picture(desk.window)
    desk.store.undo()
    desk.settle()
    assert desk.find(QLabel, "stage_title").text() == "q rotated · head 1 of 4"


def test_the_temperature_slider_moves_the_weights_as_one_entry(desk: Desk) -> None:
    track = desk.find(SliderField, "temperature_field").track
    before = desk.map.content.values
    drag(track, QPoint(round(track.handle_x()), track.height() // 2), QPoint(20, 0), steps=5)
    assert desk.store.experiment.layers[0].temperature > 1.2
    check(desk)
    assert desk.map.content.values[3].max() < before[3].max()
    desk.store.undo()
    assert not desk.store.can_undo and desk.store.experiment.layers[0].temperature == 1.0
