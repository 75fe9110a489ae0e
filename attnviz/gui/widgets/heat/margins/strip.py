"""A strip of slim bars along one side of a heat map, one for each row or column."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.layout import Geometry

GAP = 8.0
THICKNESS = 6.0
HEADING_PX = 11
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
        plot = self.geometry.plot
        if self.below:
            x = self.geometry.cell_rect(0, index).center().x()
            rect = QRectF(round(x - thickness / 2), plot.bottom() + GAP, thickness, self.length)
            return rect if plot.left() <= x <= plot.right() else QRectF()
        y = self.geometry.cell_rect(index, 0).center().y()
        rect = QRectF(plot.right() + GAP, round(y - thickness / 2), self.length, thickness)
        return rect if plot.top() <= y <= plot.bottom() else QRectF()

    def draw(self, painter: QPainter, shares: list[float], color: str, theme: Theme) -> None:
        """Bars of `shares` 0..1 of the full length, in the order of `indices`; NaN has none."""
        indices = self.indices()
        pitch = self.pitch * indices.step
        thickness = min(THICKNESS, max(pitch - 2, pitch / 2))
        track, fill = QColor(theme.line), QColor(color)
        track.setAlphaF(_TRACK_OPACITY)
        for index, share in zip(indices, shares, strict=True):
            bar = self.track(index, thickness)
            if not bar.isValid() or math.isnan(share):
                continue
            if pitch >= _TRACKS_FROM:
                painter.fillRect(bar, track)
            length = max(1.0, self.length * min(share, 1.0))
            if self.below:
                bar.setHeight(length)
            else:
                bar.setWidth(length)
            painter.fillRect(bar, fill)

    def draw_heading(self, painter: QPainter, text: str, color: str) -> None:
        """Write `text` over the bars, or beside them where they hang below."""
        font, plot = ui_font(HEADING_PX), self.geometry.plot
        metrics = QFontMetricsF(font)
        at = QPointF(plot.right() + GAP, plot.top() - 5)
        if self.below:
            left = plot.left() - GAP - metrics.horizontalAdvance(text)
            at = QPointF(left, plot.bottom() + GAP + metrics.ascent())
        painter.setFont(font)
        painter.setPen(QColor(color))
        painter.drawText(at, text)

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
