"""Layout of a heat map: a pure function of sizes, and hit-testing on its result.

"Down" and "across" count cells on the screen; the widget maps them to rows and columns of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF

from attnviz.core.label_spacing import nice_step

MARGIN, EDGE = 8.0, 4.0
"""Distances between the parts, and to the upper and lower edge."""
MAX_CELL = 132.0
WIDEST = 1.25
"""Largest ratio of a cell's width to its height: numbers and horizontal labels need width more
than height.
"""
STRETCHED_UP_TO = 32
"""Larger matrices have cells too narrow for numbers, and squares are easier to read."""
LEAST_SLAB = 20.0
FLAT = 3
"""Columns for each row from which all rows have their labels, where they fit into the height."""
WHOLE_PIXELS_FROM = 4.0
"""Cells at least this large are a whole number of pixels, so that all look the same."""
MAX_ZOOMED_CELL = 160.0
LABEL_LINE, SLANTED_LINE = 14.0, 10.0
DENSEST = 12.0
"""Distance of two labels below which they are thinned out."""
LABEL_MAX = 110.0
SLANTED_EDGE = 5.0
"""Distance from the middle of a slanted line's end to the edge of the card: half of its height."""
LEAST_TURNED = 150.0
"""Height of the matrix from which labels above dense cells are turned."""
SLANTED_FROM = 18.0
"""Distance of two slanted labels from which they do not touch."""
SHORT_LABEL = 24.0
"""Width of a label of three digits."""
BAR_LINE, LEAST_LYING = 14.0, 200.0
WORTH_LYING = 1.1
"""Gain in the area of a cell from which the colour bar lies under the matrix."""
STRIPS_FROM = QSizeF(340.0, 260.0)
WORTH_A_STRIP = 1.05
"""Gain in the area of a cell from which the strip under the matrix is left out."""


@dataclass(frozen=True)
class Measures:
    """Sizes of what stands around the matrix, in pixels; 0 without.

    `beside` and `below` are the strips of bars at its right and under it, `bar` the colour bar, which can
    lie under the matrix instead if `can_lie`. The strip under it is left out for larger cells if `can_go`.
    """

    down_label: float
    across_label: float
    beside: float
    below: float
    bar: float
    can_lie: bool = True
    can_go: bool = True


@dataclass(frozen=True)
class Geometry:
    """The result: the `width` of the card, the visible part of the matrix `plot`, and the size of a cell.

    The drawing of labels: their longest extent, their step, their angle; whether the strips of bars at the
    right and below fit.
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
    has_beside: bool
    has_below: bool
    bar: QRectF
    width: float = math.inf

    def has_strip(self, *, below: bool) -> bool:
        """True if the strip below the matrix, or that at its right, fits."""
        return self.has_below if below else self.has_beside

    def across_room_at(self, x: float) -> float:
        """Pixels for the label above the column at `x`: a slanted one ends before the edge of the card."""
        if self.across_angle != 45:
            return self.across_room
        return max(0.0, math.floor(min(self.across_room, (self.width - SLANTED_EDGE - x) / math.sqrt(0.5))))

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


@dataclass(frozen=True)
class _Frame:
    """Pixels around the matrix, but for the labels above it; `bar_below` puts the colour bar there."""

    left: float
    right: float
    bottom: float
    bar_below: bool


@dataclass(frozen=True)
class _Fit:
    """The labels' angle, the upper edge, the room for the matrix, and the size of its cells."""

    angle: int
    top: float
    room: QSizeF
    cell_w: float
    cell_h: float

    @property
    def area(self) -> float:
        """Square pixels of a cell."""
        return self.cell_w * self.cell_h


def arrange(
    size: QSizeF, n_down: int, n_across: int, measures: Measures, zoom: float, offset: QPointF
) -> Geometry:
    """Fit a matrix into `size`: as large as possible, centred, with labels, strips and colour bar around it.

    The colour bar stands beside the matrix, or below it where that makes cells larger. If the space is small,
    the strips are dropped first, then labels are elided.
    """
    has_beside = size.width() >= STRIPS_FROM.width() and size.height() >= STRIPS_FROM.height()
    beside, below = (measures.beside, measures.below) if has_beside else (0.0, 0.0)
    down_room = min(measures.down_label, LABEL_MAX, size.width() / 4)
    across_room = min(measures.across_label, LABEL_MAX, size.height() / 3)
    label = (measures.across_label, across_room)
    frames = [
        _frame(size, n_down, n_across, measures, (down_room, across_room), (beside, strip))
        for strip in (below, 0.0)
    ]
    areas = [_fit(size, frame, n_down, n_across, label, 1.0).area for frame in frames]
    has_below = has_beside and not (measures.can_go and areas[1] > WORTH_A_STRIP * areas[0])
    below = below if has_below else 0.0
    frame = frames[0 if has_below else 1]
    fit = _fit(size, frame, n_down, n_across, label, zoom)
    cell_w, cell_h = fit.cell_w, fit.cell_h
    plot_w, plot_h = min(n_across * cell_w, fit.room.width()), min(n_down * cell_h, fit.room.height())
    x = math.floor(frame.left + (fit.room.width() - plot_w) / 2)
    y = math.floor(fit.top + (fit.room.height() - plot_h) / 2)
    plot = QRectF(x, y, plot_w, plot_h)
    bar = _bar_below(size, plot, below)
    if not frame.bar_below:
        bar = _bar_beside(size, plot, beside, measures.bar)
    level = fit.angle == 0 and cell_w < DENSEST
    return Geometry(
        n_down=n_down,
        n_across=n_across,
        plot=plot,
        cell_w=cell_w,
        cell_h=cell_h,
        offset=QPointF(
            min(max(0.0, offset.x()), n_across * cell_w - plot_w),
            min(max(0.0, offset.y()), n_down * cell_h - plot_h),
        ),
        down_room=down_room,
        across_room=LABEL_MAX if fit.angle == 0 else across_room,
        across_angle=fit.angle,
        down_step=nice_step(DENSEST / cell_h),
        across_step=nice_step((measures.across_label + 12 if level else DENSEST) / cell_w),
        has_beside=has_beside,
        has_below=has_below,
        bar=bar,
        width=size.width(),
    )


def _frame(
    size: QSizeF,
    n_down: int,
    n_across: int,
    measures: Measures,
    rooms: tuple[float, float],
    strips: tuple[float, float],
) -> _Frame:
    """The frame in which the cells of the whole matrix are larger."""
    left, bottom = EDGE + rooms[0] + MARGIN, EDGE + strips[1]
    at_side = _Frame(left, MARGIN + strips[0] + measures.bar, bottom, bar_below=False)
    below = _Frame(left, EDGE + strips[0], bottom + BAR_LINE + EDGE, bar_below=True)
    if not measures.can_lie:
        return at_side
    label = (measures.across_label, rooms[1])
    areas = [_fit(size, frame, n_down, n_across, label, 1.0).area for frame in (at_side, below)]
    return below if areas[1] > WORTH_LYING * areas[0] else at_side


def _fit(
    size: QSizeF, frame: _Frame, n_down: int, n_across: int, label: tuple[float, float], zoom: float
) -> _Fit:
    """The cells in a frame; `label` is the widest label above them, and the room that it gets."""
    for angle in (0, 45, 90):
        top = EDGE + _across_height(label[1], angle)
        width, height = size.width() - frame.left - frame.right, size.height() - top - frame.bottom
        room = QSizeF(max(1.0, width), max(1.0, height))
        cell_w, cell_h = _cell_size(room, n_down, n_across, zoom)
        if _labels_fit(label[0], cell_w, angle, is_low=room.height() < LEAST_TURNED):
            break
    return _Fit(angle, top, room, cell_w, cell_h)


def _bar_beside(size: QSizeF, plot: QRectF, beside: float, width: float) -> QRectF:
    height = min(size.height() - 2 * EDGE, max(plot.height(), 72.0))
    left = min(plot.right() + beside + 2 * MARGIN, size.width() - width)
    return QRectF(left, min(plot.top(), size.height() - EDGE - height), width, height)


def _bar_below(size: QSizeF, plot: QRectF, below: float) -> QRectF:
    width = min(max(plot.width(), LEAST_LYING), size.width() - plot.left() - MARGIN)
    return QRectF(plot.left(), plot.bottom() + below + EDGE, width, BAR_LINE)


def _labels_fit(label_width: float, cell_w: float, angle: int, *, is_low: bool) -> bool:
    """True if labels above the cells, thinned out as those of the rows are, do not collide at `angle`.

    Over dense cells, short ones (numbers of features, for example) and those of a low map stay level, and are
    thinned out further.
    """
    distance = nice_step(DENSEST / cell_w) * cell_w
    if angle == 0:
        stays_level = is_low or label_width <= SHORT_LABEL
        return label_width + 6 <= distance or (cell_w < DENSEST and stays_level)
    return angle == 90 or distance >= SLANTED_FROM


def _across_height(length: float, angle: int) -> float:
    """Height that labels of `length` above the matrix need, at `angle` degrees."""
    if not length:
        return 0.0
    if angle == 0:
        return LABEL_LINE + 10
    return length + 8 if angle == 90 else length * math.sqrt(0.5) + SLANTED_LINE


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
    # slabs, in the height of their labels.
    slab = max(down / 3, min(down, LABEL_LINE)) if n_across >= FLAT * n_down else down / 3
    cell_w = max(min(across, widest), min(LEAST_SLAB, across / 3))
    cell_h = max(side, min(LEAST_SLAB, slab))
    return _zoomed(cell_w, zoom), _zoomed(cell_h, zoom)


def _zoomed(length: float, zoom: float) -> float:
    return _whole(min(length * zoom, max(length, MAX_ZOOMED_CELL)))


def _whole(length: float) -> float:
    return float(math.floor(length)) if length >= WHOLE_PIXELS_FROM else length
