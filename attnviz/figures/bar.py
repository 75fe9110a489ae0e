"""The colour bar: the value of each colour."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnviz.core.levels import SIGNED_DECADES
from attnviz.core.shades import Shades
from attnviz.core.text import number
from attnviz.figures.content import Scale
from attnviz.figures.fonts import middle, number_font, text_font, widest, width
from attnviz.figures.layout import BAR, GAP, NAME
from attnviz.figures.palette import colors
from attnviz.i18n import _

TICK_SIZE, NAME_SIZE = 7.5, 8.0
END_SIZE, LONGEST_END = 6.0, 11.0
"""Size of the numbers at the ends of a thin bar, and the width up to which they are level."""

Rect = tuple[float, float, float, float]
"""Left, top, width, height, in points."""
Tick = tuple[float, str]
"""A position 0..1 from the lower end, and its label."""


def ticks(scale: Scale) -> tuple[Tick, ...]:
    """The marks beside the bar."""
    if scale.range_id == "row":
        top = _("row max")
        lowest = f"\u2212{top}" if scale.signed else "0"
        middle: tuple[Tick, ...] = ((0.5, "0"),) if scale.signed else ()
        return ((0.0, lowest), *middle, (1.0, top))
    values = _log_ticks(scale) if scale.range_id == "log" else _linear_ticks(scale.low, scale.high)
    positions = scale.positions(np.array([values], dtype=np.float64))[0]
    return tuple((float(at), _short(value)) for at, value in zip(positions, values, strict=True))


def room_beside(scale: Scale) -> float:
    """Points beside a map that a bar takes with its gap, its ticks and its name."""
    numbers = widest(tuple(text for _at, text in ticks(scale)), number_font(TICK_SIZE))
    return 2 * GAP + BAR + GAP + numbers + NAME


def ends(scale: Scale) -> tuple[Tick, Tick]:
    """The two marks beside a thin bar."""
    if scale.range_id == "row":
        first, *_between, last = ticks(scale)
        return first, last
    return (0.0, _short(scale.low)), (1.0, _short(scale.high))


def ends_width(scale: Scale) -> float:
    """Points beside a thin bar that its two numbers need; they are upright if they are long."""
    level = widest(tuple(text for _at, text in ends(scale)), number_font(END_SIZE))
    return level if level <= LONGEST_END else END_SIZE


def draw_thin(axes: Any, scale: Scale, rect: Rect, shades: Shades, gap: float) -> None:
    """Draw the bar, and the numbers at its two ends at a distance of `gap`."""
    _draw_colors(axes, scale, rect, shades)
    x, y, wide, height = rect
    font = number_font(END_SIZE)
    is_level = widest(tuple(text for _at, text in ends(scale)), font) <= LONGEST_END
    for (_at, label), level, side in zip(ends(scale), (y + height, y), ("bottom", "top"), strict=True):
        axes.text(
            x + wide + gap,
            level,
            label,
            font=font,
            color=shades.muted,
            rotation=0 if is_level else 90,
            va=side,
            parse_math=False,
        )


def _draw_colors(axes: Any, scale: Scale, rect: Rect, shades: Shades) -> None:
    from matplotlib.patches import Rectangle

    x, y, wide, height = rect
    column = colors(np.linspace(1.0, 0.0, 256)[:, None], scale.kind, shades)
    axes.imshow(column, extent=(x, x + wide, y + height, y), aspect="auto", interpolation="nearest", zorder=1)
    axes.add_patch(
        Rectangle((x, y), wide, height, fill=False, edgecolor=shades.line, linewidth=0.5, zorder=2)
    )


def draw_bar(axes: Any, scale: Scale, rect: Rect, shades: Shades) -> None:
    """Draw bar, ticks and range into axes whose unit is a point, y downwards."""
    from matplotlib.collections import LineCollection

    _draw_colors(axes, scale, rect, shades)
    x, y, wide, height = rect
    marks, font = [], number_font(TICK_SIZE)
    for at, label in ticks(scale):
        level = y + (1 - at) * height
        marks.append(((x + wide, level), (x + wide + 2.5, level)))
        axes.text(x + wide + 5, middle(level, font), label, font=font, color=shades.muted, parse_math=False)
    axes.add_collection(LineCollection(marks, colors=shades.muted, linewidths=0.5), autolim=False)


def draw_name(
    axes: Any, scale: Scale, quantity: str, rect: Rect, shades: Shades, after: float | None = None
) -> None:
    """Write the coloured quantity and its range, upright, beside the ticks of the bar at `rect`.

    A bar shorter than that has the quantity alone. `after` are the points between
    bar and name; None: those of the ticks.
    """
    x, y, bar_width, height = rect
    font = text_font(NAME_SIZE)
    if after is None:
        after = GAP + 2 + widest(tuple(text for _at, text in ticks(scale)), number_font(TICK_SIZE))
    whole = scale.named(quantity)
    axes.text(
        x + bar_width + after + NAME / 2,
        y + height / 2,
        whole if width(whole, font) <= height + 2 * GAP else quantity,
        font=font,
        color=shades.muted,
        rotation=90,
        ha="center",
        va="center",
        parse_math=False,
    )


def _linear_ticks(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    ticks = [float(v) for v in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)]
    slack = (high - low) * 1e-9
    inside = [0.0 if abs(v) < slack else v for v in ticks if low - slack <= v <= high + slack]
    return inside if len(inside) > 1 else [low, high]


def _log_ticks(scale: Scale) -> list[float]:
    if scale.low < 0 or scale.signed:
        largest = scale.high
        steps = [largest * 10.0**-power for power in range(0, SIGNED_DECADES, 2)]
        return [*(-v for v in steps), 0.0, *reversed(steps)]
    first, last = np.ceil(np.log10(scale.low)), np.floor(np.log10(scale.high))
    decades = [10.0**power for power in np.arange(first, last + 1)]
    return decades if len(decades) > 1 else [scale.low, scale.high]


def _short(value: float) -> str:
    """A tick's value without needless zeros."""
    if value == 0 or not 1e-3 <= abs(value) < 1e4:
        text = number(value, 1)
        return "0" if value == 0 else text.replace(".0e", "e")
    return f"{value:.4g}".replace("-", "\u2212")
