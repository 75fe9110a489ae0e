"""A slim level colour bar: the two ends of a range beside a strip of its colours."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.text import number
from attnviz.gui.look.colors import LEVELS, cell_colors, indexed_image
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.heat.hatch import is_vector
from attnviz.i18n import _

_STRIP_HEIGHT, _MOST_STRIP, _GAP = 6.0, 168.0, 8.0
_TEXT_PX = 11
_MAP_BYTES = np.arange(LEVELS, dtype=np.uint8).reshape(1, -1)
"""All colours, the lowest first, as a picture of one row."""


def end_text(end: float) -> str:
    """The end of a range: whole numbers without decimals."""
    return str(int(end)).replace("-", "\N{MINUS SIGN}") if end == int(end) else number(end, 3)


class RangeBar(QWidget):
    """The range of a map, below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self._kind: Kind = "sequential"
        self._ends = ("0", "1")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def texts(self) -> tuple[str, str]:
        """The written ends."""
        return self._ends

    def set_range(self, kind: Kind, low: float, high: float, *, shows_sign: bool = False) -> None:
        """Show another range; `shows_sign` writes a plus before a positive end."""
        plus = "+" if shows_sign and high > 0 else ""
        self._kind, self._ends = kind, (end_text(low), f"{plus}{end_text(high)}")
        self.setAccessibleName(_("Colour bar"))
        self.setAccessibleDescription(_("From {low} to {high}").format(low=self._ends[0], high=self._ends[1]))
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 16)

    def strip_rect(self) -> QRectF:
        """Rectangle of the colours on the widget."""
        metrics = QFontMetricsF(number_font(_TEXT_PX))
        low, high = (metrics.horizontalAdvance(text) + _GAP for text in self._ends)
        width = max(0.0, min(_MOST_STRIP, self.width() - low - high))
        left = low + (self.width() - low - high - width) / 2
        return QRectF(left, (self.height() - _STRIP_HEIGHT) / 2, width, _STRIP_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        strip = self.strip_rect()
        if is_vector(painter):
            self._paint_steps(painter, strip)
        else:
            painter.drawImage(strip, indexed_image(_MAP_BYTES, self._kind, self._theme))
        font = number_font(_TEXT_PX)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.muted))
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        low, high = self._ends
        painter.drawText(QPointF(strip.left() - _GAP - metrics.horizontalAdvance(low), base), low)
        painter.drawText(QPointF(strip.right() + _GAP, base), high)
        painter.end()

    def _paint_steps(self, painter: QPainter, strip: QRectF) -> None:
        """Paint one rectangle per colour: an SVG would blur an enlarged image."""
        step = strip.width() / LEVELS
        for index, (red, green, blue) in enumerate(cell_colors(self._kind, self._theme)):
            # A little overlap hides the seams between neighbours.
            box = QRectF(strip.left() + index * step, strip.top(), step + 0.5, strip.height())
            painter.fillRect(box.intersected(strip), QColor(int(red), int(green), int(blue)))
