"""The table of numbers under real mouse, wheel, keys and clipboard, and what it paints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cell_colors import color_at
from numpy.typing import NDArray
from pace import assert_fast
from pointer import Log, drag, move, show_active, wheel
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QAction, QGuiApplication, QImage, QKeySequence, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMainWindow
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.widgets.numbers.grid import NumberGrid

SIGNALS = ("edited", "pasted", "rejected", "cell_hovered", "gesture_started", "gesture_finished")
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
VALUES = np.array([[1.0, -2.0, 0.0], [0.5, 0.25, -1.0]])


def make(qtbot: QtBot, values: NDArray[Any] = VALUES, **options: Any) -> tuple[NumberGrid, Log]:
    grid = NumberGrid("Vectors", **options)
    qtbot.addWidget(grid)
    grid.apply_theme(LIGHT)
    rows, columns = values.shape
    grid.set_values(values, [f"r{i}" for i in range(rows)], [str(i) for i in range(columns)])
    grid.resize(320, 160)
    show_active(qtbot, grid)
    return grid, Log(grid, *SIGNALS)


def center(grid: NumberGrid, row: int, column: int) -> QPoint:
    return grid.cell_rect(row, column).center()


def fill_of(grid: NumberGrid, row: int, column: int) -> tuple[int, int, int]:
    """The colour of a cell near its corner, where no digit stands."""
    image = grid.viewport().grab().toImage()
    pixel = image.pixelColor(grid.cell_rect(row, column).topLeft() + QPoint(4, 3))
    return pixel.red(), pixel.green(), pixel.blue()


def ink_in(image: QImage, grid: NumberGrid, row: int, column: int) -> int:
    """Number of distinct colours in the middle of a cell: 1 where nothing is written."""
    rect = grid.cell_rect(row, column).adjusted(4, 4, -4, -4)
    return len(
        {
            image.pixel(x, y)
            for x in range(rect.left(), rect.right())
            for y in range(rect.top(), rect.bottom())
        }
    )


def editor_of(grid: NumberGrid) -> QLineEdit:
    editor = grid.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    return editor


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_cells_are_painted_in_the_colours_of_their_values(qtbot: QtBot, theme: Any) -> None:
    grid, _log = make(qtbot)
    grid.apply_theme(theme)
    for (row, column), value in np.ndenumerate(VALUES):
        expected = color_at((value / 2.0 + 1.0) / 2.0, "diverging", theme)
        assert fill_of(grid, row, column) == expected
    image = grid.viewport().grab().toImage()
    assert ink_in(image, grid, 0, 1) > 1


def test_a_new_value_is_painted_and_so_is_a_partial_repaint(qtbot: QtBot) -> None:
    grid, _log = make(qtbot)
    changed = VALUES.copy()
    changed[1, 1] = -1.5
    grid.set_values(changed)
    assert fill_of(grid, 1, 1) == color_at(0.125, "diverging", LIGHT)
    whole = grid.viewport().grab().toImage()
    part = grid.cell_rect(1, 1).adjusted(-3, -3, 3, 3)
    assert grid.viewport().grab(part).toImage() == whole.copy(part)


def test_one_edit_repaints_one_cell(qtbot: QtBot) -> None:
    grid, _log = make(qtbot)
    QGuiApplication.processEvents()
    changed = VALUES.copy()
    changed[1, 1] = -1.5
    regions: list[QRect] = []
    watcher = PaintWatcher(regions)
    grid.viewport().installEventFilter(watcher)
    grid.set_values(changed)
    grid.set_values(changed)
    qtbot.waitUntil(lambda: bool(regions), timeout=1000)
    assert regions == [grid.cell_rect(1, 1)]


class PaintWatcher(QObject):
    """Notes what part of a widget each paint event is about."""

    def __init__(self, regions: list[QRect]) -> None:
        super().__init__()
        self._regions = regions

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self._regions.append(event.rect())
        return False


def test_a_number_that_is_not_finite_is_marked_and_does_not_wash_out_the_rest(qtbot: QtBot) -> None:
    grid, _log = make(qtbot, np.array([[np.nan, np.inf, 1.0, -1.0]]))
    assert fill_of(grid, 0, 2) == color_at(1.0, "diverging", LIGHT)
    image = grid.viewport().grab().toImage()
    rect = grid.cell_rect(0, 0)
    colors = [
        image.pixelColor(x, y)
        for x in range(rect.left(), rect.right())
        for y in range(rect.top(), rect.bottom())
    ]
    assert any(c.red() > 150 and c.green() < 90 for c in colors), "the error colour of the text NaN"


def test_a_drag_edits_live_in_one_gesture(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    drag(grid.viewport(), center(grid, 1, 0), QPoint(0, -20))
    assert log.values("edited") == [(1, 0, 0.55), (1, 0, 0.6), (1, 0, 0.65), (1, 0, 0.7)]
    marks = [event for event in log.events if event in ("gesture_started", "gesture_finished")]
    assert marks == ["gesture_started", "gesture_finished"]
    assert grid.values()[1, 0] == 0.7


def test_shift_drags_finely(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    drag(grid.viewport(), center(grid, 1, 0), QPoint(0, -20), SHIFT)
    assert log.values("edited")[-1] == (1, 0, 0.52)


def test_a_click_with_shift_extends_the_selection(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    for row, column, modifier in ((0, 0, Qt.KeyboardModifier.NoModifier), (1, 1, SHIFT)):
        QTest.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, modifier, center(grid, row, column))
    grid.copy()
    assert QGuiApplication.clipboard().text() == "1\t-2\n0.5\t0.25"
    assert log.values("edited") == []


def test_a_drag_does_not_lose_what_the_store_echoes(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.edited.connect(lambda row, column, value: grid.set_values(grid.values()))
    drag(grid.viewport(), center(grid, 0, 0), QPoint(0, -40), steps=40)
    assert grid.values()[0, 0] == pytest.approx(1.4, abs=1e-12)
    assert log.events.count("gesture_started") == 1


def test_the_wheel_scrolls_unless_the_cell_is_current_or_ctrl_is_held(qtbot: QtBot) -> None:
    grid, log = make(qtbot, np.zeros((40, 3)))
    wheel(grid.viewport(), center(grid, 2, 1), -1)
    assert grid.verticalScrollBar().value() > 0
    assert log.values("edited") == []
    wheel(grid.viewport(), QPoint(center(grid, 5, 1)), 1, CTRL)
    assert log.values("edited") == [(5, 1, 0.1)]
    grid.setFocus()
    grid.set_current_cell(4, 2)
    before = grid.verticalScrollBar().value()
    wheel(grid.viewport(), center(grid, 4, 2), -1)
    assert log.values("edited")[-1] == (4, 2, -0.1)
    assert grid.verticalScrollBar().value() == before


def test_typing_enter_and_tab(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.setFocus()
    grid.set_current_cell(0, 1)
    QTest.keyClick(grid, Qt.Key.Key_3)
    QTest.keyClicks(editor_of(grid), "/4")
    QTest.keyClick(editor_of(grid), Qt.Key.Key_Tab)
    assert log.values("edited") == [(0, 1, 0.75)]
    assert grid.current_cell() == (0, 2)
    QTest.keyClick(grid, Qt.Key.Key_F2)
    assert editor_of(grid).isVisible()
    QTest.keyClick(editor_of(grid), Qt.Key.Key_Escape)
    assert not editor_of(grid).isVisible()
    assert len(log.values("edited")) == 1


def test_double_click_opens_every_digit(qtbot: QtBot) -> None:
    grid, _log = make(qtbot, np.array([[1 / 3]]))
    QTest.mouseDClick(
        grid.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, center(grid, 0, 0)
    )
    assert float(editor_of(grid).text()) == 1 / 3


def test_text_that_is_no_number_is_refused(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.setFocus()
    grid.open_editor("nan")
    QTest.keyClick(editor_of(grid), Qt.Key.Key_Return)
    assert "must be finite" in str(log.values("rejected")[0])
    assert editor_of(grid).property("invalid")
    np.testing.assert_array_equal(grid.values(), VALUES)


def test_arrows_move_shift_extends_delete_zeroes(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.setFocus()
    grid.set_current_cell(0, 0)
    QTest.keyClick(grid, Qt.Key.Key_Right)
    QTest.keyClick(grid, Qt.Key.Key_Down)
    QTest.keyClick(grid, Qt.Key.Key_Delete)
    assert log.values("edited") == [(1, 1, 0.0)]
    assert log.events.count("gesture_started") == log.events.count("gesture_finished") == 1
    QTest.keyClick(grid, Qt.Key.Key_Right, SHIFT)
    QTest.keyClick(grid, Qt.Key.Key_Up, SHIFT)
    QTest.keyClick(grid, Qt.Key.Key_Delete)
    ((row, column, block),) = log.values("pasted")  # type: ignore[misc]
    assert (row, column, block.tolist()) == (0, 1, [[0.0, 0.0], [0.0, 0.0]])
    grid.set_current_cell(1, 1)
    QTest.keyClick(grid, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert log.values("edited")[-1] == (1, 1, 0.01)


def test_tab_moves_no_cell_and_escape_deselects(qtbot: QtBot) -> None:
    grid, _log = make(qtbot)
    grid.setFocus()
    grid.set_current_cell(1, 1)
    grid.focusNextPrevChild(True)
    assert grid.current_cell() == (1, 1)
    QTest.keyClick(grid, Qt.Key.Key_Escape)
    assert grid.current_cell() is None


def test_copy_has_full_precision(qtbot: QtBot) -> None:
    values = np.array([[1 / 3, 2.0], [1e-17, -5.25]])
    grid, _log = make(qtbot, values)
    grid.setFocus()
    grid.set_current_cell(0, 0)
    QTest.keyClick(grid, Qt.Key.Key_C, CTRL)
    assert QGuiApplication.clipboard().text() == "0.3333333333333333"
    QTest.keyClick(grid, Qt.Key.Key_A, CTRL)
    QTest.keyClick(grid, Qt.Key.Key_C, CTRL)
    assert QGuiApplication.clipboard().text() == "0.3333333333333333\t2\n1e-17\t-5.25"
    QTest.keyClick(grid, Qt.Key.Key_Escape)
    QTest.keyClick(grid, Qt.Key.Key_C, CTRL)
    assert QGuiApplication.clipboard().text().count("\t") == 2


def test_paste_hands_over_the_block_and_where_it_begins(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.setFocus()
    grid.set_current_cell(1, 1)
    QGuiApplication.clipboard().setText("1\t2\r\n3\t4\r\n")
    QTest.keyClick(grid, Qt.Key.Key_V, CTRL)
    ((row, column, block),) = log.values("pasted")  # type: ignore[misc]
    assert (row, column) == (1, 1)
    np.testing.assert_array_equal(block, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(grid.values(), VALUES)


def test_its_keys_come_before_the_shortcuts_of_the_window(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    grid = NumberGrid("Vectors")
    grid.set_values(VALUES)
    window.setCentralWidget(grid)
    action = QAction("Copy picture", window)
    action.setShortcuts([QKeySequence("Ctrl+C"), QKeySequence("Right"), QKeySequence("7")])
    window.addAction(action)
    triggered = Log(action, "triggered")
    show_active(qtbot, window)
    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_Right)
    QTest.keyClick(grid, Qt.Key.Key_C, CTRL)
    QTest.keyClick(grid, Qt.Key.Key_7)
    assert triggered.events == []
    assert grid.current_cell() == (0, 1)
    assert QGuiApplication.clipboard().text() == "-2"


def test_a_malformed_paste_names_the_cell(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.setFocus()
    QGuiApplication.clipboard().setText("1\t2\n3\tx")
    QTest.keyClick(grid, Qt.Key.Key_V, CTRL)
    (sentence,) = log.values("rejected")
    assert "Row 2, column 2" in str(sentence)
    assert "“x”" in str(sentence)
    assert log.values("pasted") == []


def test_hover_tells_the_cell_and_its_end(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    move(grid.viewport(), center(grid, 1, 2), held=False)
    move(grid.viewport(), center(grid, 1, 2) + QPoint(2, 0), held=False)
    move(grid.viewport(), QPoint(2, 2), held=False)
    assert log.values("cell_hovered") == [(1, 2), (-1, -1)]


def test_highlights_are_painted_and_cleared(qtbot: QtBot) -> None:
    grid, _log = make(qtbot)
    plain = grid.viewport().grab().toImage()
    grid.set_highlight(rows=[0], cells=[(1, 1), (9, 9)])
    lit = grid.viewport().grab().toImage()
    corner = grid.cell_rect(1, 1).topLeft() + QPoint(1, 1)
    assert lit.pixelColor(corner).name() == LIGHT.ink
    assert lit != plain
    grid.set_highlight()
    assert grid.viewport().grab().toImage() == plain


def test_labels_are_plain_text(qtbot: QtBot) -> None:
    grid, _log = make(qtbot)
    grid.set_values(VALUES, ["<b>x</b>", "<b>x</b>"], [])
    grid.set_values(VALUES, ["x", "<b>x</b>"], [])
    image = grid.viewport().grab().toImage()
    rows = [grid.cell_rect(row, 0) for row in (0, 1)]
    widths = []
    for rect in rows:
        dark = [
            x
            for x in range(rect.left())
            for y in range(rect.top(), rect.bottom())
            if image.pixelColor(x, y).lightness() < 160
        ]
        widths.append(max(dark))
    assert widths[1] > widths[0] + 20, "markup shows literally and so is longer"


def test_a_new_shape_keeps_the_current_cell_where_it_fits(qtbot: QtBot) -> None:
    grid, log = make(qtbot)
    grid.set_current_cell(1, 2)
    grid.set_values(np.ones((2, 3)))
    assert grid.current_cell() == (1, 2)
    grid.set_values(np.ones((2, 2)), ["a", "b"], ["0", "1"])
    assert grid.current_cell() is None
    assert log.values("edited") == []


def test_a_large_table_paints_quickly(qtbot: QtBot) -> None:
    grid, _log = make(qtbot, np.random.default_rng(0).normal(size=(256, 64)))
    grid.resize(900, 700)
    QGuiApplication.processEvents()

    def change_every_number() -> None:
        grid.set_values(grid.values() + 1e-9)
        grid.viewport().repaint()

    assert_fast(change_every_number, most=240)  # about 600 visible cells


def test_numbers_that_cannot_change_are_held_and_entered_ones_stand_over_them(qtbot: QtBot) -> None:
    """A vocabulary's matrix is not copied; what is typed, copied, painted and limits the colours is the
    entered number, and other values end it.
    """
    given = VALUES.astype(np.float32)
    given.setflags(write=False)
    grid, log = make(qtbot, given)
    assert grid._scene.values is given
    largest = fill_of(grid, 0, 1)
    drag(grid.viewport(), center(grid, 0, 2), QPoint(0, -300))
    assert log.values("edited")[-1] == (0, 2, 3.0) and given.tolist() == VALUES.tolist()
    assert grid.values().tolist() == [[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]]
    assert fill_of(grid, 0, 1) != largest  # −2 of 3 is paler
    grid._deselect()
    grid.copy()
    assert QGuiApplication.clipboard().text() == "1\t-2\t3\n0.5\t0.25\t-1"
    drag(grid.viewport(), center(grid, 0, 2), QPoint(0, 300))
    assert grid.values().tolist() == VALUES.tolist() and fill_of(grid, 0, 1) == largest
    drag(grid.viewport(), center(grid, 1, 0), QPoint(0, -100))
    grid.set_values(given)
    assert grid.values().tolist() == VALUES.tolist()
