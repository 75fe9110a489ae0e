"""One head of a survey as a tile: its histogram over the texts, on the colour of its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from attnviz.core.color_maps import Kind
from attnviz.gui.look.colors import LEVELS, cell_colors, inks
from attnviz.gui.look.theme import Theme

LEAST_SIDE = 14.0
"""Smaller tiles have the colour alone."""
HIGHEST = 0.85
"""Height of the highest bar as a share of the tile."""
ALPHA = 150
"""Opacity of the bars, from 0 to 255."""


@dataclass(frozen=True)
class Distribution:
    """`mean` from `ends[0]` to `ends[1]`, NaN of no text; `counts` of the texts, from low to high scores."""

    counts: tuple[int, ...]
    mean: float
    ends: tuple[float, float]
    kind: Kind

    @property
    def level(self) -> int:
        """The place of the mean on the colour map."""
        low, high = self.ends
        return round((LEVELS - 1) * min(max((self.mean - low) / (high - low), 0.0), 1.0))

    def bar(self, at: int, box: QRectF) -> QRectF:
        """One bar of the histogram in a tile; the highest has `HIGHEST` of its height."""
        width = box.width() / len(self.counts)
        height = HIGHEST * box.height() * self.counts[at] / max(self.counts)
        return QRectF(box.left() + at * width, box.bottom() - height, width, height)

    def paint(self, painter: QPainter, box: QRectF, ratio: float, theme: Theme) -> None:
        """Paint the tile; one without a text stays empty."""
        if math.isnan(self.mean):
            return
        painter.fillRect(box, QColor(*map(int, cell_colors(self.kind, theme)[self.level])))
        if box.width() < LEAST_SIDE:
            return
        ink = QColor(inks(self.kind, theme)[self.level])
        ink.setAlpha(ALPHA)
        for at, count in enumerate(self.counts):
            if count:
                painter.fillRect(self.bar(at, box), ink)
