"""Layout of a heat map: a pure function of sizes, and hit-testing on its result.

"Down" and "across" count cells on the screen; the widget maps them to rows and columns of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF

from attnviz.core.thinning import nice_step

MARGIN, EDGE = 8.0, 4.0
"""Distances between the parts, and to the upper and lower edge."""
MAX_CELL = 96.0
WIDEST = 1.25
"""Largest ratio of a cell's width to its height: numbers and horizontal labels need width more
than height.
"""
STRETCHED_UP_TO = 32
"""Larger matrices have cells too narrow for numbers, and squares are easier to read."""
LEAST_SLAB = 20.0
WHOLE_PIXELS_FROM = 4.0
"""Cells at least this large are a whole number of pixels, so that all look the same."""
MAX_ZOOMED_CELL = 120.0
LABEL_LINE = 14.0
LABEL_MAX = 110.0
SLANTED_FROM = 20.0
STRIPS_FROM = QSizeF(340.0, 260.0)


@dataclass(frozen=True)
class Measures:
    """Sizes of what stands around the matrix, in pixels; 0 without.

    `beside` and `below` are the strips of bars at its right and under it, `bar` the colour bar.
    """

    down_label: float
    across_label: float
    beside: float
    below: float
    bar: float


@dataclass(frozen=True)
class Geometry:
    """The result: the visible part of the matrix `plot`, the size of a cell, and the drawing of labels: their
    longest extent, their step, their angle; whether strips of bars fit.
    """

    n_down: int
    n_across: int
    plot: QRectF
    cell_w: float
    cell_h: float
    offset: QPointF
    down_room: float
    across_room: float
    across_angle: int
    down_step: int
    across_step: int
    strips: bool
    bar: QRectF

    def cell_rect(self, down: int, across: int) -> QRectF:
        """The rectangle of one cell, which may lie outside the visible part."""
        return self.block_rect(down, across, 1, 1)

    def block_rect(self, down: int, across: int, n_down: int, n_across: int) -> QRectF:
        """The rectangle of a block of cells."""
        x = self.plot.left() - self.offset.x() + across * self.cell_w
        y = self.plot.top() - self.offset.y() + down * self.cell_h
        return QRectF(x, y, n_across * self.cell_w, n_down * self.cell_h)

    def cell_at(self, point: QPointF) -> tuple[int, int] | None:
        """The (down, across) of the visible cell under `point`."""
        if not self.n_down or not self.n_across or not self.plot.contains(point):
            return None
        return self.nearest_cell(point)

    def nearest_cell(self, point: QPointF) -> tuple[int, int]:
        """The (down, across) of the cell closest to `point`; for a matrix with cells."""
        down = math.floor((point.y() - self.plot.top() + self.offset.y()) / self.cell_h)
        across = math.floor((point.x() - self.plot.left() + self.offset.x()) / self.cell_w)
        return min(max(down, 0), self.n_down - 1), min(max(across, 0), self.n_across - 1)

    def visible(self) -> tuple[int, int, int, int]:
        """First and last-plus-one (down, down, across, across) of the visible cells."""
        if not self.n_down or not self.n_across:
            return 0, 0, 0, 0
        top, left = self.offset.y() / self.cell_h, self.offset.x() / self.cell_w
        bottom = math.ceil(top + self.plot.height() / self.cell_h - 1e-6)
        right = math.ceil(left + self.plot.width() / self.cell_w - 1e-6)
        return int(top), min(self.n_down, bottom), int(left), min(self.n_across, right)


def arrange(
    size: QSizeF, n_down: int, n_across: int, measures: Measures, zoom: float, offset: QPointF
) -> Geometry:
    """Fit a matrix into `size`: as large as possible, centred, with labels, strips and colour bar around it.

    If the space is small, the strips are dropped first, then labels are elided.
    """
    strips = size.width() >= STRIPS_FROM.width() and size.height() >= STRIPS_FROM.height()
    beside, below = (measures.beside, measures.below) if strips else (0.0, 0.0)
    down_room = min(measures.down_label, LABEL_MAX, size.width() / 4)
    across_room = min(measures.across_label, LABEL_MAX, size.height() / 3)
    left = MARGIN + down_room + MARGIN
    right = measures.bar + MARGIN + beside
    bottom = EDGE + below
    for angle in (0, 45, 90):
        top = EDGE + _across_height(across_room, angle)
        room = QSizeF(max(1.0, size.width() - left - right), max(1.0, size.height() - top - bottom))
        cell_w, cell_h = _cell_size(room, n_down, n_across, zoom)
        if _labels_fit(measures.across_label, cell_w, angle):
            break
    plot_w, plot_h = min(n_across * cell_w, room.width()), min(n_down * cell_h, room.height())
    x = math.floor(left + (room.width() - plot_w) / 2)
    y = math.floor(top + (room.height() - plot_h) / 2)
    thinned = angle == 0 and cell_w < LABEL_LINE
    across_step = nice_step((measures.across_label + 12) / cell_w) if thinned else 1
    bar_h = min(size.height() - 2 * MARGIN, max(plot_h, 72.0))
    return Geometry(
        n_down=n_down,
        n_across=n_across,
        plot=QRectF(x, y, plot_w, plot_h),
        cell_w=cell_w,
        cell_h=cell_h,
        offset=QPointF(
            min(max(0.0, offset.x()), n_across * cell_w - plot_w),
            min(max(0.0, offset.y()), n_down * cell_h - plot_h),
        ),
        down_room=down_room,
        across_room=LABEL_MAX if angle == 0 else across_room,
        across_angle=angle,
        down_step=nice_step(LABEL_LINE / cell_h),
        across_step=across_step,
        strips=strips,
        bar=QRectF(
            min(x + plot_w + beside + 2 * MARGIN, size.width() - measures.bar),
            min(y, size.height() - MARGIN - bar_h),
            measures.bar,
            bar_h,
        ),
    )


def _labels_fit(label_width: float, cell_w: float, angle: int) -> bool:
    """True if labels above the cells do not collide at `angle`; very dense ones are thinned out instead."""
    if angle == 0:
        return label_width + 6 <= cell_w or cell_w < LABEL_LINE
    return angle == 90 or cell_w >= SLANTED_FROM


def _across_height(length: float, angle: int) -> float:
    """Height that labels of `length` above the matrix need, at `angle` degrees."""
    if not length:
        return 0.0
    if angle == 0:
        return LABEL_LINE + 10
    return length + 8 if angle == 90 else length * math.sqrt(0.5) + LABEL_LINE


def cells_between(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """The cells on the straight line from `start` to `end`, without `start`: neighbours touch."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]))
    return [
        (
            round(start[0] + (end[0] - start[0]) * i / steps),
            round(start[1] + (end[1] - start[1]) * i / steps),
        )
        for i in range(1, steps + 1)
    ]


def _cell_size(room: QSizeF, n_down: int, n_across: int, zoom: float) -> tuple[float, float]:
    across, down = room.width() / max(1, n_across), room.height() / max(1, n_down)
    side = min(across, down, MAX_CELL)
    widest = WIDEST * side if max(n_down, n_across) <= STRETCHED_UP_TO else side
    # Square cells of a matrix of four rows and a thousand columns would be a thin line: its cells may be
    # slabs.
    cell_w = max(min(across, widest), min(LEAST_SLAB, across / 3))
    cell_h = max(side, min(LEAST_SLAB, down / 3))
    return _zoomed(cell_w, zoom), _zoomed(cell_h, zoom)


def _zoomed(length: float, zoom: float) -> float:
    return _whole(min(length * zoom, max(length, MAX_ZOOMED_CELL)))


def _whole(length: float) -> float:
    return float(math.floor(length)) if length >= WHOLE_PIXELS_FROM else length
