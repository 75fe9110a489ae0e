"""The distribution in each row of a heat map: a bar of its entropy, or of the share of the chosen columns.

A sum that is not one stands behind the bar as text.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from attnviz.core.head_measures import entropy_bits
from attnviz.core.label_spacing import nice_step
from attnviz.core.matrix import by_rows, part_of
from attnviz.core.text import number
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.layout import LABEL_LINE, Geometry
from attnviz.gui.widgets.heat.margins.strip import GAP, HEADING_PX, Strip
from attnviz.i18n import _

LENGTH = 32.0
_UNEVEN = 2e-3
"""Difference of a sum from one that is shown; rounding of half precision stays below."""


def spread_size(content: HeatContent) -> float:
    """Pixels that the bars and their texts take; 0 if the rows are no distributions."""
    if content.row_sums is None or not content.row_sums.size:
        return 0.0
    texts = _texts(content)
    width = max(map(QFontMetricsF(number_font(HEADING_PX)).horizontalAdvance, texts.values()), default=-4.0)
    return GAP + LENGTH + (LABEL_LINE if content.transposed and texts else 4 + width)


def spread_strip(geometry: Geometry, content: HeatContent) -> Strip:
    """The place of the bars: behind the rows, or below them where rows are drawn as columns."""
    return Strip(geometry, content.transposed, LENGTH)


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
        strip.draw_heading(painter, _heading(len(content.chosen)), content.column_color)
    else:
        most = math.log2(max(2, content.values.shape[1]))
        strip.draw(painter, by_rows(entropy_bits, part_of(content.values, part)) / most, theme.muted, theme)
        strip.draw_heading(painter, _("entropy"), theme.muted)
    _draw_texts(painter, strip, content, theme)


def _heading(count: int) -> str:
    return _("to 1 key") if count == 1 else _("to {count} keys").format(count=count)


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
