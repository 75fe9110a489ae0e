"""Curves over a common axis, with ticks and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.shades import Shades
from attnviz.core.text import number
from attnviz.figures.fonts import middle, number_font, text_font, widest, width
from attnviz.figures.layout import GAP, MARGIN, NAME
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style

NATURAL, LEAST = 420.0, 150.0
"""Usual and least width of a chart, in points."""
RATIO, STACKED_RATIO = 0.5, 0.28
"""Height of the plot, as a share of its width: of one alone, and of each of several over one axis."""
LOW = 70.0
"""Points from which on an axis has as many ticks as any."""
TICK, LEGEND, LINE = 7.5, 8.0, 14.0
SAMPLE = 22.0
BETWEEN = 10.0
"""Between two charts over one axis, in points."""
STRONG, THIN = 1.9, 1.0
GREY_DASHES = ((), (5.0, 2.0), (1.5, 1.5), (6.0, 1.5, 1.5, 1.5), (3.0, 3.0), (8.0, 2.0))
"""Strokes and gaps that tell curves apart without colours."""

Floats = NDArray[np.float64]
_PREFIXES = {0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E", 21: "Z", 24: "Y"}


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve (n,), its name, its colour, and the lengths of its strokes and gaps (none: solid)."""

    name: str
    color: str
    x: Floats
    y: Floats
    dash: tuple[float, ...] = ()
    is_strong: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves, the names of the axes, and a point on the strong curve; `is_log`: both axes are logarithmic.

    A point whose height is NaN is a vertical line. The axis of the values has the numbers of `held` in sight.
    """

    curves: tuple[Curve, ...]
    x_name: str
    y_name: str
    is_log: bool = False
    point: tuple[float, float] | None = None
    held: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Axis:
    """One axis: where its values lie, in points."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool
    ticks: tuple[float, ...]

    def at(self, value: Any) -> Any:
        """Place of a value or of an array of them."""
        low, high = (np.log10([self.low, self.high])) if self.is_log else (self.low, self.high)
        shown = np.log10(value) if self.is_log else value
        return self.start + (shown - low) / (high - low) * (self.end - self.start)

    def labels(self) -> tuple[str, ...]:
        """The text of every tick."""
        return tuple(_decade(value) if self.is_log else _short(value) for value in self.ticks)


def chart_drawing(chart: Chart, style: Style, title: str, formula: str) -> Drawing:
    """Lay out a chart in the style's width. Raises `ValueError` if that is too small."""
    return charts_drawing((chart,), style, title, formula)


def charts_drawing(charts: Sequence[Chart], style: Style, title: str, formula: str) -> Drawing:
    """Lay out charts one below the other, over one axis and with one legend, in the style's width.

    Raises `ValueError` if that is too small.
    """
    total = NATURAL if style.room is None else min(style.room, 2 * NATURAL)
    if style.room is not None and style.room < LEAST:
        raise style.too_narrow(LEAST)
    font = number_font(TICK)
    every = [curve for chart in charts for curve in chart.curves]
    left = MARGIN + NAME + max(widest(_y_axis(chart, 0, 1).labels(), font) for chart in charts) + GAP
    wide = total - left - MARGIN
    high = wide * (RATIO if len(charts) == 1 else STACKED_RATIO)
    x_axis = _axis([curve.x for curve in every], (left, left + wide), charts[-1].is_log)
    tops = [index * (high + BETWEEN) for index in range(len(charts))]
    y_axes = [_y_axis(chart, top + high, top) for chart, top in zip(charts, tops, strict=True)]
    below = tops[-1] + high + GAP + TICK + 2 * GAP + NAME
    named = tuple({curve.name: curve for curve in reversed(every)}.values())[::-1]  # the first of a name
    widest_name = max(width(curve.name, text_font(LEGEND)) for curve in named)
    columns = max(1, int(wide // (SAMPLE + GAP + widest_name + 12)))
    rows = -(-len(named) // columns)

    def draw(axes: Any) -> None:
        for chart, y_axis in zip(charts, y_axes, strict=True):
            _draw_axes(axes, chart, (x_axis, y_axis), style.shades, is_last=chart is charts[-1])
            for curve in chart.curves:
                _draw_curve(axes, curve, x_axis.at(curve.x), y_axis.at(curve.y))
            if chart.point is not None:
                _draw_point(
                    axes, (x_axis.at(chart.point[0]), y_axis.at(chart.point[1])), y_axis, style.shades
                )
        for index, curve in enumerate(named):
            x = left + index // rows * (wide / columns)
            _draw_name(axes, curve, x, below + index % rows * LINE, style.shades)

    return Drawing(total, below + rows * LINE, draw, title, formula)


def _y_axis(chart: Chart, start: float, end: float) -> _Axis:
    values = [curve.y for curve in chart.curves]
    return _axis([*values, np.array(chart.held)], (start, end), chart.is_log, has_room=not chart.held)


def _axis(
    given: Sequence[Floats], places: tuple[float, float], is_log: bool, *, has_room: bool = False
) -> _Axis:
    """The axis of values, whose ends lie at two places; with `has_room`, a little beyond them."""
    start, end = places
    values = np.concatenate(given)
    values = values[np.isfinite(values)]
    if not values.size:
        values = np.array([0.0, 1.0])
    low, high = float(values.min()), float(values.max())
    if is_log:
        low, high = max(low, 1.0), max(high, 10.0, 10 * low)
        step = max(1, round(np.log10(high / low) / 6))
        powers = range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1, step)
        return _Axis(low, high, start, end, True, tuple(10.0**power for power in powers))
    from matplotlib.ticker import MaxNLocator

    if high - low < 1e-12:
        low, high = low - 0.5, high + 0.5
    room = 0.05 * (high - low) if has_room else 0.0
    low, high = low - room, high + room
    most = 6 if abs(end - start) >= LOW else 3
    ticks = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return _Axis(low, high, start, end, False, tuple(float(v) for v in ticks if low <= v <= high))


def _draw_axes(axes: Any, chart: Chart, both: tuple[_Axis, _Axis], shades: Shades, *, is_last: bool) -> None:
    from matplotlib.collections import LineCollection

    x_axis, y_axis = both
    font, name_font = number_font(TICK), text_font(LEGEND)
    bottom, top, left, right = y_axis.start, y_axis.end, x_axis.start, x_axis.end
    grid = [[(left, y_axis.at(v)), (right, y_axis.at(v))] for v in y_axis.ticks]
    grid += [[(x_axis.at(v), top), (x_axis.at(v), bottom)] for v in x_axis.ticks]
    axes.add_collection(LineCollection(grid, colors=shades.line, linewidths=0.5, zorder=0), autolim=False)
    frame = [[(left, top), (left, bottom)], [(left, bottom), (right, bottom)]]
    axes.add_collection(LineCollection(frame, colors=shades.muted, linewidths=0.7, zorder=1), autolim=False)
    for value, text in zip(y_axis.ticks, y_axis.labels(), strict=True):
        y = middle(float(y_axis.at(value)), font)
        axes.text(left - GAP, y, text, font=font, color=shades.muted, ha="right", parse_math=False)
    for value, text in zip(x_axis.ticks, x_axis.labels(), strict=True) if is_last else ():
        half = width(text, font) / 2
        x = min(max(float(x_axis.at(value)), left), right + MARGIN - 2 - half)
        y = bottom + GAP + TICK
        axes.text(x, y, text, font=font, color=shades.muted, ha="center", parse_math=False)
    if is_last:
        at = (left + right) / 2, bottom + GAP + TICK + GAP + LEGEND
        axes.text(*at, chart.x_name, font=name_font, color=shades.muted, ha="center", parse_math=False)
    axes.text(
        MARGIN + NAME / 2,
        (top + bottom) / 2,
        chart.y_name,
        font=name_font,
        color=shades.muted,
        rotation=90,
        ha="center",
        va="center",
        parse_math=False,
    )


def _draw_curve(axes: Any, curve: Curve, x: Floats, y: Floats) -> None:
    from matplotlib.lines import Line2D

    line = Line2D(x, y, color=curve.color, linewidth=STRONG if curve.is_strong else THIN)
    _dash(line, curve)
    line.set_zorder(3 if curve.is_strong else 2)
    axes.add_line(line)


def _dash(line: Any, curve: Curve) -> None:
    if curve.dash:
        line.set_dashes(curve.dash)


def _draw_name(axes: Any, curve: Curve, x: float, y: float, shades: Shades) -> None:
    from matplotlib.lines import Line2D

    font = text_font(LEGEND, bold=curve.is_strong)
    line = Line2D([x, x + SAMPLE], [y + LINE / 2] * 2, color=curve.color)
    line.set_linewidth(STRONG if curve.is_strong else THIN)
    _dash(line, curve)
    axes.add_line(line)
    at = x + SAMPLE + GAP, middle(y + LINE / 2, font)
    axes.text(*at, curve.name, font=font, color=shades.ink, parse_math=False)


def _draw_point(axes: Any, at: tuple[float, float], y_axis: _Axis, shades: Shades) -> None:
    from matplotlib.lines import Line2D

    x, y = at
    ends = [y_axis.end, y_axis.start]
    axes.add_line(Line2D([x, x], ends, color=shades.muted, linewidth=0.7, linestyle="--", zorder=1))
    if np.isfinite(y):
        axes.add_line(Line2D([x], [y], color=shades.ink, marker="o", markersize=4, zorder=4))


def _short(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.4g}".replace("-", "\u2212") if 1e-3 <= abs(value) < 1e6 else number(value, 1)


def _decade(value: float) -> str:
    """A power of ten with a prefix: 1, 10, 100, 1k."""
    power = round(np.log10(value))
    base = power - power % 3
    return f"{10 ** (power % 3)}{_PREFIXES.get(base, f'e{base}')}"
