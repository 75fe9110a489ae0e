"""A painting kept as pixels, for what stays the same while the numbers beside it change."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPixmap

from attnviz.gui.widgets.heat.hatch import device_scale, is_vector


class KeptPicture:
    """Paints again only for another key, size or resolution; as shapes into an SVG or a PDF."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._pixels = QPixmap()

    def draw(
        self, painter: QPainter, size: QSize, key: tuple[object, ...], paint: Callable[[QPainter], None]
    ) -> None:
        """Draw at the origin what `paint` paints on a ground of `size`, a function of `key` alone."""
        if is_vector(painter):
            paint(painter)
            return
        ratio = device_scale(painter)
        wanted = (*key, ratio, size.width(), size.height())
        if wanted != self._key:
            self._key, self._pixels = wanted, _painted(size, ratio, paint)
        painter.drawPixmap(0, 0, self._pixels)


def _painted(size: QSize, ratio: float, paint: Callable[[QPainter], None]) -> QPixmap:
    pixels = QPixmap((size * ratio).expandedTo(QSize(1, 1)))
    pixels.setDevicePixelRatio(ratio)
    pixels.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixels)
    painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
    paint(painter)
    painter.end()
    return pixels
