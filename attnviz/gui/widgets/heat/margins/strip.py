"""A strip of slim bars along one side of a heat map, one for each row or column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.layout import EDGE, Geometry

Floats = NDArray[np.floating]

GAP = 8.0
THICKNESS = 6.0
HEADING_PX = 11
_SLANTED_OVER = 14.0
"""Distance from a column's middle where its slanted label has passed over the heading."""
_TRACKS_FROM = 6.0
_TRACK_OPACITY = 0.6


@dataclass(frozen=True)
class Strip:
    """Bars at the right of the rows of the screen, or `below` its columns, at most `length` pixels long."""

    geometry: Geometry
    below: bool
    length: float

    @property
    def pitch(self) -> float:
        """Pixels from one bar to the next."""
        return self.geometry.cell_w if self.below else self.geometry.cell_h

    def indices(self) -> range:
        """The rows or columns that have a bar: visible ones, and of those smaller than a pixel only some."""
        first_down, last_down, first_across, last_across = self.geometry.visible()
        first, last = (first_across, last_across) if self.below else (first_down, last_down)
        step = max(1, math.ceil(2 / self.pitch))
        return range(-(-first // step) * step, last, step)

    def track(self, index: int, thickness: float = THICKNESS) -> QRectF:
        """Rectangle of a bar of full length; invalid if its row or column lies outside the visible part."""
        first, least, most = self._ends()
        middle = first + index * self.pitch
        if not least <= middle <= most:
            return QRectF()
        return self._bars(np.array([middle]), thickness, np.array([self.length]))[0]

    def _ends(self) -> tuple[float, float, float]:
        """Middle of the first bar, and the least and the most that is visible, along the strip."""
        plot, offset = self.geometry.plot, self.geometry.offset
        if self.below:
            return plot.left() - offset.x() + self.pitch / 2, plot.left(), plot.right()
        return plot.top() - offset.y() + self.pitch / 2, plot.top(), plot.bottom()

    def draw(self, painter: QPainter, shares: Floats, color: str, theme: Theme) -> None:
        """Bars of `shares` 0..1 of the full length, in the order of `indices`; NaN has none."""
        indices, pitch = self.indices(), self.pitch
        apart = pitch * indices.step
        thickness = min(THICKNESS, max(apart - 2, apart / 2))
        first, least, most = self._ends()
        middles = first + np.arange(indices.start, indices.stop, indices.step) * pitch
        seen = (least <= middles) & (middles <= most) & ~np.isnan(shares)
        at = middles[seen]
        lengths = np.maximum(1.0, self.length * np.minimum(shares[seen], 1.0))
        track = QColor(theme.line)
        track.setAlphaF(_TRACK_OPACITY)
        painter.setPen(Qt.PenStyle.NoPen)
        if apart >= _TRACKS_FROM:
            painter.setBrush(track)
            plot, sides = self.geometry.plot, tuple(np.round(at - thickness / 2).tolist())
            painter.drawRects(_tracks(plot.right(), plot.bottom(), self.below, sides, thickness, self.length))
        painter.setBrush(QColor(color))
        painter.drawRects(self._bars(at, thickness, lengths))

    def _bars(self, middles: Floats, thickness: float, lengths: Floats) -> list[QRectF]:
        """Rectangles of many bars: the ends of the plot are read once."""
        plot, sides = self.geometry.plot, np.round(middles - thickness / 2).tolist()
        return _rectangles(plot.right(), plot.bottom(), self.below, sides, thickness, lengths.tolist())

    def draw_heading(self, painter: QPainter, text: str, color: str) -> None:
        """Write `text` over the bars, or beside them where they hang below."""
        font, plot = ui_font(HEADING_PX), self.geometry.plot
        metrics = QFontMetricsF(font)
        aside = max(0.0, metrics.horizontalAdvance(text) - self.length - EDGE)  # a long word begins earlier
        at = QPointF(max(plot.right() + GAP - aside, self._slanted_until()), plot.top() - 4)
        if self.below:
            # Short labels leave it less room than it needs: then it ends over the first column's edge.
            left = max(0.0, plot.left() - GAP - metrics.horizontalAdvance(text))
            at = QPointF(left, plot.bottom() + GAP + metrics.ascent())
        painter.setFont(font)
        painter.setPen(QColor(color))
        painter.drawText(at, text)

    def _slanted_until(self) -> float:
        """The x from which a heading at the right is free of the last slanted label."""
        if self.geometry.across_angle != 45:
            return 0.0
        last = (self.geometry.visible()[3] - 1) // self.geometry.across_step * self.geometry.across_step
        return self.geometry.cell_rect(0, last).center().x() + _SLANTED_OVER

    def index_at(self, point: QPointF) -> int | None:
        """The row or column whose bar is under `point`; None beside the bars."""
        plot, reach = self.geometry.plot, GAP + self.length
        if self.below:
            inside = plot.bottom() + 2 <= point.y() <= plot.bottom() + reach
            at = QPointF(point.x(), plot.center().y())
        else:
            inside = plot.right() + 2 <= point.x() <= plot.right() + reach
            at = QPointF(plot.center().x(), point.y())
        cell = self.geometry.cell_at(at) if inside else None
        return None if cell is None else cell[1 if self.below else 0]


def _rectangles(
    right: float,
    bottom: float,
    below: bool,
    sides: Sequence[float],
    thickness: float,
    lengths: Iterable[float],
) -> list[QRectF]:
    """Bars from the right or the bottom edge of a plot; a bar begins at its side along the strip."""
    if below:
        return [
            QRectF(side, bottom + GAP, thickness, length)
            for side, length in zip(sides, lengths, strict=False)
        ]
    return [
        QRectF(right + GAP, side, length, thickness) for side, length in zip(sides, lengths, strict=False)
    ]


@lru_cache(maxsize=8)
def _tracks(
    right: float, bottom: float, below: bool, sides: tuple[float, ...], thickness: float, length: float
) -> list[QRectF]:
    """Bars of full length: they last while the numbers change."""
    return _rectangles(right, bottom, below, sides, thickness, repeat(length))
