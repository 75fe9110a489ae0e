"""The spread of each row beside a heat map: a slim bar of its entropy, and its sum where that is not one."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from attnviz.core.entropy import entropy_bits
from attnviz.core.text import number
from attnviz.core.thinning import nice_step
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.layout import LABEL_LINE, Geometry
from attnviz.i18n import _

GAP = 8.0
LENGTH, THICKNESS = 40.0, 6.0
SUM_PX = 11
_UNEVEN = 2e-3
"""Difference of a sum from one that is shown; rounding of half precision stays below."""


def spread_width(content: HeatContent) -> float:
    """Pixels that the bars take beside the rows; 0 if the rows are no distributions."""
    if content.row_sums is None or not content.row_sums.size:
        return 0.0
    return GAP + LENGTH + (_sum_width() + 4 if uneven(content) else 0.0)


def uneven(content: HeatContent) -> bool:
    """True if a row does not sum to one, so that sums are shown."""
    return content.row_sums is not None and bool(_differs(content.row_sums).any())


def row_at(geometry: Geometry, point: QPointF, below: bool) -> int | None:
    """The row whose bar is under `point`; None beside the bars."""
    plot = geometry.plot
    if not geometry.sums:
        return None
    if below:
        inside = plot.bottom() + 2 <= point.y() <= plot.bottom() + GAP + LENGTH
        at = QPointF(point.x(), plot.center().y())
    else:
        inside = plot.right() + 2 <= point.x() <= plot.right() + GAP + LENGTH
        at = QPointF(plot.center().x(), point.y())
    cell = geometry.cell_at(at) if inside else None
    return None if cell is None else cell[1 if below else 0]


def draw_spread(painter: QPainter, geometry: Geometry, content: HeatContent, theme: Theme) -> None:
    """Bars behind the rows, or below them where rows are drawn as columns; a full bar is log₂ n bits."""
    assert content.row_sums is not None
    below = content.transposed
    first_down, last_down, first_across, last_across = geometry.visible()
    first, last = (first_across, last_across) if below else (first_down, last_down)
    size = geometry.cell_w if below else geometry.cell_h
    step = max(1, math.ceil(2 / size))
    rows = range(-(-first // step) * step, last, step)
    most = math.log2(max(2, content.values.shape[1]))
    shares = entropy_bits(content.values[rows.start : rows.stop : step]) / most
    thickness = min(THICKNESS, max(size * step - 2, size * step / 2))
    track, fill = QColor(theme.line), QColor(theme.muted)
    track.setAlphaF(0.6)
    for row, share in zip(rows, shares.tolist(), strict=True):
        bar = _bar_rect(geometry, row, thickness, below)
        if not bar.isValid() or math.isnan(share):
            continue
        painter.fillRect(bar, track)
        length = max(1.0, LENGTH * min(share, 1.0))
        bar.setHeight(length) if below else bar.setWidth(length)
        painter.fillRect(bar, fill)
    if uneven(content):
        _draw_sums(painter, geometry, content.row_sums, theme.muted, below)


def draw_heading(painter: QPainter, geometry: Geometry, below: bool, font: QFont, color: str) -> None:
    """The word over the bars, or beside them where they hang below."""
    metrics, text = QFontMetricsF(font), _("entropy")
    width = metrics.horizontalAdvance(text)
    plot = geometry.plot
    at = QPointF(plot.right() + GAP, plot.top() - 5)
    if below:
        at = QPointF(plot.left() - GAP - width, plot.bottom() + GAP + metrics.ascent())
    painter.setFont(font)
    painter.setPen(QColor(color))
    painter.drawText(at, text)


def _bar_rect(geometry: Geometry, row: int, thickness: float, below: bool) -> QRectF:
    """The track of one bar; invalid if its row lies outside the visible part."""
    plot = geometry.plot
    center = geometry.cell_rect(*((0, row) if below else (row, 0))).center()
    if below:
        shown = plot.left() <= center.x() <= plot.right()
        rect = QRectF(round(center.x() - thickness / 2), plot.bottom() + GAP, thickness, LENGTH)
    else:
        shown = plot.top() <= center.y() <= plot.bottom()
        rect = QRectF(plot.right() + GAP, round(center.y() - thickness / 2), LENGTH, thickness)
    return rect if shown else QRectF()


def _draw_sums(painter: QPainter, geometry: Geometry, sums: np.ndarray, color: str, below: bool) -> None:
    """The sums that are not one, as text behind the bars."""
    font = number_font(SUM_PX)
    metrics = QFontMetricsF(font)
    painter.setFont(font)
    painter.setPen(QColor(color))
    first_down, last_down, first_across, last_across = geometry.visible()
    first, last = (first_across, last_across) if below else (first_down, last_down)
    step = nice_step((_sum_width() + 4) / geometry.cell_w) if below else geometry.down_step
    differs = _differs(sums)
    for row in range(-(-first // step) * step, last, step):
        bar = _bar_rect(geometry, row, THICKNESS, below)
        if not differs[row] or not bar.isValid():
            continue
        text = f"\u03a3 {number(float(sums[row]))}"
        if below:
            at = QPointF(bar.center().x() - metrics.horizontalAdvance(text) / 2, bar.bottom() + LABEL_LINE)
        else:
            at = QPointF(bar.right() + 4, bar.center().y() + (metrics.ascent() - metrics.descent()) / 2)
        painter.drawText(at, text)


def _differs(sums: np.ndarray) -> np.ndarray:
    return ~(np.abs(sums.astype(np.float64) - 1) <= _UNEVEN)


def _sum_width() -> float:
    return QFontMetricsF(number_font(SUM_PX)).horizontalAdvance("\u03a3 0.0000")
