"""Rows of numbers that fill one by one."""

from __future__ import annotations

import numpy as np
from pointer import move
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from attnviz.gui.widgets.pictures.row_matrix import RowMatrix


def test_the_tooltip_is_of_the_number_that_is_there_now(qtbot: QtBot) -> None:
    rows = RowMatrix()
    qtbot.addWidget(rows)
    rows.resize(200, 120)
    rows.set_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), 3, labels=("a", "<s>", "c"))
    rows.show()
    move(rows, rows.cell_rect(1, 1).center().toPoint(), held=False)
    assert rows.toolTip() == "<qt>&lt;s&gt; · 1 = 4.000000</qt>"
    rows.set_rows(np.array([[1.0, 2.0], [3.0, -0.5]]), 3, labels=("a", "b", "c"))
    assert rows.toolTip() == "<qt>b · 1 = −0.500000</qt>"
    rows.set_rows(np.array([[1.0, 2.0]]), 3, labels=("a", "b", "c"))
    assert rows.toolTip() == ""
    rows.set_rows(np.array([[1.0, 2.0], [3.0, 8.0]]), 3, labels=("a", "b", "c"))
    assert rows.toolTip() == "<qt>b · 1 = 8.000000</qt>"
    QApplication.sendEvent(rows, QEvent(QEvent.Type.Leave))
    assert rows.toolTip() == ""
