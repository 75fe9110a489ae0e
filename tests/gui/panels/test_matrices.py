"""The weight matrices: each kind shown as the numbers it stands for, edited into an explicit one."""

from __future__ import annotations

import numpy as np
import pytest
from desk import picture
from panels import PanelBench
from pointer import drag
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from attnviz.gui.panels.matrices import MatricesPanel
from attnviz.model.materialise import projection_array
from attnviz.model.parts import Explicit, Identity, Projections, Seeded, Tied
from attnviz.model.view import Cell

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")
KINDS = Projections(Seeded(3), Tied("query"), Identity(), Seeded(4))


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[MatricesPanel]:
    made = PanelBench(qtbot, MatricesPanel, "toy-attention", 420, 220)
    assert made.store.change(projections=KINDS)
    return made


def choose(bench: PanelBench[MatricesPanel], role: str) -> None:
    QTest.mouseClick(bench.find(QAbstractButton, f"segment_{role}"), Qt.MouseButton.LeftButton)


def test_each_kind_is_shown_by_its_numbers(bench: PanelBench[MatricesPanel]) -> None:
    expected = {
        "query": "3 × 3 · seeded",
        "key": "3 × 3 · tied → W_Q",
        "value": "3 × 3 · identity",
        "output": "3 × 3 · seeded",
    }
    for role, words in expected.items():
        choose(bench, role)
        values = projection_array(bench.store.experiment, role)  # type: ignore[arg-type]
        np.testing.assert_array_equal(bench.panel.grid.values(), values)
        assert bench.find(QLabel, "matrix_facts").text() == words
    choose(bench, "value")
    np.testing.assert_array_equal(bench.panel.grid.values(), np.eye(3))


def test_editing_a_tied_matrix_leaves_the_other_alone(bench: PanelBench[MatricesPanel]) -> None:
    choose(bench, "key")
    grid = bench.panel.grid
    query = projection_array(bench.store.experiment, "query")
    drag(grid.viewport(), grid.cell_rect(0, 1).center(), QPoint(0, -30))
    projections = bench.store.experiment.projections
    assert projections.query == Seeded(3) and isinstance(projections.key, Explicit)
    assert projections.key.values.array[0, 1] == pytest.approx(query[0, 1] + 0.3)
    bench.store.undo()
    assert bench.store.experiment.projections == KINDS


def test_a_block_is_pasted_and_what_does_not_fit_is_said(bench: PanelBench[MatricesPanel]) -> None:
    QGuiApplication.clipboard().setText("1 2 3\n4 5 6")
    grid = bench.panel.grid
    grid.setFocus()
    grid.set_current_cell(1, 1)
    QTest.keyClick(grid, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    values = projection_array(bench.store.experiment, "query")
    assert values[1:, 1:].tolist() == [[1, 2], [4, 5]]
    assert bench.refused == ["pasted 2 × 2; what is past the table's edge was left out"]


def test_the_column_that_makes_a_hovered_number_is_outlined(bench: PanelBench[MatricesPanel]) -> None:
    choose(bench, "query")
    grid = bench.panel.grid
    before = picture(grid.viewport())
    bench.store.set_hover(Cell("q", 1, 2, 0))
    lit = picture(grid.viewport())
    for column in range(3):
        same = lit.copy(grid.cell_rect(0, column).adjusted(3, 0, -3, 0))
        assert (same == before.copy(grid.cell_rect(0, column).adjusted(3, 0, -3, 0))) == (column != 2)
    bench.store.set_hover(None)
    assert picture(grid.viewport()) == before
