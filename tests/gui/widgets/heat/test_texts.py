"""Texts drawn at once are those that Qt draws one after the other."""

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from attnviz.gui.look.fonts import number_font
from attnviz.gui.widgets.heat.paint import draw_texts

TEXTS = ["0.123", "−12.50", "4e−05", "≈0", "NaN", "∞", "−∞", "1234567890"]
STARTS = [(3.0 + 0.37 * index, 20.25 + 21.4 * index) for index in range(len(TEXTS))]


def canvas(ratio: float) -> QImage:
    image = QImage(round(150 * ratio), round(220 * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    return image


def alphas(image: QImage) -> NDArray[np.int64]:
    return np.array(image.constBits()).reshape(image.height(), image.width(), 4)[..., 3].astype(np.int64)


@pytest.mark.parametrize("ratio", [1.0, 1.25, 2.0])
@pytest.mark.parametrize("px", [11, 12, 13, 14, 16])
@pytest.mark.parametrize("last", ["0.5", "缩"], ids=["in the font", "in another font"])
@pytest.mark.usefixtures("qapp")
def test_the_pixels_are_those_of_single_texts(ratio: float, px: int, last: str) -> None:
    texts, font = [*TEXTS[:-1], last], number_font(px)
    at_once, alone = canvas(ratio), canvas(ratio)
    painter = QPainter(at_once)
    painter.setPen(QColor("#102030"))
    draw_texts(painter, font, STARTS, texts)
    painter.end()
    painter = QPainter(alone)
    painter.setPen(QColor("#102030"))
    painter.setFont(font)
    for start, text in zip(STARTS, texts, strict=True):
        painter.drawText(QPointF(*start), text)
    painter.end()
    # Between whole pixels Qt sets the characters of one text a part of a pixel apart, which greys an edge.
    assert np.abs(alphas(at_once) - alphas(alone)).max() <= (0 if ratio == 1.0 else 72)
    assert alphas(at_once).max() == 255
