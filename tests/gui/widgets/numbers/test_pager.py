"""Columns by pages: none is cut, every one can be reached, and the words say which are in sight."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.numbers.pager import ColumnPager


def make(qtbot: QtBot, columns: int, width: int) -> tuple[NumberGrid, ColumnPager]:
    grid = NumberGrid()
    pager = ColumnPager(grid)
    qtbot.addWidget(grid)
    qtbot.addWidget(pager)
    names = [str(column) for column in range(columns)]
    grid.set_values(np.arange(3.0 * columns).reshape(3, columns), ("a", "b", "c"), names)
    grid.resize(width, 200)
    grid.show()
    pager.retranslate()
    return grid, pager


@pytest.mark.parametrize(("columns", "width"), [(64, 200), (8, 230), (17, 333)])
def test_pages_show_whole_columns_and_reach_all_of_them(qtbot: QtBot, columns: int, width: int) -> None:
    grid, pager = make(qtbot, columns, width)
    after = pager.findChild(QToolButton, "columns_after")
    before = pager.findChild(QToolButton, "columns_before")
    assert after is not None and before is not None and not before.isEnabled()
    seen: set[int] = set()
    for _page in range(columns):
        first, shown, everything = grid.columns_in_sight()
        assert everything == columns and shown >= 2
        assert pager.text() == f"{first}–{first + shown - 1} of {columns}"
        last = grid.cell_rect(0, first + shown - 1)
        assert last.right() <= grid.viewport().width() and last.width() >= 40
        assert grid.viewport().width() - last.right() < last.width()
        seen |= set(range(first, first + shown))
        if not after.isEnabled():
            break
        QTest.mouseClick(after, Qt.MouseButton.LeftButton)
    assert seen == set(range(columns)) and before.isEnabled()
    QTest.mouseClick(before, Qt.MouseButton.LeftButton)
    assert grid.columns_in_sight()[0] < first


def test_a_table_with_room_for_all_has_no_pages(qtbot: QtBot) -> None:
    grid, pager = make(qtbot, 4, 400)
    assert pager.isHidden() and grid.columns_in_sight() == (0, 4, 4)
    grid.resize(120, 200)
    assert not pager.isHidden()


def test_the_current_cell_brings_its_page(qtbot: QtBot) -> None:
    grid, _pager = make(qtbot, 30, 200)
    grid.set_current_cell(1, 29)
    first, shown, _all = grid.columns_in_sight()
    assert first + shown == 30
