"""A formula that has no room ends in dots that lie on the widget, at every width."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from attnviz.explain.formulas.symbols import Part
from attnviz.gui.widgets.formula_line import FormulaLine

PARTS = tuple(Part(text) for text in ("A", " = ", "softmax", "(", "S", ")", " · ", "V", " + ", "b"))


@pytest.mark.parametrize("width", range(60, 150, 3))
def test_dots_lie_on_the_widget(qapp: QApplication, qtbot: QtBot, width: int) -> None:
    line = FormulaLine("formula")
    qtbot.addWidget(line)
    line.set_parts(PARTS)
    line.resize(width, 20)
    rects = line.part_rects()
    shown = "".join(part.text for part, _rect in rects)
    assert rects[-1][1].right() <= width + 1
    assert shown == line.text() or (shown.endswith("…") and line.text().startswith(shown[:-1]))
