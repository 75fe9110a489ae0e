"""The maps of several attentions side by side: heat maps at fixed places, without a colour bar.

Cells have the same size in every map, so that areas compare as the numbers of pairs do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.widgets.heat.layout import STRETCHED_UP_TO, WHOLE_PIXELS_FROM, Geometry
from attnviz.gui.widgets.heat.map import HeatMap

PAD = 6
INSET = 3
"""Distance from the frame of an attention to its map: a bold label covers its background."""
GAP = 30
"""Distance between two maps: an arrow fits."""
LINE = 11.0
"""Height of a label, and the least height of a cell that has one beside it."""
CAPTION_LINE = 15
CAPTION_LINES = 2
LEAST_BESIDE = 4 * CAPTION_LINE + 2 * PAD
MOST_HIGH, MOST_WIDE = 40.0, 60.0
SLANTED_FROM = 16.0
STYLES = ((True, 2.4), (True, 1.8), (False, 2.4), (False, 1.5))
"""(captions beside, ratio of a cell's width to its height: numbers and level labels need width)."""


@dataclass(frozen=True)
class MapSizes:
    """One map before it is placed: cells, and the widths of its widest labels and of its caption, in two
    lines below it or in more and shorter ones beside it.
    """

    n_down: int
    n_across: int
    down_label: float
    across_label: float
    below: float
    beside: float


@dataclass(frozen=True)
class Placed:
    """One map in its place: `area` with its caption, `map` the widget, `geometry` inside it; `caption`
    is the top left corner of its first line."""

    area: QRect
    map: QRect
    geometry: Geometry
    caption: QPoint

    @property
    def plot(self) -> QRectF:
        """The cells, in the coordinates that `area` has."""
        return self.geometry.plot.translated(QPointF(self.map.topLeft()))


@dataclass(frozen=True)
class Arrangement:
    """All maps, their total width, whether labels fit, and the places of captions."""

    places: tuple[Placed, ...]
    width: int
    has_labels: bool
    is_beside: bool


@dataclass(frozen=True)
class _Cell:
    """A cell, and the height for slanted labels above the maps; 0 without labels."""

    width: float
    height: float
    angle: int = 0
    above: float = 0.0


def arrange(sizes: tuple[MapSizes, ...], width: int, height: int, band: int) -> Arrangement:
    """Lay out maps from left to right in `height` pixels, of which the topmost `band` stay free.

    Captions are beside the maps and cells are wide if everything, including labels, fits into `width`;
    otherwise captions are below, and the maps scroll.
    """
    arranged = tuple(_arranged(sizes, height, band, *style) for style in STYLES)
    fitting = tuple(one for one in arranged if one.width <= width) or arranged[-1:]
    return next((one for one in fitting if one.has_labels), fitting[0])


def _arranged(
    sizes: tuple[MapSizes, ...], height: int, band: int, is_beside: bool, wider: float
) -> Arrangement:
    below = 0 if is_beside else CAPTION_LINES * CAPTION_LINE
    cell = _cell(sizes, height - band - below - 2 * PAD, wider)
    places, x = [], 0
    for one in sizes:
        before = PAD + (math.ceil(one.down_label) + PAD if cell.above else 0)
        plot = QRectF(before, PAD + cell.above, one.n_across * cell.width, one.n_down * cell.height)
        widget = QRect(x + INSET, band, math.ceil(plot.right()) + PAD, math.ceil(plot.bottom()) + PAD)
        if is_beside:
            width, high = (
                INSET + widget.width() + math.ceil(one.beside) + PAD,
                max(widget.height(), LEAST_BESIDE),
            )
            caption = QPoint(widget.right() + 1, round(band + plot.top() - 2))
        else:
            width, high = max(widget.width() + INSET, math.ceil(one.below) + 2 * PAD), widget.height() + below
            caption = QPoint(x + PAD, widget.bottom() - 2)
        places.append(Placed(QRect(x, band, width, high), widget, _geometry(one, cell, plot), caption))
        x += width + GAP
    return Arrangement(tuple(places), max(0, x - GAP), cell.above > 0, is_beside)


def _cell(sizes: tuple[MapSizes, ...], room: float, wider: float) -> _Cell:
    """The largest cell for which all maps have labels, else the largest one without."""
    rows = max(one.n_down for one in sizes)
    longest = max(one.across_label for one in sizes)
    is_small = max(max(one.n_down, one.n_across) for one in sizes) <= STRETCHED_UP_TO
    wider = wider if is_small else 1.0
    above = {0: LINE + 6, 45: (longest + LINE) * math.sqrt(0.5) + 3, 90: longest + 8}
    for angle, taken in above.items():
        width, height = _cell_size((room - taken) / rows, wider)
        fits = {0: longest + 6 <= width, 45: width >= SLANTED_FROM, 90: width >= LINE}[angle]
        if height >= LINE and fits:
            return _Cell(width, height, angle, taken)
    return _Cell(*_cell_size(room / rows, wider))


def _cell_size(room: float, wider: float) -> tuple[float, float]:
    """(width, height) of a cell in `room` pixels of height."""
    height = min(max(room, 0.05), MOST_HIGH)
    width = min(height * wider, MOST_WIDE)
    if height < WHOLE_PIXELS_FROM:
        return width, height
    return float(math.floor(width)), float(math.floor(height))


def _geometry(one: MapSizes, cell: _Cell, plot: QRectF) -> Geometry:
    return Geometry(
        n_down=one.n_down,
        n_across=one.n_across,
        plot=plot,
        cell_w=cell.width,
        cell_h=cell.height,
        offset=QPointF(),
        down_room=one.down_label,
        across_room=one.across_label,
        across_angle=cell.angle,
        down_step=1,
        across_step=1,
        has_beside=False,
        has_below=False,
        bar=QRectF(),
    )


LABEL_PX = 10


class SiteMap(HeatMap):
    """A click or Enter anywhere on it chooses its attention, called `name`."""

    site_hovered = Signal(str, int, int)
    """(name, row, column) under the pointer or the keyboard cursor; (name, −1, −1) when it left."""
    chosen = Signal(str)
    """The name, when it was clicked or chosen by Enter."""

    can_zoom = False
    """All maps have cells of one size: none is enlarged alone."""

    _given: Geometry | None = None

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self.setObjectName(f"site_map_{name}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._scene.label_px = LABEL_PX
        self.take_bar()
        self.cell_hovered.connect(self._on_hovered)
        self.cell_clicked.connect(self._on_clicked)

    def label_widths(self) -> tuple[float, float]:
        """Pixels of the widest label beside the map and of the widest above it."""
        return self._scene.label_widths()

    def place(self, geometry: Geometry, has_labels: bool) -> None:
        """Use the layout `geometry`, which counts in pixels of this widget."""
        self._given = geometry
        self._scene.shows_labels = has_labels
        self._arrange()

    def _arrange(self) -> None:
        if self._given is not None:
            self._scene.geometry = self._given
        self._base = None
        self.update()

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        self.site_hovered.emit(self.name, row, column)

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        self.chosen.emit(self.name)
