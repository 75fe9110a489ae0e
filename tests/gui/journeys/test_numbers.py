"""Numbers changed by hand: what is stored, what was computed, and what is painted, all the way."""

from __future__ import annotations

import numpy as np
import pytest
from cmap import Colormap
from desk import Desk, color_in, picture
from pointer import drag, move, press, release, wheel
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QToolButton, QWidget

import attnviz
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.model.io.presets import load_preset
from attnviz.model.operands.matrices import projection_array, vectors_array
from attnviz.model.spec.parts import SeededVectors


def painted_weights(desk: Desk) -> np.ndarray:
    """The weights of the shown head, read back from the colours on the screen; NaN where hatched."""
    heat = desk.map
    table = np.round(np.asarray(Colormap("viridis")(np.linspace(0, 1, 256)))[:, :3] * 255)
    image, values = picture(heat), heat.content.values
    found = np.full(values.shape, np.nan)
    for row, column in np.ndindex(values.shape):
        corner = heat.layout_shown.cell_rect(row, column).topLeft() + QPoint(6, 6)
        rgb = np.array(QColor(color_in(image, corner)).getRgb()[:3])
        distance = np.abs(table - rgb).max(axis=1)
        if distance.min() <= 3:
            found[row, column] = distance.argmin() / 255
    return found * np.nanmax(values)


def check_screen(desk: Desk) -> None:
    """The painted weights, the numbers behind them and the stored experiment are one thing."""
    desk.settle()
    truth = attnviz.run(desk.store.experiment)["weights"][desk.store.document.view.head]
    np.testing.assert_array_equal(desk.map.content.values, truth)
    hidden = np.triu(np.ones(truth.shape, dtype=bool), 1)  # the preset is causal
    seen = painted_weights(desk)
    assert np.isnan(seen[hidden]).all()
    np.testing.assert_allclose(seen[~hidden], truth[~hidden], atol=0.012)


def test_at_the_start_the_screen_shows_what_a_script_computes(desk: Desk) -> None:
    desk.store.look(locked=None, query=0)
    check_screen(desk)
    facts = desk.find(QLabel, "status_facts").text()
    assert facts.startswith("ready · ") and "4 tokens · 4 heads · d_head 4 · float64 · NumPy" in facts
    assert desk.find(QLabel, "stage_title").text() == "weights · head 1 of 4"
    assert desk.window.windowTitle() == "A fluffy blue creature — attnviz"
    np.testing.assert_array_equal(desk.vectors.values(), vectors_array(desk.store.experiment.vectors))


def test_a_vertical_drag_on_a_vector_changes_everything_and_undo_brings_it_back(desk: Desk) -> None:
    desk.store.look(locked=None, query=0)
    first, before = desk.store.document, picture(desk.map)
    drag(desk.vectors.viewport(), desk.vector_center(0, 1), QPoint(0, -60), steps=12)
    check_screen(desk)
    values = vectors_array(desk.store.experiment.vectors)
    assert values[0, 1] == pytest.approx(0.04 + 0.60)
    old = vectors_array(first.experiment.vectors)
    assert np.argwhere(values != old).tolist() == [[0, 1]]
    assert picture(desk.map) != before
    changed = desk.store.document
    assert desk.window.windowTitle().startswith("A fluffy blue creature • ")

    desk.press_key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert desk.store.document == first and not desk.store.can_undo
    check_screen(desk)
    assert desk.window.windowTitle() == "A fluffy blue creature — attnviz"
    desk.press_key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert desk.store.document == changed and not desk.store.can_redo
    check_screen(desk)


def test_every_frame_of_a_drag_is_the_number_under_the_hand(desk: Desk) -> None:
    viewport, at = desk.vectors.viewport(), desk.vector_center(1, 0)
    press(viewport, at)
    for step in range(1, 6):
        move(viewport, at + QPoint(0, -10 * step))
        desk.settle()
        shown = vectors_array(desk.store.experiment.vectors)[1, 0]
        assert shown == pytest.approx(-2.92 + 0.1 * step)
        np.testing.assert_array_equal(
            desk.map.content.values, attnviz.run(desk.store.experiment)["weights"][0]
        )
    release(viewport, at + QPoint(0, -50))
    desk.store.undo()
    assert vectors_array(desk.store.experiment.vectors)[1, 0] == -2.92


def test_a_number_is_typed_over_a_cell(desk: Desk) -> None:
    QTest.mouseClick(desk.vectors.viewport(), Qt.MouseButton.LeftButton, pos=desk.vector_center(1, 2))
    QTest.keyClicks(desk.vectors, "1")
    editor = desk.vectors.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit) and editor.isVisible()
    QTest.keyClicks(editor, "/4")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert vectors_array(desk.store.experiment.vectors)[1, 2] == 0.25
    check_screen(desk)


def test_what_is_no_number_is_refused_with_a_sentence(desk: Desk) -> None:
    before = desk.store.document
    desk.vectors.setFocus()
    desk.vectors.set_current_cell(0, 0)
    editor = desk.vectors.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    for text in ("nan", "inf", "abc", "1e999", "1/0"):
        desk.vectors.open_editor()
        editor.selectAll()
        QTest.keyClicks(editor, text)
        QTest.keyClick(editor, Qt.Key.Key_Return)
        assert text in desk.said() and "\n" not in desk.said()
        QTest.keyClick(editor, Qt.Key.Key_Escape)
        assert desk.store.document == before and not desk.store.can_undo


def test_the_wheel_turns_the_current_number_and_is_one_entry(desk: Desk) -> None:
    viewport, at = desk.vectors.viewport(), desk.vector_center(0, 0)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    for _notch in range(3):
        assert wheel(viewport, at, 1)
    assert vectors_array(desk.store.experiment.vectors)[0, 0] == pytest.approx(-0.34 + 0.3)
    check_screen(desk)
    desk.store.undo()
    assert not desk.store.can_undo


def test_a_block_from_a_spreadsheet_is_pasted_where_the_cursor_stands(desk: Desk) -> None:
    QGuiApplication.clipboard().setText("1\t2\r\n-0,5\t4e-3\r\n")
    QTest.mouseClick(desk.vectors.viewport(), Qt.MouseButton.LeftButton, pos=desk.vector_center(0, 1))
    old = vectors_array(desk.store.experiment.vectors)
    desk.press_key(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    wanted = old.copy()
    wanted[0:2, 1:3] = [[1, 2], [-0.5, 0.004]]
    np.testing.assert_array_equal(vectors_array(desk.store.experiment.vectors), wanted)
    check_screen(desk)
    desk.press_key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    np.testing.assert_array_equal(vectors_array(desk.store.experiment.vectors), old)


def test_a_block_that_is_not_all_numbers_changes_nothing(desk: Desk) -> None:
    before = desk.store.document
    QTest.mouseClick(desk.vectors.viewport(), Qt.MouseButton.LeftButton, pos=desk.vector_center(0, 0))
    for text in ("1\tNaN\n2\t3", "1\tinf", "one\ttwo", "", "1\t2\n3"):
        desk.window.status.clear()
        QGuiApplication.clipboard().setText(text)
        desk.press_key(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
        assert desk.said().endswith((".", "1/3.")), text
        assert desk.store.document == before and not desk.store.can_undo


def test_a_block_past_the_edge_says_what_was_left_out(desk: Desk) -> None:
    QGuiApplication.clipboard().setText("\n".join(["7\t7\t7"] * 5))
    desk.vectors.setFocus()
    desk.vectors.set_current_cell(3, 6)
    desk.press_key(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    values = vectors_array(desk.store.experiment.vectors)
    assert values[3, 6:].tolist() == [7, 7] and (values[:3] != 7).all()
    assert desk.said() == "The pasted block must fit into 1 × 2 cells; got 5 × 3, and the rest was left out."


def test_copy_gives_what_paste_takes_in_full_precision(desk: Desk) -> None:
    third = 1 / 3
    desk.store.edit(lambda e: attnviz.model.edit.edits.set_vector_cell(e, 0, 0, third))
    desk.vectors.setFocus()
    desk.press_key(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    desk.press_key(Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().split("\n")
    block = np.array([[float(cell) for cell in line.split("\t")] for line in lines])
    np.testing.assert_array_equal(block, vectors_array(desk.store.experiment.vectors))


def test_the_die_draws_from_a_seed_that_is_stored(desk: Desk) -> None:
    die = desk.find(QToolButton, "vectors_dice")
    desk.click(die)
    vectors = desk.store.experiment.vectors
    assert isinstance(vectors, SeededVectors) and (vectors.n, vectors.d_model) == (4, 8)
    generator = np.random.Generator(np.random.PCG64(vectors.seed))
    np.testing.assert_array_equal(desk.vectors.values(), generator.standard_normal((4, 8)))
    check_screen(desk)
    desk.type_number("vectors_seed_field", "12")
    assert desk.store.experiment.vectors == SeededVectors(4, 8, 12)


def test_features_are_added_and_taken_away(desk: Desk) -> None:
    old = vectors_array(desk.store.experiment.vectors)
    desk.type_number("d_model_field", "3")
    np.testing.assert_array_equal(vectors_array(desk.store.experiment.vectors), old[:, :3])
    check_screen(desk)


def test_a_weight_matrix_is_edited_like_the_vectors(desk: Desk) -> None:
    desk.bring("matrices")
    box = desk.find(QComboBox, "matrix_choice")
    box.setCurrentIndex(box.findData("projections.key"))
    grid = desk.window.panels["matrices"].grid
    old = projection_array(desk.store.attention, "key")
    np.testing.assert_array_equal(grid.values(), old)
    assert desk.find(QLabel, "matrix_facts").text() == "8 × 8 · seeded"
    drag(grid.viewport(), grid.cell_rect(2, 3).center(), QPoint(0, 40))
    new = projection_array(desk.store.attention, "key")
    assert new[2, 3] == pytest.approx(old[2, 3] - 0.4) and (new != old).sum() == 1
    assert desk.find(QLabel, "matrix_facts").text() == "8 × 8 · explicit"
    check_screen(desk)
    desk.store.undo()
    assert not desk.store.can_undo
    np.testing.assert_array_equal(grid.values(), old)


def test_a_panel_behind_a_tab_gives_the_keyboard_up(desk: Desk) -> None:
    docks = desk.window.docks
    for name, dock in docks.items():
        others = [other for other in desk.window.tabifiedDockWidgets(dock) if other in docks.values()]
        if not others:
            continue
        dock.raise_()
        QApplication.processEvents()
        able = [w for w in dock.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
        shown = [widget for widget in able if widget.isVisible() and widget.isEnabled()]
        for widget in shown[:3]:
            widget.setFocus()
            assert desk.window.focusWidget() is not None and dock.isAncestorOf(desk.window.focusWidget())
            others[0].raise_()
            QApplication.processEvents()
            focused = QApplication.focusWidget()
            assert focused is None or not dock.isAncestorOf(focused), name
            dock.raise_()
            QApplication.processEvents()


def test_a_hidden_grid_writes_nothing_into_another_document(desk: Desk) -> None:
    desk.bring("matrices")
    QApplication.processEvents()
    grid = desk.find(NumberGrid, "matrix_grid")
    desk.click(grid, grid.cell_rect(0, 0).center())
    assert desk.window.focusWidget() is grid
    desk.bring("inspector")
    QApplication.processEvents()
    desk.store.open(load_preset("toy-attention"))
    desk.settle()
    before = desk.store.document
    desk.press_key(Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert desk.store.document == before
