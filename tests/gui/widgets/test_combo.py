"""The list of a combo box: wide enough for its longest option, below the box."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from attnviz.gui.look.style import apply_style
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.combo import Combo, DropDown


def test_the_list_of_a_narrow_box_shows_its_longest_option(qtbot: QtBot, qapp: QApplication) -> None:
    apply_style(qapp, LIGHT)
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(600, 300)
    long = "a very much longer option than the box is wide"
    combo = Combo((("a", "short", ""), ("b", long, "")), parent=window)
    combo.setGeometry(5, 5, 80, 24)
    window.show()
    combo.showPopup()
    view = combo.view()
    assert view.viewport().width() >= view.fontMetrics().horizontalAdvance(long)
    assert view.mapToGlobal(view.rect().topLeft()).y() >= combo.mapToGlobal(combo.rect().bottomLeft()).y()
    combo.hidePopup()
    assert combo.width() == 80


def test_a_text_that_does_not_fit_ends_in_an_ellipsis(qtbot: QtBot, qapp: QApplication) -> None:
    """The picture of the long option is that of its elided text."""
    apply_style(qapp, LIGHT)
    long = "a very much longer option than the box is wide"
    combo = Combo((("a", long, ""), ("b", "short", "")))
    qtbot.addWidget(combo)
    combo.set_value("a")
    combo.resize(120, 26)
    painted = combo.grab().toImage()
    whole = next(n for n in range(len(long), 0, -1) if combo.fontMetrics().horizontalAdvance(long[:n]) < 80)
    same = [n for n in range(whole, 1, -1) if _painted(combo, long[:n].rstrip() + "…") == painted]
    assert same, "no beginning with an ellipsis is what is painted"


def test_a_box_of_its_own_width_shows_its_longest_option_whole(qtbot: QtBot, qapp: QApplication) -> None:
    apply_style(qapp, LIGHT)
    for long in ("Symmetric about 0", "Percentiles 2 to 98", "Every row for itself"):
        box = DropDown()
        qtbot.addWidget(box)
        box.addItem(long)
        box.resize(box.sizeHint())
        painted = box.grab().toImage()
        box.resize(box.width() + 40, box.height())
        part = box.grab(QRect(0, 0, painted.width() - 24, painted.height())).toImage()
        assert painted.copy(8, 4, part.width() - 8, 17) == part.copy(8, 4, part.width() - 8, 17)


def _painted(combo: Combo, text: str) -> QImage:
    combo.setItemText(0, text)
    return combo.grab().toImage()
