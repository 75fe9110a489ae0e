"""Score against distance: a curve for each position encoding, the present one strong, and the pair's own."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from attnviz.explain.position_curves import CURVE_ROWS, Curve
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import LIGHT, Theme, head_color
from attnviz.gui.widgets.plots import pg

STRONG_PX, THIN_PX, OTHERS_ALPHA = 2.6, 1.2, 0.75


def curve_color(id_: str, is_present: bool, theme: Theme) -> QColor:
    """The present encoding has the accent, "none" is muted, the others have hues of their own."""
    if is_present:
        return QColor(theme.accent)
    hue = CURVE_ROWS[id_].hue
    color = QColor(theme.muted if hue is None else head_color(hue))
    color.setAlphaF(OTHERS_ALPHA)
    return color


def curve_pen(id_: str, is_present: bool, theme: Theme) -> QPen:
    """The line of one encoding, in the plot and in the legend."""
    pen = QPen(curve_color(id_, is_present, theme), STRONG_PX if is_present else THIN_PX)
    pen.setCosmetic(True)
    dash = CURVE_ROWS[id_].dash
    if dash and not is_present:
        pen.setDashPattern(dash)
    return pen


class DistancePlot(pg.GraphicsLayoutWidget):  # type: ignore[misc]
    """Curves over the distance; a line and a dot show the selected pair."""

    def __init__(self) -> None:
        super().__init__()
        self._theme = LIGHT
        self._curves: tuple[Curve, ...] = ()
        self._distances = np.zeros(0)
        self._lines: dict[str, pg.PlotCurveItem] = {}
        self.view = self.addViewBox(0, 1, enableMouse=False, enableMenu=False)
        self._axes = (pg.AxisItem("left"), pg.AxisItem("bottom"))
        for axis, place in zip(self._axes, ((0, 0), (1, 1)), strict=True):
            axis.linkToView(self.view)
            axis.enableAutoSIPrefix(False)
            self.addItem(axis, *place)
        self.ci.layout.setContentsMargins(0, 2, 0, 0)
        self.ci.layout.setSpacing(0)
        self._mark = pg.InfiniteLine(angle=90, movable=False)
        self._dot = pg.ScatterPlotItem(pxMode=True, useCache=False)
        self.view.addItem(self._mark)
        self.view.addItem(self._dot)
        self._dot.setZValue(20)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumSize(120, 60)

    def set_curves(self, distances: np.ndarray, curves: tuple[Curve, ...], at: int) -> None:  # type: ignore[type-arg]
        """Draw these curves, the pair being `at` this distance."""
        self._distances, self._curves = distances.astype(np.float64), curves
        self._mark.setValue(float(at))
        for name in self._lines.keys() - {curve.id for curve in curves}:
            self._lines[name].setVisible(False)
        for curve in curves:
            if curve.id not in self._lines:
                self._lines[curve.id] = pg.PlotCurveItem(antialias=True, connect="finite")
                self.view.addItem(self._lines[curve.id])
            line = self._lines[curve.id]
            line.setVisible(True)
            line.setData(self._distances, _drawable(curve.values))
            line.setZValue(10 if curve.is_present else 1)
        present = [curve for curve in curves if curve.is_present]
        values = [float(curve.values[int(np.searchsorted(distances, at))]) for curve in present]
        dots = [value for value in values if np.isfinite(value)]
        self._dot.setData(x=[float(at)] * len(dots), y=dots)
        self._fit()
        self._paint()

    def drawn(self) -> tuple[str, ...]:
        """The ids of the curves that can be seen."""
        return tuple(id_ for id_, line in self._lines.items() if line.isVisible())

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.setBackground(theme.panel)
        for axis in self._axes:
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.muted))
            axis.setStyle(tickFont=ui_font(10), tickLength=-3)
        self._mark.setPen(pg.mkPen(theme.muted, style=Qt.PenStyle.DotLine))
        self._paint()

    def _paint(self) -> None:
        for curve in self._curves:
            self._lines[curve.id].setPen(curve_pen(curve.id, curve.is_present, self._theme))
        self._dot.setSize(8)
        self._dot.setBrush(QColor(self._theme.accent))
        self._dot.setPen(pg.mkPen(self._theme.panel, width=1.5))

    def _fit(self) -> None:
        """All curves in sight; the range is set here, since pyqtgraph's own would subsample."""
        parts = [values[np.isfinite(values)] for values in (_drawable(c.values) for c in self._curves)]
        values = np.concatenate([*parts, np.zeros(0)])
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        room = 0.06 * (high - low) or 0.5
        reach = float(self._distances[-1]) if self._distances.size else 1.0
        self.view.setRange(xRange=(-reach, reach), yRange=(low - room, high + room), padding=0)


def _drawable(values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Infinite scores, and those too large for a screen's arithmetic, as gaps."""
    return np.where(np.abs(values) < 1e30, values, np.nan)
