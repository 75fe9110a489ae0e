"""One of `CURVES`: two lines with their bands, and the document's point."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.plots import pg
from attnviz.study.gradient_curves import GradientCurve, Line, Point

BAND_ALPHA = 0.16
CURVE_PX = 2.2


class CurvePlot(pg.GraphicsLayoutWidget):  # type: ignore[misc]
    """The lines of a row; the shown head of the document is a dot."""

    def __init__(self) -> None:
        super().__init__()
        self.view = self.addViewBox(0, 1, enableMouse=False, enableMenu=False)
        self._axes = (pg.AxisItem("left"), pg.AxisItem("bottom"))
        for axis, place in zip(self._axes, ((0, 0), (1, 1)), strict=True):
            axis.linkToView(self.view)
            axis.enableAutoSIPrefix(False)
            self.addItem(axis, *place)
        self.ci.layout.setContentsMargins(0, 2, 0, 0)
        self.ci.layout.setSpacing(0)
        self._theme: Theme = LIGHT
        self._row: GradientCurve | None = None
        self.edges = tuple(
            tuple(pg.PlotCurveItem(antialias=True) for _edge in range(3)) for _line in range(2)
        )
        """Of each line the median, and the two ends of its band."""
        self._bands = tuple(pg.FillBetweenItem(low, high) for _median, low, high in self.edges)
        for band, lines in zip(self._bands, self.edges, strict=True):
            for item in (band, *lines):
                self.view.addItem(item)
        self.dot = pg.ScatterPlotItem(pxMode=True, useCache=False, size=9)
        self.dot.setZValue(20)
        self.view.addItem(self.dot)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumSize(120, 90)

    def set_curve(self, row: GradientCurve) -> None:
        """Draw the lines of a row."""
        if row is self._row:
            return
        self._row = row
        x, highest = np.array(row.x), 0.0
        for line, items in zip(row.lines, self.edges, strict=True):
            for item, values in zip(items, self._heights(row, line), strict=True):
                item.setData(x, values)
                highest = max(highest, float(values.max()))
        lowest = min(float(items[1].getData()[1].min()) for items in self.edges) if row.is_log else 0.0
        self._axes[1].setTicks([list(row.ticks)])
        self.view.setRange(xRange=(x[0], x[-1]), yRange=(lowest, highest), padding=0.02)
        self.apply_theme(self._theme)

    @staticmethod
    def _heights(row: GradientCurve, line: Line) -> tuple[np.ndarray, ...]:
        slopes = line.slopes()
        return tuple(row.heights(values) for values in (slopes.median, slopes.low, slopes.high))

    def set_point(self, point: Point | None) -> None:
        """Mark the document."""
        if point is None or self._row is None or not np.isfinite(point).all():
            self.dot.setData(x=[], y=[])
            return
        self.dot.setData(x=[point[0]], y=[float(self._row.heights(np.array(point[1])))])

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`: of the first line that of queries, of the second that of keys."""
        self._theme = theme
        self.setBackground(theme.panel)
        for axis in self._axes:
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.muted))
            axis.setStyle(tickFont=ui_font(10), tickLength=-3)
        lines = () if self._row is None else self._row.lines
        for line, (median, *ends), band in zip(lines, self.edges, self._bands, strict=False):
            color = QColor(theme.query if line.is_first else theme.key)
            style = Qt.PenStyle.SolidLine if line.is_first else Qt.PenStyle.DashLine
            median.setPen(pg.mkPen(color, width=CURVE_PX, style=style))
            for end in ends:
                end.setPen(None)
            color.setAlphaF(BAND_ALPHA)
            band.setBrush(color)
        self.dot.setBrush(QColor(theme.ink))
        self.dot.setPen(pg.mkPen(theme.panel, width=1.5))
