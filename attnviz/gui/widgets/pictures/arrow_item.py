"""One family of arrows from the origin, as one item of a plot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from attnviz.gui.widgets.plots import pg

DOT_PX, STRONG_DOT_PX = 7.0, 11.0
"""Diameters of the dots at the tips."""


class ArrowItem(pg.GraphicsObject):
    """Lines from the origin, the strong one thick, and dots at the tips.

    A single item with points: curves and scatters of the plot library prepare themselves, at every step of
    a drag, for a million points of many sizes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tips: list[QPointF] = []
        self._strong = -1
        self._color = QColor()
        self._bounds = QRectF()

    def set_arrows(self, tips: NDArray[np.float64], color: str, strong: int) -> None:
        """Draw arrows to `tips` (n, 2), `strong` the one in focus (-1: none).

        A tip that is NaN is at the origin.
        """
        self.prepareGeometryChange()
        finite = np.nan_to_num(tips)
        self._tips = [QPointF(x, y) for x, y in finite.tolist()]
        self._strong, self._color = strong, QColor(color)
        least, most = (reach(finite, axis=0, initial=0.0).tolist() for reach in (np.min, np.max))
        self._bounds = QRectF(QPointF(*least), QPointF(*most))
        self.update()

    def viewTransformChanged(self) -> None:
        self.prepareGeometryChange()  # the dots keep their size in pixels

    def boundingRect(self) -> QRectF:
        """The tips and the origin, with the dots around them."""
        x, y = (STRONG_DOT_PX * (0.0 if pixel is None else pixel.length()) for pixel in self.pixelVectors())
        return self._bounds.adjusted(-x, -y, x, y)

    def paint(self, painter: QPainter, option: object, widget: object = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        faint, is_quiet = QColor(self._color), self._strong >= 0
        faint.setAlphaF(0.45 if is_quiet else 0.9)
        strong = self._tips[self._strong : self._strong + 1] if is_quiet else []
        others = [tip for index, tip in enumerate(self._tips) if index != self._strong]
        for tips, color, width in ((self._tips, faint, 1.4), (strong, self._color, 3.0)):
            painter.setPen(pg.mkPen(color, width=width))
            painter.drawLines([QLineF(QPointF(), tip) for tip in tips])
        dot_color = faint if is_quiet else self._color
        for tips, color, size in ((others, dot_color, DOT_PX), (strong, self._color, STRONG_DOT_PX)):
            pen = pg.mkPen(color, width=size)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.drawPoints(tips)
