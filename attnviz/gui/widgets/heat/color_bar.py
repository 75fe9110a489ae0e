"""The colour bar: the colour of each number, with the actual ends of the range."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.text import number
from attnviz.gui.look.colors import LEVELS, cell_colors, indexed_image
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.heat.hatch import is_vector
from attnviz.i18n import _

_STRIP = 10.0
_GAP = 6.0


@dataclass(frozen=True)
class ColorScale:
    """Content of a colour bar: the colour map and its ends; `logarithmic` determines the middle number.

    `per_row` means that every row has its own ends: then `low` and `high` belong to no particular row and the
    bar names them instead of showing numbers, unless `row` names their row. `lacking` counts the cells
    without a colour: NaN, and infinite ones.
    """

    kind: Kind
    low: float
    high: float
    logarithmic: bool = False
    per_row: bool = False
    row: str | None = None
    lacking: tuple[int, int] = (0, 0)


class ColorBar(QWidget):
    """A vertical strip of the colour map with three ticks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("color_bar")
        self._theme = LIGHT
        self._scale = ColorScale("sequential", 0.0, 1.0)
        self.retranslate()

    @property
    def scale(self) -> ColorScale:
        """The shown scale."""
        return self._scale

    def set_scale(self, scale: ColorScale) -> None:
        """Show another range or colour map."""
        if scale != self._scale:
            self._scale = scale
            self.retranslate()
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        low, _middle, high = self.tick_texts()
        self.setAccessibleName(_("Colour bar"))
        said = [
            _("From {low} to {high}").format(low=low, high=high),
            *(note for note, _color in self.notes()),
        ]
        self.setAccessibleDescription(", ".join(said))
        self.update()

    def tick_texts(self) -> tuple[str, str, str]:
        """The texts at the bottom, in the middle and at the top."""
        scale = self._scale
        if scale.per_row and scale.row is None:
            low = _("\u2212row max") if scale.kind == "diverging" else "0"
            return low, "0" if scale.kind == "diverging" else "", _("row max")
        middle = (scale.low + scale.high) / 2
        if scale.logarithmic and scale.low > 0:
            middle = math.sqrt(scale.low) * math.sqrt(scale.high)
        low, middle_text, high = (number(value, self._digits()) for value in (scale.low, middle, scale.high))
        return low, middle_text, high

    def notes(self) -> list[tuple[str, str]]:
        """Notes under the strip about cells without a colour, with the colour of their mark."""
        nan, infinite = self._scale.lacking
        result = []
        if nan:
            result.append((_("{count} NaN").format(count=nan), self._theme.error))
        if infinite:
            result.append((_("{count} infinite").format(count=infinite), self._theme.warning))
        return result

    def _digits(self) -> int:
        """Largest number of decimals that fits beside the strip, for the longer end."""
        longest = max(abs(self._scale.low), abs(self._scale.high))
        return 3 if longest < 100 else 2 if longest < 1000 else 1

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the strip and its ticks."""
        painter = QPainter(self)
        font = number_font(11)
        metrics = QFontMetricsF(font)
        inset = metrics.height() / 2
        notes = self.notes()
        strip = QRectF(0, 0, _STRIP, self.height() - (len(notes) * metrics.height() + 4 if notes else 0))
        painter.setFont(font)
        for i, (note, color) in enumerate(notes):
            painter.setPen(QColor(color))
            painter.drawText(QPointF(0, strip.bottom() + 4 + metrics.ascent() + i * metrics.height()), note)
        map_bytes = np.arange(LEVELS - 1, -1, -1, dtype=np.uint8).reshape(-1, 1)
        if is_vector(painter):
            self._paint_steps(painter, strip)
        else:
            painter.drawImage(strip, indexed_image(map_bytes, self._scale.kind, self._theme))
        painter.setFont(font)
        painter.setPen(QColor(self._theme.muted))
        for text, y in zip(
            self.tick_texts(), (strip.bottom() - inset, strip.center().y(), strip.top() + inset), strict=True
        ):
            box = QRectF(_STRIP + _GAP, y - inset, self.width() - _STRIP - _GAP, 2 * inset)
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()

    def _paint_steps(self, painter: QPainter, strip: QRectF) -> None:
        """Paint one rectangle per colour: most programs that open an SVG blur a one-pixel-wide image."""
        step = strip.height() / LEVELS
        for i, (r, g, b) in enumerate(cell_colors(self._scale.kind, self._theme)[::-1]):
            # A little overlap hides the seams between neighbours.
            painter.fillRect(
                QRectF(0, i * step, _STRIP, min(step + 0.4, strip.height() - i * step)),
                QColor(int(r), int(g), int(b)),
            )
