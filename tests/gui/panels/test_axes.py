"""The axes of the heads: the blocks move, and every cell keeps its number, its colour and its name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from desk import Desk, MakeDesk, color_in, picture
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from attnviz.core.text import number
from attnviz.gui.look.theme import MOTION_PROPERTY
from attnviz.gui.panels.axes.axes import AxesPanel
from attnviz.gui.panels.axes.picture import Sizes, blocks, cell_rect, place_at
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.model.operands.matrices import projection_array, vectors_array
from attnviz.model.spec.view import Cell

ROOM = QRectF(0, 0, 240, 240)
SIZES = Sizes(3, 4, 5)


def test_cells_stand_in_the_order_of_the_shape_at_each_step() -> None:
    """Read row by row, the cells of (token, head · d) are those that NumPy's reshape cuts into heads."""
    numbers = np.arange(60).reshape(4, 15)
    heads = numbers.reshape(4, 3, 5).transpose(1, 0, 2)
    for time, wanted in ((0, numbers), (1, numbers), (2, heads.reshape(12, 5))):
        found = sorted(
            (round(rect.top(), 3), round(rect.left(), 3), int(heads[place]))
            for place in itertools.product(range(3), range(4), range(5))
            for rect in [cell_rect(SIZES, ROOM, time, place)]
        )
        assert [number for _top, _left, number in found] == wanted.ravel().tolist()


def test_the_blocks_move_continuously_and_stay_in_the_room() -> None:
    before = blocks(SIZES, ROOM, 0)
    assert before[1].left() == before[0].right()
    for step in range(1, 201):
        now = blocks(SIZES, ROOM, step / 100)
        assert all(ROOM.contains(block) for block in now)
        assert max((a.center() - b.center()).manhattanLength() for a, b in zip(now, before, strict=True)) < 5
        before = now
    assert place_at(SIZES, ROOM, 2, cell_rect(SIZES, ROOM, 2, (2, 1, 3)).center()) == (2, 1, 3)
    assert place_at(SIZES, ROOM, 2, QPointF(239, 1)) is None


@pytest.fixture
def lab(make_desk: MakeDesk) -> Iterator[Desk]:
    desk = make_desk("grouped-query")
    desk.bring("axes")
    desk.window.complete()
    app = QApplication.instance()
    assert app is not None
    before = app.property(MOTION_PROPERTY)
    app.setProperty(MOTION_PROPERTY, False)
    yield desk
    app.setProperty(MOTION_PROPERTY, before)


def settle(desk: Desk, shown: AxesPanel) -> None:
    """Wait for the second sequence."""
    desk.qtbot.waitUntil(lambda: not any(answer.is_due for answer in shown.answers))


def panel(desk: Desk) -> AxesPanel:
    found = desk.window.panels["axes"]
    assert isinstance(found, AxesPanel)
    return found


def test_a_cell_keeps_its_number_its_color_and_its_name_in_every_shape(lab: Desk) -> None:
    shown, place = panel(lab), (5, 3, 2)
    trace = lab.store.trace
    assert trace is not None
    whole = np.concatenate(list(trace["q"]), axis=1)
    colors = set()
    for time, shape in ((0, "(1, 8, 32)"), (1, "(1, 8, 8, 4)"), (2, "(1, 8, 8, 4)")):
        lab.choose("axes_step", str(time))
        assert lab.find(QLabel, "axes_shape").text().startswith(shape)
        middle = shown.picture.rect_of(place).center()
        colors.add(color_in(picture(shown.picture), middle).name())
        lab.hover(shown.picture, middle)
        assert lab.store.hovered == Cell("q", 3, 2, 5)
        said = f"q[0, 3, 22] = q[0, 3, 5, 2] = q[0, 5, 3, 2] = {number(float(whole[3, 22]), 6)}"
        assert said in shown.picture.toolTip()
    assert len(colors) == 1


def test_the_way_back_ends_in_the_output_and_the_keys_of_a_group_have_fewer_heads(lab: Desk) -> None:
    shown = panel(lab)
    lab.choose("axes_stage", "k")
    lab.choose("axes_step", "2")
    assert lab.find(QLabel, "axes_shape").text().startswith("(1, 2, 8, 4)")
    lab.choose("axes_stage", "mixed")
    codes = []
    shown.picture.setFocus(Qt.FocusReason.TabFocusReason)
    for _press in range(4):
        codes.append(lab.find(QLabel, "axes_code").text())
        lab.press_key(Qt.Key.Key_Right)
    assert codes == [
        "mixed = weights @ v",
        "mixed.permute(0, 2, 1, 3)",
        "….reshape(1, 8, 32)",
        "… @ W_o",
    ]
    assert shown.picture.time == -1


def test_a_click_on_the_frame_computes_a_second_sequence_as_a_batch_of_both_would(lab: Desk) -> None:
    """The tokens backwards, computed with PyTorch as one array (batch, token, d_model)."""
    shown = panel(lab)
    trace = lab.store.trace
    assert trace is not None
    lab.choose("axes_step", "2")
    lab.click(shown.picture, shown.picture.frames()[-1].bottomRight() - QPointF(3, 3))
    settle(lab, shown)
    assert lab.find(QLabel, "axes_shape").text().startswith("(2, 8, 8, 4)")
    x = np.stack([vectors_array(trace.experiment.vectors)] * 2)
    x[1] = x[1, ::-1]
    w = projection_array(trace.site("layers.0.self").experiment, "query")
    wanted = torch.from_numpy(x) @ torch.from_numpy(np.array(w))
    for index, text in enumerate((trace.experiment.tokens, trace.experiment.tokens[::-1])):
        found = shown.picture.sequences[0].values
        np.testing.assert_allclose(found, wanted[index].numpy(), atol=1e-12)
        assert shown.picture.names == text
        middle = shown.picture.rect_of((5, 3, 2)).center()
        lab.hover(shown.picture, middle)
        said = number(float(wanted[index, 3, 22]), 6)
        assert (
            f"q[{index}, 3, 22] = q[{index}, 3, 5, 2] = q[{index}, 5, 3, 2] = {said}"
            in shown.picture.toolTip()
        )
        assert lab.store.hovered == (None if index else Cell("q", 3, 2, 5))
        lab.store.set_hover(None)
        shown.picture.setFocus()
        lab.press_key(Qt.Key.Key_Down)


def test_a_second_sequence_of_another_length_says_how_long_it_must_be(lab: Desk) -> None:
    lab.choose("axes_batch", "2")
    lab.type_text(lab.find(DocumentLine, "axes_text"), "two words")
    QTest.keyClick(lab.find(DocumentLine, "axes_text"), Qt.Key.Key_Return)
    settle(lab, panel(lab))
    said = lab.find(QLabel, "axes_note").text()
    assert "must have as many tokens as the first one, 8; got 2" in said
    assert lab.find(QLabel, "axes_shape").text().startswith("(1, ")
    lab.choose("axes_batch", "1")
    assert "dashed frame" in lab.find(QLabel, "axes_note").text()
