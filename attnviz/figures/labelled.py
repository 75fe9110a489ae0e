"""One of several maps with its own labels: the size and labels of its cells, and the room around them."""

from __future__ import annotations

from typing import Any

from attnviz.core.label_spacing import nice_step
from attnviz.core.shades import Shades
from attnviz.figures import heat
from attnviz.figures.content import Content
from attnviz.figures.fonts import text_font, widest
from attnviz.figures.layout import (
    GAP,
    NAME,
    Cells,
    Slot,
    across_angle,
    across_height,
    across_need,
    label_step,
)

LABEL = 7.0
"""Size of the labels in points."""


def label_cells(one: Content, side: float, label: float = LABEL) -> Cells:
    """Square cells of `side` points, their labels of size `label` at an angle at which they fit."""
    widest_label = widest(one.across.labels, text_font(label))
    angle = across_angle(widest_label, side, label)
    return Cells(
        cell_w=side,
        cell_h=side,
        across_angle=angle,
        down_step=label_step(label, side),
        across_step=nice_step(across_need(widest_label, label, angle) / side),
    )


def before_cells(one: Content, label: float = LABEL) -> float:
    """Points to the left of a map's cells."""
    return NAME + widest(one.down.labels, text_font(label)) + 1.5 * GAP


def above_cells(one: Content, cells: Cells, label: float = LABEL) -> float:
    """Points above a map's cells."""
    words = widest(one.across.labels, text_font(label))
    return NAME + across_height(words, label, cells.across_angle) + GAP


def draw_labelled(
    axes: Any, one: Content, slot: Slot, shades: Shades, label: float = LABEL
) -> tuple[float, float]:
    """Draw the map at its place, with its labels; returns the width and the height of its cells in points."""
    matrix = one.maps[0]
    plot_w, plot_h = slot.cells.plot_size(*matrix.values.shape)
    heat.draw_map(axes, one, matrix, (slot.x, slot.y, plot_w, plot_h), slot.cells, shades)
    heat.across_labels(axes, one.across, slot.x, slot.y, slot.cells, label)
    heat.down_labels(axes, one.down, slot.x, slot.y, slot.cells, label)
    return plot_w, plot_h
