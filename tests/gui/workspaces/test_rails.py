"""Names on rails: Chinese characters stand upright, one below the other."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QTabBar, QToolButton

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.panels.table import PANELS
from attnviz.gui.workspaces import rails


def rail(desk: Desk) -> QTabBar:
    """The drawer's tabs, at the right of the window."""
    bars = [bar for bar in desk.window.findChildren(QTabBar) if bar.parent() is desk.window]
    return max((bar for bar in bars if bar.isVisible()), key=lambda bar: bar.x())


def ink(bar: QTabBar, index: int, color: str) -> np.ndarray:
    """True where a tab's name is painted, (y, x), without the empty border."""
    image = bar.grab(QRect(bar.tabRect(index))).toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.array(image.constBits()).reshape(image.height(), image.bytesPerLine() // 4, 4)[..., 2::-1]
    near = np.abs(pixels.astype(int) - QColor(color).getRgb()[:3]).sum(axis=-1) < 150
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    assert rows.size, "the name is not painted"
    return near[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def test_chinese_names_stand_upright(desk: Desk) -> None:
    desk.go("compare")
    bar = rail(desk)
    index = (bar.currentIndex() + 1) % bar.count()
    # A horizontal stroke: lying on its side, it would be taller than wide.
    bar.setTabText(index, "\u4e00")
    stroke = ink(bar, index, desk.theme.muted)
    assert stroke.shape[1] > 2 * stroke.shape[0]
    bar.setTabText(index, "\u4e00\u4e00")
    strokes = ink(bar, index, desk.theme.muted).any(axis=1)
    size = ui_font(TEXT_PX).pixelSize()
    assert np.count_nonzero(np.diff(strokes.astype(int)) == 1) == 1 and len(strokes) >= size


def test_no_name_is_painted_under_the_buttons_that_scroll_the_rail(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = QTabBar(desk.window)
    bar.setShape(QTabBar.Shape.RoundedEast)
    bar.setUsesScrollButtons(True)
    for row in PANELS:
        bar.addTab("\u4e00\u4e00" + row.id)
    upright = rails.UprightNames(bar)
    bar.installEventFilter(upright)
    bar.setGeometry(0, 0, 40, 400)
    bar.show()
    QApplication.processEvents()
    end = min(button.y() for button in bar.findChildren(QToolButton) if button.isVisible())
    under = QRect(0, end, bar.width(), bar.height() - end)
    before = bar.grab().toImage()
    monkeypatch.setattr(rails, "draw_upright", lambda painter, text: None)
    assert bar.grab().toImage() != before
    assert bar.grab(under).toImage() == before.copy(under)
