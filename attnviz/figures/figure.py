"""`render`: a stage of a trace as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attnviz.figures.content import Head, content
from attnviz.figures.fonts import drawing
from attnviz.figures.palette import palette
from attnviz.model.trace import Trace
from attnviz.model.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINT = 1 / 72
"""Inches."""
BASE_DPI = 144
"""Pixels per inch of a figure shown in a notebook; more where a cell would be smaller than a pixel."""


def render(
    trace: Trace,
    view: View | None = None,
    stage: str | None = None,
    head: Head = None,
    *,
    theme: str = "light",
) -> Figure:
    """Draw one stage as a heat map with token labels, colour bar and, where they fit, numbers.

    `view` says colour range and orientation, and the stage and head where they are None. `head` counts from
    0 (key/value heads for their stages); "all" draws every head, small, on one colour scale. `theme` is
    "light" or "dark".

    Returns a `matplotlib.figure.Figure` of one axes, whose unit is a point. Write it with
    `attnviz.figures.save_figure`. Raises `ValueError` for a stage, head or theme that there is not.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from attnviz.figures import heat

    view = view or View()
    shades = palette(theme)
    shown = content(trace.shown(view.site), view, stage or view.stage, head, shades)
    with drawing():
        sheet, label = heat.measure(shown)
        dpi = max(BASE_DPI, math.ceil(72 / min(sheet.cell_w, sheet.cell_h)))
        size = (sheet.width * POINT, sheet.height * POINT)
        figure = Figure(figsize=size, facecolor=shades.panel, dpi=dpi)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        heat.draw(axes, shown, sheet, label, shades)
        axes.set_xlim(0, sheet.width)
        axes.set_ylim(sheet.height, 0)
    return figure
