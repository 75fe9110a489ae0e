"""One matrix as a tile: colours alone, hatched where masked, in a frame."""

from __future__ import annotations

from typing import Any

from attnviz.core.shades import Shades
from attnviz.figures import heat, marks
from attnviz.figures.content import Content


def draw_tile(axes: Any, one: Content, rect: marks.Rect, shades: Shades, edge: str = "") -> None:
    """Draw the only map of a content in `rect`, with a frame in the colour `edge`."""
    from matplotlib.patches import Rectangle

    x, y, wide, high = rect
    shown = one.maps[0]
    heat.draw_ground(axes, shown, rect, shades)
    cell = min(wide / shown.values.shape[1], high / shown.values.shape[0])
    pixels = heat.picture(shown, one.scale.kind, cell, shades)
    axes.imshow(pixels, extent=(x, x + wide, y + high, y), aspect="auto", interpolation="none", zorder=1)
    heat.draw_shares(axes, shown, rect, shades)
    axes.add_patch(
        Rectangle((x, y), wide, high, fill=False, edgecolor=edge or shades.line, linewidth=0.6, zorder=3)
    )
