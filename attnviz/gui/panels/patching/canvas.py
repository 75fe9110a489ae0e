"""The map of patching: the recovered share of each site and position, as a number on its colour."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from attnviz.core.text import number
from attnviz.gui.look.colors import LEVELS, cell_colors, inks
from attnviz.gui.widgets.token_table import At, TokenTable

_MIDDLE = (LEVELS - 1) // 2


class PatchCanvas(TokenTable):
    """Sites upwards, tokens across; a diverging colour from −1 over 0 to 1, shares beyond in the last one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("patch_canvas")
        self._shares: NDArray[np.float64] = np.empty((0, 0))

    def show_shares(
        self, titles: tuple[str, ...], tokens: tuple[str, ...], shares: NDArray[np.float64]
    ) -> None:
        """Show other shares (row, token)."""
        self._shares = shares
        self.set_table(titles, tokens)

    def color_at(self, at: At) -> QColor:
        """The colour of a cell."""
        return QColor(*cell_colors("diverging", self._theme)[self._level(at)][:3])

    def _level(self, at: At) -> int:
        share = float(self._shares[at])
        inside = 0.0 if math.isnan(share) else min(max(share, -1.0), 1.0)
        return round(_MIDDLE * (1 + inside))

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        box = self.cell(at)
        painter.fillRect(box, self.color_at(at))
        painter.setPen(QColor(inks("diverging", self._theme)[self._level(at)]))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, number(float(self._shares[at]), 2))
