"""One of several maps with its own labels: the size and labels of its cells, and the room around them."""

from __future__ import annotations

from attnviz.core.thinning import nice_step
from attnviz.figures.content import Content
from attnviz.figures.fonts import text_font, widest
from attnviz.figures.layout import GAP, NAME, Cells, across_angle, across_height, across_need

LABEL = 7.0
"""Size of the labels in points."""


def label_cells(one: Content, side: float) -> Cells:
    """Square cells of `side` points, their labels at an angle at which they fit."""
    widest_label = widest(one.across.labels, text_font(LABEL))
    angle = across_angle(widest_label, side, LABEL)
    return Cells(
        cell_w=side,
        cell_h=side,
        across_angle=angle,
        down_step=nice_step((LABEL + 1) / side),
        across_step=nice_step(across_need(widest_label, LABEL, angle) / side),
    )


def before_cells(one: Content) -> float:
    """Points to the left of a map's cells."""
    return NAME + widest(one.down.labels, text_font(LABEL)) + 1.5 * GAP


def above_cells(one: Content, cells: Cells) -> float:
    """Points above a map's cells."""
    label = widest(one.across.labels, text_font(LABEL))
    return NAME + across_height(label, LABEL, cells.across_angle) + GAP
