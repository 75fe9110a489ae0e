"""The vectors' table: what is shown, what is lit, which sequence is edited."""

from __future__ import annotations

import numpy as np
import pytest
from desk import picture
from first_layer import change
from panels import PanelBench
from pointer import drag, move
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from attnviz.gui.panels.vectors import VectorsPanel
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.view import Cell


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[VectorsPanel]:
    return PanelBench(qtbot, VectorsPanel, "cross-attention", 420, 300)


def choose(bench: PanelBench[VectorsPanel], sequence: str) -> None:
    segment = bench.find(QAbstractButton, f"segment_{sequence}")
    QTest.mouseClick(segment, Qt.MouseButton.LeftButton)


def test_each_sequence_is_shown_and_edited_on_its_own(bench: PanelBench[VectorsPanel]) -> None:
    experiment = bench.store.experiment
    assert experiment.memory is not None
    grid = bench.panel.grid
    np.testing.assert_array_equal(grid.values(), vectors_array(experiment.vectors))
    choose(bench, "memory")
    np.testing.assert_array_equal(grid.values(), vectors_array(experiment.memory.vectors))
    drag(grid.viewport(), grid.cell_rect(1, 0).center(), QPoint(0, -40))
    changed = bench.store.experiment
    assert changed.vectors == experiment.vectors and changed.memory is not None
    difference = vectors_array(changed.memory.vectors) - vectors_array(experiment.memory.vectors)
    assert np.argwhere(difference).tolist() == [[1, 0]] and difference[1, 0] == pytest.approx(0.4)
    bench.store.undo()
    np.testing.assert_array_equal(grid.values(), vectors_array(experiment.memory.vectors))


def test_a_memory_that_goes_takes_its_switch_along(bench: PanelBench[VectorsPanel]) -> None:
    choose(bench, "memory")
    change(bench.store, memory=None)
    np.testing.assert_array_equal(bench.panel.grid.values(), vectors_array(bench.store.experiment.vectors))
    assert not bench.find(QAbstractButton, "segment_memory").isVisible()


def test_a_hovered_number_is_told_with_its_sequence(bench: PanelBench[VectorsPanel]) -> None:
    grid = bench.panel.grid
    move(grid.viewport(), grid.cell_rect(2, 1).center(), held=False)
    assert bench.store.pointer.cell == Cell("tokens_embedded", 2, 1)
    choose(bench, "memory")
    move(grid.viewport(), grid.cell_rect(0, 2).center(), held=False)
    assert bench.store.pointer.cell == Cell("memory", 0, 2)
    move(grid.viewport(), QPoint(2, 2), held=False)
    assert bench.store.pointer.cell is None


def test_what_a_hovered_key_is_made_of_is_outlined(bench: PanelBench[VectorsPanel]) -> None:
    choose(bench, "memory")
    grid = bench.panel.grid
    before = picture(grid.viewport())
    bench.store.set_hover(Cell("k", 1, 0, 0))
    lit = picture(grid.viewport())
    assert lit.copy(grid.cell_rect(1, 0)) != before.copy(grid.cell_rect(1, 0))
    assert lit.copy(grid.cell_rect(3, 0)) == before.copy(grid.cell_rect(3, 0))
    bench.store.set_hover(Cell("q", 1, 0, 0))  # a query is made of the other sequence
    assert picture(grid.viewport()) == before


def test_a_seed_is_shown_where_there_is_one_and_drawn_from(bench: PanelBench[VectorsPanel]) -> None:
    n, d_model = vectors_array(bench.store.experiment.vectors).shape
    seed = bench.find(DragNumber, "vectors_seed_field")
    seed.setFocus()
    QTest.keyClick(seed, Qt.Key.Key_Up)
    vectors = bench.store.experiment.vectors
    assert vectors == SeededVectors(n, d_model, int(seed.value()))
    change(bench.store, vectors=SeededVectors(n, d_model, 77))
    assert seed.value() == 77
