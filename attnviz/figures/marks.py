"""Cells without a colour: masked are hatched, later ones empty, NaN crossed out, infinite ruled.

Of covered ones a question mark asks for the number.
"""

from __future__ import annotations

import itertools
from typing import Any

from attnviz.core.shades import Shades
from attnviz.figures.fonts import middle, number_font

Rect = tuple[float, float, float, float]
"""Left, top, width, height, in points."""
Line = tuple[tuple[float, float], tuple[float, float]]

SPACING = 5.0
MOST_SIGN = 11.0
"""Largest size of a question mark in points."""


def diagonals(rect: Rect, spacing: float = SPACING) -> list[Line]:
    """Rising diagonals inside `rect`, `spacing` apart along its edges, with their ends on the edges."""
    x, y, width, height = rect
    lines: list[Line] = []
    at = spacing
    while at < width + height:
        start = (x, y + at) if at <= height else (x + at - height, y + height)
        end = (x + at, y) if at <= width else (x + width, y + at - width)
        lines.append((start, end))
        at += spacing
    return lines


def hatch(axes: Any, rect: Rect, shades: Shades) -> None:
    """The ground and the lines of masked cells over all of `rect`; coloured cells are drawn on top."""
    _ground(axes, rect, shades.ground)
    _lines(axes, diagonals(rect), shades.line if not shades.is_dark else shades.muted, 0.5, 0.5)


def blank(axes: Any, rects: list[Rect], shades: Shades) -> None:
    """Cells that are not generated yet: empty ground over the lines of masked ones, below coloured cells."""
    for rect in rects:
        _ground(axes, rect, shades.panel, 0.6)


def blank_swatch(axes: Any, rect: Rect, shades: Shades) -> None:
    """The mark of cells that are not generated yet, in an edge."""
    x, y, width, height = rect
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]
    _lines(axes, list(itertools.pairwise(corners)), shades.muted, 0.5)


def cross(axes: Any, rect: Rect, shades: Shades) -> None:
    """A cell without a number."""
    x, y, width, height = rect
    _ground(axes, rect, shades.panel, 2.0)
    _lines(axes, [((x, y), (x + width, y + height)), ((x, y + height), (x + width, y))], shades.error, 0.8)


def rule(axes: Any, rect: Rect, shades: Shades) -> None:
    """A cell with an infinite number."""
    x, y, width, height = rect
    count = max(2, int(height / SPACING))
    ys = [y + (i + 0.5) * height / count for i in range(count)]
    _ground(axes, rect, shades.panel, 2.0)
    _lines(axes, [((x, at), (x + width, at)) for at in ys], shades.warning, 0.8)


def box(axes: Any, rect: Rect, shades: Shades) -> None:
    """The box that stands for a character without a glyph."""
    x, y, width, height = rect
    blank_swatch(axes, (x + (width - height) / 2, y, height, height), shades)


def question(axes: Any, rect: Rect, shades: Shades) -> None:
    """A cell whose number is to be predicted: a question mark in a frame."""
    from matplotlib.patches import Rectangle

    x, y, width, height = rect
    inset = min(1.0, width / 8, height / 8)
    frame = (x + inset, y + inset), width - 2 * inset, height - 2 * inset
    axes.add_patch(
        Rectangle(*frame, facecolor=shades.panel, edgecolor=shades.query, linewidth=1.2, zorder=2.5)
    )
    font = number_font(min(MOST_SIGN, 0.7 * height))
    at = x + width / 2, middle(y + height / 2, font)
    axes.text(*at, "?", font=font, color=shades.query, ha="center", zorder=4, parse_math=False)


def corner(axes: Any, rect: Rect, shades: Shades) -> None:
    """The upper right corner of a cell that is edited by hand."""
    from matplotlib.patches import Polygon

    x, y, width, height = rect
    side, right = min(6.0, width / 2, height / 2), x + width
    points = [(right, y), (right - side, y), (right, y + side)]
    axes.add_patch(Polygon(points, facecolor=shades.query, edgecolor=shades.panel, linewidth=0.5, zorder=5))


def share_color(shades: Shades) -> str:
    """The grey of the bar of a share; on a dark ground it is no brighter than the colours."""
    return shades.hatch if shades.is_dark else shades.muted


def share_bar(axes: Any, rect: Rect, shades: Shades) -> None:
    """The bar of a share in its cell."""
    x, y, width, height = rect
    blank_swatch(axes, rect, shades)
    _ground(axes, (x, y, 0.6 * width, height), share_color(shades), 2.0)


def _ground(axes: Any, rect: Rect, color: str, order: float = 0.0) -> None:
    from matplotlib.patches import Rectangle

    x, y, width, height = rect
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, linewidth=0, zorder=order))


def _lines(axes: Any, lines: list[Line], color: str, width: float, order: float = 2.1) -> None:
    from matplotlib.collections import LineCollection

    drawn = LineCollection(lines, colors=color, linewidths=width, zorder=order, capstyle="butt")
    axes.add_collection(drawn, autolim=False)
