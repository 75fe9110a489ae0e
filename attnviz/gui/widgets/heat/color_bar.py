"""The colour bar: the colour of each number, with the actual ends of the range and its name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.phrases import phrased
from attnviz.core.text import number
from attnviz.gui.look.colors import LEVELS, cell_colors, indexed_image
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.heat.hatch import is_vector
from attnviz.gui.widgets.heat.kept_picture import KeptPicture
from attnviz.gui.widgets.upright_text import draw_beside
from attnviz.i18n import N_, _

_STRIP = 8.0
_GAP = 5.0
_SHORTEST = 40.0
_TEXT_PX = 11
_WIDTH_STEP = 8
"""Widths are multiples of it, so that the map keeps its place while a number changes."""


@dataclass(frozen=True)
class ColorScale:
    """Content of a colour bar: the colour map, its ends, and the name of the quantity and its range.

    `per_row` means that every row has its own ends: then `low` and `high` belong to no particular row and the
    bar names them instead of showing numbers, unless `row` names their row. `beyond`: cells lie below the
    lower, above the upper end, and have its colour. `lacking` counts the cells
    without a colour: NaN, and infinite ones. `quantity` is the name where it has no room.
    """

    kind: Kind
    low: float
    high: float
    name: str = ""
    beyond: tuple[bool, bool] = (False, False)
    per_row: bool = False
    row: str | None = None
    lacking: tuple[int, int] = (0, 0)
    quantity: str = ""

    def tick_texts(self) -> tuple[str, str]:
        """The texts at the lower and at the upper end."""
        if self.per_row and self.row is None:
            return _("\u2212row max") if self.kind == "diverging" else "0", _("row max")
        longest = max(abs(self.low), abs(self.high))
        digits = 3 if longest < 100 else 2 if longest < 1000 else 1
        below, above = ("\u2264" if self.beyond[0] else ""), ("\u2265" if self.beyond[1] else "")
        return below + number(self.low, digits), above + number(self.high, digits)

    def notes(self) -> list[tuple[str, Literal["error", "warning"]]]:
        """Notes under the strip about cells without a colour, with the shade of their mark."""
        nan, infinite = self.lacking
        result: list[tuple[str, Literal["error", "warning"]]] = []
        if nan:
            result.append((_("{count} NaN").format(count=nan), "error"))
        if infinite:
            result.append((_("{count} infinite").format(count=infinite), "warning"))
        return result

    def name_within(self, room: float, metrics: QFontMetricsF) -> str:
        """The name, or the quantity alone where the name is longer than `room`."""
        if not self.quantity or metrics.horizontalAdvance(self.name) <= room:
            return self.name
        return self.quantity

    def width(self) -> float:
        """Pixels of the strip and its texts; the same whether or not a row is named."""
        metrics = QFontMetricsF(number_font(_TEXT_PX))
        texts = [*self.tick_texts(), *((_("row max"), "0.000") if self.per_row else ())]
        beside = _STRIP + _GAP + max(map(metrics.horizontalAdvance, texts))
        below = max((metrics.horizontalAdvance(note) for note, _shade in self.notes()), default=0.0)
        return math.ceil(max(beside, below) / _WIDTH_STEP) * _WIDTH_STEP


class ColorBar(QWidget):
    """A vertical strip of the colour map with its two ends, and its name upright between them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        says(self, id="color_bar", name=N_("Colour bar"))
        self._theme = LIGHT
        self._scale = ColorScale("sequential", 0.0, 1.0)
        self._kept = KeptPicture()
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
        low, high = self._scale.tick_texts()
        ends = _("From {low} to {high}").format(low=low, high=high)
        said = [ends, self._scale.name, *(note for note, _shade in self._scale.notes())]
        self.setAccessibleDescription(phrased(filter(None, said)))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the strip, its ends and its name: upright, or lying if the widget is flat."""
        painter = QPainter(self)
        if self.width() > self.height():
            self._paint_lying(painter)
        else:
            self._paint_upright(painter)
        painter.end()

    def _paint_lying(self, painter: QPainter) -> None:
        """One line: the lower end, the strip, the upper end, the name, and notes."""
        numbers, words = number_font(_TEXT_PX), ui_font(_TEXT_PX)
        low, high = self._scale.tick_texts()
        advance = QFontMetricsF(numbers).horizontalAdvance
        name = self._scale.name_within(self.width() / 3, QFontMetricsF(words))
        texts = [(name, self._theme.muted)]
        texts += [(note, getattr(self._theme, shade)) for note, shade in self._scale.notes()]
        after = sum(QFontMetricsF(words).horizontalAdvance(text) + 2 * _GAP for text, _color in texts)
        left = advance(low) + _GAP
        room = max(_SHORTEST, self.width() - left - advance(high) - _GAP - after)
        strip = QRectF(left, (self.height() - _STRIP) / 2, room, _STRIP)
        self._paint_strip(painter, strip)
        painter.setFont(numbers)
        painter.setPen(QColor(self._theme.muted))
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, 0, left, self.height()), middle, low)
        x = strip.right() + _GAP
        painter.drawText(QRectF(x, 0, self.width() - x, self.height()), middle, high)
        x += advance(high) + 2 * _GAP
        painter.setFont(words)
        for text, color in texts:
            painter.setPen(QColor(color))
            painter.drawText(QRectF(x, 0, max(0.0, self.width() - x), self.height()), middle, text)
            x += QFontMetricsF(words).horizontalAdvance(text) + 2 * _GAP

    def _paint_upright(self, painter: QPainter) -> None:
        painter.setFont(number_font(_TEXT_PX))
        metrics = QFontMetricsF(painter.font())
        notes = self._scale.notes()
        strip = QRectF(0, 0, _STRIP, self.height() - (len(notes) * metrics.height() + 4 if notes else 0))
        for i, (note, shade) in enumerate(notes):
            painter.setPen(QColor(getattr(self._theme, shade)))
            painter.drawText(QPointF(0, strip.bottom() + 4 + metrics.ascent() + i * metrics.height()), note)
        left, line = _STRIP + _GAP, metrics.height()
        key = (self._scale.kind, self._scale.name, self._scale.quantity, self._theme, strip.height(), line)
        self._kept.draw(painter, self.size(), key, partial(self._paint_named_strip, strip, line))
        painter.setFont(number_font(_TEXT_PX))
        painter.setPen(QColor(self._theme.muted))
        low, high = self._scale.tick_texts()
        for text, top in ((low, strip.bottom() - line), (high, strip.top())):
            box = QRectF(left, top, self.width() - left, line)
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_named_strip(self, strip: QRectF, line: float, painter: QPainter) -> None:
        """The colours and the name of the range: the ends between them are painted with each edit."""
        self._paint_strip(painter, strip)
        painter.setPen(QColor(self._theme.muted))
        self._paint_name(painter, strip.adjusted(0, line + 4, 0, -line - 4))

    def _paint_strip(self, painter: QPainter, strip: QRectF) -> None:
        """The colours, the highest at the top or at the right."""
        if is_vector(painter):
            self._paint_steps(painter, strip)
            return
        map_bytes = np.arange(LEVELS - 1, -1, -1, dtype=np.uint8).reshape(-1, 1)
        if strip.width() > strip.height():
            map_bytes = np.ascontiguousarray(map_bytes[::-1].T)
        painter.drawImage(strip, indexed_image(map_bytes, self._scale.kind, self._theme))

    def _paint_name(self, painter: QPainter, strip: QRectF) -> None:
        """The name of the range beside the middle of `strip`, reading upwards; downwards in Chinese."""
        painter.setFont(ui_font(_TEXT_PX))
        metrics = QFontMetricsF(painter.font())
        name = self._scale.name_within(strip.height(), metrics)
        name = metrics.elidedText(name, Qt.TextElideMode.ElideRight, strip.height())
        if strip.height() < 2 * metrics.height():
            return
        painter.save()
        painter.translate(_STRIP + _GAP + metrics.height() / 2, strip.center().y())
        draw_beside(painter, name)
        painter.restore()

    def _paint_steps(self, painter: QPainter, strip: QRectF) -> None:
        """Paint one rectangle per colour: most programs that open an SVG blur a one-pixel-wide image."""
        lies = strip.width() > strip.height()
        step = (strip.width() if lies else strip.height()) / LEVELS
        for i, (r, g, b) in enumerate(cell_colors(self._scale.kind, self._theme)):
            # A little overlap hides the seams between neighbours.
            size = step + 0.4 if i else step
            if lies:
                rect = QRectF(strip.left() + max(0.0, i * step - 0.4), strip.top(), size, strip.height())
            else:
                rect = QRectF(strip.left(), strip.bottom() - (i + 1) * step, strip.width(), size)
            painter.fillRect(rect, QColor(int(r), int(g), int(b)))
