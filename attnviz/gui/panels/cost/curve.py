"""A quantity against n, both axes logarithmic, for each layout of heads; and what runs really took."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QResizeEvent

from attnviz.core.cost import stack as cost_stack
from attnviz.core.cost.lines import rounded, total
from attnviz.core.cost.stack import Counts, Stack, counts
from attnviz.explain.bills import EXPERIMENT, QUANTITY_BY_ID, Question, model_name
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme, head_color
from attnviz.gui.widgets.plots import Plot, pg
from attnviz.i18n import _

_DECADES = {0: "1", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E", 21: "Z", 24: "Y"}
_TAG_PX = 12
_TAGS_PX, _TAG_FONT_PX, _TAG_MARGIN = 52.0, 10, 12.0


@dataclass(frozen=True)
class Measured:
    """One run that happened: tokens, seconds, and where."""

    n: int
    seconds: float
    engine: str


@dataclass(frozen=True)
class Series:
    """One curve; `tag` names it at its end, `label` in full."""

    tag: str
    label: str
    counts: Counts


def series(q: Question) -> tuple[Series, ...]:
    """The model as it is, first, then with other layouts of heads."""
    curve = QUANTITY_BY_ID[q.quantity].curve
    format_ = q.stage_format if curve == "stages" else q.kv_format
    most = 131_072
    while most < q.n:  # in leaps, so that the axis stands still under a drag
        most *= 32

    def one(tag: str, label: str, stack: Stack) -> Series:
        return Series(tag, label, counts(stack, curve, format_, q.batch, most))

    drawn = [one(model_name(q), _("present"), q.stack)]
    if q.source == EXPERIMENT and curve == "prefill" and any(a.ahead is not None for a in q.stack):
        drawn.append(one("n²", _("all cells, blocked ones included"), cost_stack.open_to_all(q.stack)))
    for id_, label, other in cost_stack.laid_out(q.stack):
        drawn.append(one(_tag(id_, label, other), label, other))
    return tuple(drawn)


def _tag(id_: str, label: str, stack: Stack) -> str:
    """The letters of a layout, the keys of a window that all have, or what else its label says."""
    if id_ != "window":
        return label if id_ == "full" else id_
    windows = {a.window for a in stack}
    return f"w {windows.pop():,}" if len(windows) == 1 else "w"


class CostCurve(Plot):
    """Curves, a line at n that can be dragged, and measured runs as points."""

    n_wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__(LogAxis, least=(150, 60), above=4)
        self._question: Question | None = None
        self._measured: tuple[Measured, ...] = ()
        self._series: tuple[Series, ...] = ()
        self._curves: list[pg.PlotCurveItem] = []
        self._tags: list[pg.TextItem] = []
        self._dots = pg.ScatterPlotItem(pxMode=True, useCache=False)
        self._line = pg.InfiniteLine(angle=90, movable=True)
        self._line.sigDragged.connect(self._on_dragged)
        self.view.addItem(self._line)
        self.view.addItem(self._dots)

    def set_question(self, question: Question, measured: Sequence[Measured]) -> None:
        """Draw the quantity of `question`; `measured` are runs of the same shapes, at whatever n."""
        self._question, self._measured = question, tuple(measured)
        self._series = series(question)
        self._line.setValue(float(np.log10(question.n)))
        self._draw()

    def caption(self) -> str:
        """Legend of the points, or names of the axes."""
        unit = {"cache": _("cache, bytes"), "stages": _("all stages, bytes")}
        if self._question is None:
            return ""
        curve = QUANTITY_BY_ID[self._question.quantity].curve
        if self._question.source == EXPERIMENT and curve == "prefill" and self._rate():
            return _("FLOP against n; {count} measured, last {time} ms, as {rate}/s").format(
                count=len(self._measured),
                time=f"{self._measured[-1].seconds * 1e3:.3f}",
                rate=rounded(round(self._rate()), "FLOP"),
            )
        return _("{what} against n").format(what=unit.get(curve, "FLOP"))

    def series(self) -> tuple[Series, ...]:
        """The drawn series, the unchanged model first."""
        return self._series

    def points(self) -> list[tuple[float, float]]:
        """The measured runs as they are painted: (log10 n, log10 of the operations at the median rate)."""
        rate = self._rate()
        if not rate:
            return []
        return [(float(np.log10(m.n)), float(np.log10(m.seconds * rate))) for m in self._measured]

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._line.setPen(pg.mkPen(theme.muted, style=Qt.PenStyle.DashLine))
        self._line.setHoverPen(pg.mkPen(theme.accent, width=2))
        self._draw()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if getattr(self, "_series", ()):  # the base class resizes before this one is made
            self._fit()
            self._place_tags()

    # --- drawing

    def _draw(self) -> None:
        if not self._series:
            return
        while len(self._curves) < len(self._series):
            self._curves.append(pg.PlotCurveItem(antialias=True))
            self._tags.append(pg.TextItem(anchor=(0, 0.5)))
            self.view.addItem(self._curves[-1])
            self.view.addItem(self._tags[-1], ignoreBounds=True)
        for index, curve in enumerate(self._curves):
            is_used = index < len(self._series)
            curve.setVisible(is_used)
            self._tags[index].setVisible(is_used)
            if is_used:
                x, y = _logs(self._series[index].counts)
                pen = pg.mkPen(self._color(index), width=3 if index == 0 else 1.4)
                curve.setData(x, y, pen=pen)
                curve.setZValue(10 if index == 0 else 1)
        self._draw_points()
        self._fit()
        self._place_tags()

    def _color(self, index: int) -> QColor:
        return QColor(self._theme.accent if index == 0 else head_color(index))

    def _draw_points(self) -> None:
        places = self.points()
        self._dots.setData(
            x=[x for x, _y in places],
            y=[y for _x, y in places],
            size=7,
            brush=QColor(self._theme.key_mark),
            pen=pg.mkPen(self._theme.panel),
        )

    def _fit(self) -> None:
        values = [_logs(one.counts) for one in self._series]
        right = max(float(x[-1]) for x, _y in values)
        low = min(float(y.min()) for _x, y in values)
        high = max(float(y.max()) for _x, y in values)
        metrics = QFontMetricsF(ui_font(_TAG_FONT_PX))
        tags = max(_TAGS_PX, _TAG_MARGIN + max(metrics.horizontalAdvance(one.tag) for one in self._series))
        width = max(self.view.width(), 2.0 * tags)
        right *= width / (width - tags)
        self.view.setRange(xRange=(0, right), yRange=(low, high + 0.05 * (high - low)), padding=0)

    def _place_tags(self) -> None:
        """Each name at the end of its curve, moved apart where two ends are close."""
        view = self.view
        per_px = view.viewPixelSize()[1]
        ends = sorted(
            ((float(_logs(one.counts)[1][-1]), index) for index, one in enumerate(self._series)), reverse=True
        )
        top, bottom = view.viewRange()[1][1], view.viewRange()[1][0]
        lowest = top - 0.5 * _TAG_PX * per_px
        room = (top - bottom) / max(len(ends), 1)
        step = min(_TAG_PX * per_px, room)
        for place, (y, index) in enumerate(ends):
            left_below = (len(ends) - 1 - place) * step
            at = max(min(y, lowest), bottom + left_below + 0.5 * step)
            lowest = at - step
            tag = self._tags[index]
            tag.setFont(ui_font(_TAG_FONT_PX))
            tag.setPlainText(self._series[index].tag)
            tag.setColor(self._color(index))
            tag.setPos(float(_logs(self._series[index].counts)[0][-1]), at)

    def _rate(self) -> float:
        """Median operations per second of the measured runs, every cell computed."""
        q = self._question
        if q is None or q.source != EXPERIMENT or QUANTITY_BY_ID[q.quantity].curve != "prefill":
            return 0.0
        whole = cost_stack.open_to_all(q.stack)
        rates = [total(cost_stack.prefill(whole, m.n)) / m.seconds for m in self._measured if m.seconds > 0]
        return float(statistics.median(rates)) if rates else 0.0

    def _on_dragged(self, line: Any) -> None:
        self.n_wanted.emit(max(1, round(10 ** min(float(line.value()), 8.0))))


class LogAxis(pg.AxisItem):  # type: ignore[misc]
    """Ticks at powers of ten of an axis whose values are logarithms, written 1, 10, 100, 1k ..."""

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        first, last = int(np.ceil(low)), int(np.floor(high))
        room = 34 if self.orientation == "bottom" else 18
        step = next((s for s in (1, 2, 3, 6, 9) if (high - low) / s * room <= max(size, 1)), 12)
        marks = [float(decade) for decade in range(first, last + 1) if decade % step == 0]
        return [(float(step), marks)]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [_decade(round(value)) for value in values]


def _decade(power: int) -> str:
    """10^power with a prefix: "1", "10", "100", "1k"."""
    base = power - power % 3
    return f"{10 ** (power % 3)}{_DECADES.get(base, '') if base else ''}"


def _logs(points: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    x = np.log10(np.array([n for n, _value in points], dtype=np.float64))
    y = np.log10(np.array([max(value, 1) for _n, value in points], dtype=np.float64))
    return x, y
