"""Layout of a figure, in points from its top left corner: a pure function of sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnviz.core.label_spacing import nice_step

MARGIN = 14.0
GAP = 6.0
NAME = 13.0
"""Height of the line that names an axis."""
FULL = 0.92
"""Largest height of a label, as a share of the cells that it stands beside."""
BELOW_NAME = 3.0
"""Room between the name of an axis and level labels."""
CAPTION = 20.0
"""Height of the line below each of several maps that names its head."""
BAR = 10.0
LEAST_BAR = 84.0
SINGLE_SIDE, GRID_WIDTH = 400.0, 560.0
CELL_W, CELL_H = 46.0, 32.0
LEAST_SLAB = 14.0
SLANTED_FROM = 9.0
LEAST_MAP = 36.0
"""Smallest width of a map, in points."""
TALLEST = 1.35
"""Largest height of the maps, as a share of a width that is set."""


@dataclass(frozen=True)
class Around:
    """The room around maps: the sheet's margin, the distance of labels, of sums and of the colour bar, the
    lines of the names of axes and of the bar, the width of the bar and the distance of its numbers.

    `slants`: labels above the cells may be slanted.
    """

    margin: float = MARGIN
    gap: float = GAP
    beside: float = 2 * GAP
    name: float = NAME
    bar: float = BAR
    tick: float = GAP
    slants: bool = True


NARROW = Around(margin=3.0, gap=3.0, beside=3.5, bar=4.0, tick=2.0, slants=False)
"""Of one map in a narrow figure."""


@dataclass(frozen=True)
class Sizes:
    """Input of the layout: counts, and the widths of texts in points at `label` points of size.

    `bar_label` is None for a figure without a colour bar.
    """

    n_down: int
    n_across: int
    n_maps: int
    down_label: float
    across_label: float
    label: float
    sum_width: float
    sums_below: bool
    bar_label: float | None
    around: Around = Around()


@dataclass(frozen=True)
class Cells:
    """Drawing of the cells of a map: their size, the labels beside them and their angle."""

    cell_w: float
    cell_h: float
    across_angle: int
    down_step: int
    across_step: int

    def plot_size(self, n_down: int, n_across: int) -> tuple[float, float]:
        """Width and height of one map."""
        return n_across * self.cell_w, n_down * self.cell_h


@dataclass(frozen=True)
class Slot:
    """Place of one of several maps: the top left corner of its cells, and their drawing."""

    x: float
    y: float
    cells: Cells


@dataclass(frozen=True)
class Sheet(Cells):
    """Result of the layout. `corners` are the top left corners of the maps, all of the same size."""

    width: float
    height: float
    corners: tuple[tuple[float, float], ...]
    n_columns: int
    bar: tuple[float, float, float, float] | None
    """Left, top, width, height of the colour bar."""


def arrange(sizes: Sizes, columns: int, cell_w: float, cell_h: float) -> Sheet:
    """Lay out one map, or several in a grid of `columns` that shares labels and colour bar."""
    rows = math.ceil(sizes.n_maps / columns)
    plot_w, plot_h = sizes.n_across * cell_w, sizes.n_down * cell_h
    around = sizes.around
    angle = across_angle(sizes.across_label, cell_w, sizes.label)
    angle = angle if around.slants or angle == 0 else 90
    left = around.margin + around.name + sizes.down_label + around.gap
    top = around.name + across_height(sizes.across_label, sizes.label, angle) + around.gap
    beside = sizes.sum_width + around.beside if sizes.sum_width and not sizes.sums_below else 0.0
    below = sizes.label + GAP if sizes.sum_width and sizes.sums_below else 0.0
    pitch_w, pitch_h = plot_w + (2 * GAP if columns > 1 else 0.0), plot_h + CAPTION
    corners = tuple(
        (left + (i % columns) * pitch_w, top + (i // columns) * pitch_h) for i in range(sizes.n_maps)
    )
    maps_w = columns * pitch_w - (pitch_w - plot_w)
    maps_h = plot_h if sizes.n_maps == 1 else rows * pitch_h
    slant = sizes.across_label * math.sqrt(0.5) - cell_w / 2 if angle == 45 else 0.0
    right, bar = left + maps_w + max(beside, slant, 0.0), None
    if sizes.bar_label is not None:
        bar_h = max(LEAST_BAR, plot_h if rows == 1 else maps_h - CAPTION)
        bar = (left + maps_w + beside + around.beside, top, around.bar, bar_h)
        right = max(right, bar[0] + around.bar + around.tick + sizes.bar_label + around.name)
    return Sheet(
        width=right + around.margin,
        height=top + max(maps_h + below, 0.0 if bar is None else bar[3]),
        cell_w=cell_w,
        cell_h=cell_h,
        corners=corners,
        n_columns=columns,
        across_angle=angle,
        down_step=label_step(sizes.label, cell_h),
        across_step=nice_step(across_need(sizes.across_label, sizes.label, angle) / cell_w - 1e-6),
        bar=bar,
    )


def label_step(label: float, pitch: float) -> int:
    """The step from one label to the next: 1 if those that are `label` high fit beside cells of `pitch`."""
    return nice_step(label / (FULL * pitch) - 1e-6)


def grid_columns(n_maps: int) -> int:
    """Number of maps side by side: a full rectangle if a wide enough one exists."""
    least = math.ceil(math.sqrt(n_maps))
    return next((c for c in range(least, min(n_maps, 8) + 1) if n_maps % c == 0), least)


def cell_size(n_down: int, n_across: int, grid: int) -> tuple[float, float]:
    """Width and height of a cell; `grid` is the number of maps side by side, 0 for a single map."""
    side = SINGLE_SIDE if not grid else min(150.0, max(72.0, GRID_WIDTH / grid))
    across, down = side / max(1, n_across), side / max(1, n_down)
    if max(n_down, n_across) > 16:  # too small for numbers: squares are easier to read
        across = min(across, max(down, LEAST_SLAB))
        down = min(down, max(across, LEAST_SLAB))
    return min(across, CELL_W), min(down, CELL_H)


def across_angle(label_width: float, cell_w: float, label: float) -> int:
    """Angle of the labels above the cells: level if they fit, else slanted or upright; numbers are level."""
    if label_width + 4 <= cell_w or (cell_w < SLANTED_FROM and label_width <= 2.6 * label):
        return 0
    return 45 if cell_w >= SLANTED_FROM + 3 else 90


def across_height(label_width: float, label: float, angle: int) -> float:
    """Height of the labels above the cells."""
    if angle == 0:
        return label + BELOW_NAME
    return label_width if angle == 90 else (label_width + label) * math.sqrt(0.5)


def across_need(label_width: float, label: float, angle: int) -> float:
    """Width that one label above the cells needs."""
    if angle == 0:
        return label_width + 3
    return label * 1.2 + 1 if angle == 45 else label / FULL
