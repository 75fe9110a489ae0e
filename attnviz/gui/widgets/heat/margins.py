"""Slim bars along a side of a heat map: the mean weight that a column receives, the distribution in a row."""

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

from attnviz.core.head_measures import entropy_bits
from attnviz.core.label_spacing import nice_step
from attnviz.core.matrix import by_rows, part_of
from attnviz.core.text import number
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.layout import EDGE, LABEL_LINE, Geometry
from attnviz.i18n import _

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

    def heading_rect(self, text: str) -> QRectF:
        """The place of a heading: over the bars, or beside them where they hang below."""
        plot, metrics = self.geometry.plot, QFontMetricsF(ui_font(HEADING_PX))
        width = metrics.horizontalAdvance(text)
        aside = max(0.0, width - self.length - EDGE)  # a long word begins earlier
        left, base = max(plot.right() + GAP - aside, self._slanted_until()), plot.top() - 4
        if self.below:
            # Short labels leave it less room than it needs: then it ends over the first column's edge.
            left, base = max(0.0, plot.left() - GAP - width), plot.bottom() + GAP + metrics.ascent()
        return QRectF(left, base - metrics.ascent(), width, metrics.height())

    def draw_heading(self, painter: QPainter, text: str, color: str) -> None:
        """Write `text` in its place."""
        font, rect = ui_font(HEADING_PX), self.heading_rect(text)
        painter.setFont(font)
        painter.setPen(QColor(color))
        painter.drawText(QPointF(rect.left(), rect.top() + QFontMetricsF(font).ascent()), text)

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


RECEIVED_LENGTH = 16.0


def received_size(content: HeatContent) -> float:
    """Pixels that the bars take; 0 without means."""
    return 0.0 if content.column_means is None or not content.column_means.size else GAP + RECEIVED_LENGTH


def received_strip(geometry: Geometry, content: HeatContent) -> Strip:
    """The place of the bars: below the columns, or behind them where columns are drawn as rows."""
    return Strip(geometry, not content.transposed, RECEIVED_LENGTH)


def draw_received(painter: QPainter, geometry: Geometry, content: HeatContent, theme: Theme) -> None:
    """Paint the bars and their heading; the largest mean has the full length."""
    assert content.column_means is not None
    strip = received_strip(geometry, content)
    columns = strip.indices()
    most = float(np.nanmax(content.column_means, initial=0.0)) or 1.0
    means = content.column_means[columns.start : columns.stop : columns.step] / most
    strip.draw(painter, means, content.column_color, theme)
    strip.draw_heading(painter, received_heading(), theme.muted)


def received_heading() -> str:
    """The heading of the bars."""
    return _("mean")


SPREAD_LENGTH = 32.0
_UNEVEN = 2e-3
"""Difference of a sum from one that is shown; rounding of half precision stays below."""


def has_spread(content: HeatContent) -> bool:
    """True if rows have bars: distributions with their entropy, a share of chosen keys, or a sum that is not
    one.
    """
    if content.row_sums is None or not content.row_sums.size:
        return False
    return content.shows_entropy or bool(content.chosen) or bool(_texts(content))


def spread_size(content: HeatContent) -> float:
    """Pixels that the bars and their texts take; 0 if rows have none."""
    if not has_spread(content):
        return 0.0
    texts = _texts(content)
    width = max(map(QFontMetricsF(number_font(HEADING_PX)).horizontalAdvance, texts.values()), default=-4.0)
    return GAP + SPREAD_LENGTH + (LABEL_LINE if content.transposed and texts else 4 + width)


def spread_strip(geometry: Geometry, content: HeatContent) -> Strip:
    """The place of the bars: behind the rows, or below them where rows are drawn as columns."""
    return Strip(geometry, content.transposed, SPREAD_LENGTH)


def shares(content: HeatContent, rows: slice = slice(None)) -> NDArray[np.float64]:
    """The weight that goes to the chosen columns in each of `rows`."""
    chosen = list(content.chosen)
    return by_rows(
        lambda part: part[slice(None), chosen].sum(axis=1, dtype=np.float64), part_of(content.values, rows)
    )


def draw_spread(painter: QPainter, geometry: Geometry, content: HeatContent, theme: Theme) -> None:
    """Paint the bars, their heading, and the texts behind them; a bar of full length is log₂ n bits, or 1."""
    strip = spread_strip(geometry, content)
    rows = strip.indices()
    part = slice(rows.start, rows.stop, rows.step)
    if content.chosen:
        strip.draw(painter, shares(content, part), content.column_color, theme)
        strip.draw_heading(painter, spread_heading(content), content.column_color)
    else:
        most = math.log2(max(2, content.values.shape[1]))
        strip.draw(painter, by_rows(entropy_bits, part_of(content.values, part)) / most, theme.muted, theme)
        strip.draw_heading(painter, spread_heading(content), theme.muted)
    _draw_texts(painter, strip, content, theme)


def spread_heading(content: HeatContent) -> str:
    """The heading of the bars: entropy, or the number of the chosen keys."""
    count = len(content.chosen)
    if not count:
        return _("entropy")
    return _("to 1 key") if count == 1 else _("to {count} keys").format(count=count)


def spread_help(content: HeatContent) -> str:
    """A sentence about the bars beside the rows."""
    if content.chosen:
        return _("The share of each row that the chosen keys receive")
    return _("Entropy of each row in bits: none where one key has all weight, most where all have the same")


def received_help() -> str:
    """A sentence about the bars of the columns."""
    return _("The mean weight that each key receives from the queries")


def _draw_texts(painter: QPainter, strip: Strip, content: HeatContent, theme: Theme) -> None:
    texts = _texts(content)
    if not texts:
        return
    font = number_font(HEADING_PX)
    metrics = QFontMetricsF(font)
    painter.setFont(font)
    painter.setPen(QColor(theme.muted))
    widest = max(map(metrics.horizontalAdvance, texts.values()), default=0.0)
    step = nice_step(((widest + 4) if strip.below else LABEL_LINE) / strip.pitch)
    for row, text in texts.items():
        bar = strip.track(row)
        if row % step or not bar.isValid():
            continue
        if strip.below:
            at = QPointF(bar.center().x() - metrics.horizontalAdvance(text) / 2, bar.bottom() + LABEL_LINE)
        else:
            at = QPointF(bar.right() + 4, bar.center().y() + (metrics.ascent() - metrics.descent()) / 2)
        painter.drawText(at, text)


def _texts(content: HeatContent) -> dict[int, str]:
    """Row and text: its share if columns are chosen, else its sum where that is not one."""
    if content.row_sums is None:
        return {}
    if content.chosen:
        return {row: number(share) for row, share in enumerate(shares(content).tolist())}
    differs = ~(np.abs(content.row_sums.astype(np.float64) - 1) <= _UNEVEN)
    return {int(row): f"\u03a3 {number(float(content.row_sums[row]))}" for row in np.flatnonzero(differs)}
