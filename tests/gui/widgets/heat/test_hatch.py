"""The ground of masked cells, also where it has no pixels."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.heat.hatch import draw_blocked


@pytest.mark.parametrize(("width", "height", "painted"), [(20, 20, True), (20, 0.2, False), (0, 20, False)])
def test_only_a_ground_with_pixels_is_painted(
    qtbot: QtBot, width: float, height: float, painted: bool
) -> None:
    """A warning of Qt fails the test."""
    image = QImage(24, 24, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    draw_blocked(painter, QRectF(1, 1, width, height), LIGHT)
    painter.end()
    alphas = {image.pixelColor(x, y).alpha() for x in range(24) for y in range(24)}
    assert alphas == ({0, 255} if painted else {0})
