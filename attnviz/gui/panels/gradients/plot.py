"""The norm of the Jacobian of a softmax against d: two curves with their bands, and the document's point."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from attnviz.core.softmax_slope import WIDTHS, slopes_by_width
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.plots import pg
from attnviz.gui.look.theme import Theme

BAND_ALPHA = 0.16
CURVE_PX = 2.2


class SlopePlot(pg.GraphicsLayoutWidget):  # type: ignore[misc]
    """d from 1 to 1024 on a logarithmic axis; the shown head of the document is a dot."""

    def __init__(self) -> None:
        super().__init__()
        self.view = self.addViewBox(0, 1, enableMouse=False, enableMenu=False)
        self._axes = (pg.AxisItem("left"), pg.AxisItem("bottom"))
        for axis, place in zip(self._axes, ((0, 0), (1, 1)), strict=True):
            axis.linkToView(self.view)
            axis.enableAutoSIPrefix(False)
            self.addItem(axis, *place)
        self._axes[1].setTicks([[(float(power), str(2**power)) for power in range(0, 11, 2)]])
        self.ci.layout.setContentsMargins(0, 2, 0, 0)
        self.ci.layout.setSpacing(0)
        self._edges: dict[bool, tuple[pg.PlotCurveItem, ...]] = {}
        self._bands: dict[bool, pg.FillBetweenItem] = {}
        x = np.log2(np.array(WIDTHS, dtype=np.float64))
        for is_scaled in (True, False):
            found = slopes_by_width(is_scaled)
            lines = tuple(
                pg.PlotCurveItem(x, edge, antialias=True) for edge in (found.median, found.low, found.high)
            )
            self._edges[is_scaled] = lines
            self._bands[is_scaled] = pg.FillBetweenItem(lines[1], lines[2])
            for item in (self._bands[is_scaled], *lines):
                self.view.addItem(item)
        self._dot = pg.ScatterPlotItem(pxMode=True, useCache=False, size=9)
        self._dot.setZValue(20)
        self.view.addItem(self._dot)
        self.view.setRange(xRange=(0, 10), yRange=(0, 0.72), padding=0.02)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumSize(120, 90)

    def set_point(self, width: int, norm: float) -> None:
        """Mark the document: the width of its queries, and the norm of its shown head."""
        self._dot.setData(x=[float(np.log2(width))], y=[norm] if np.isfinite(norm) else [0.0])

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`: with the division that of queries, without it that of keys."""
        self.setBackground(theme.panel)
        for axis in self._axes:
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.muted))
            axis.setStyle(tickFont=ui_font(10), tickLength=-3)
        for is_scaled, (median, *edges) in self._edges.items():
            color = QColor(theme.query if is_scaled else theme.key)
            style = Qt.PenStyle.SolidLine if is_scaled else Qt.PenStyle.DashLine
            median.setPen(pg.mkPen(color, width=CURVE_PX, style=style))
            for edge in edges:
                edge.setPen(None)
            color.setAlphaF(BAND_ALPHA)
            self._bands[is_scaled].setBrush(color)
        self._dot.setBrush(QColor(theme.ink))
        self._dot.setPen(pg.mkPen(theme.panel, width=1.5))
