"""A heat map without its widget: content, colours and layout, and their painting.

Painting has two layers. The base (cells, numbers, labels, sums) changes with content, size and zoom; the
highlight changes with every move of the pointer and is drawn over a cached picture of the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from attnviz.core.levels import RANGE_BY_ID, row_levels
from attnviz.core.matrix import windows
from attnviz.core.ranges import runs
from attnviz.core.text import number, visible
from attnviz.gui.look.colors import BLOCKED, NAN, Indices
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import LIGHT, TEXT_PX, Theme
from attnviz.gui.widgets.heat.color_bar import ColorScale
from attnviz.gui.widgets.heat.content import Cell, HeatContent, Highlight, colored, same_numbers
from attnviz.gui.widgets.heat.labels import (
    Labels,
    across_label_at,
    down_label_at,
    draw_across,
    draw_axis_names,
    draw_down,
)
from attnviz.gui.widgets.heat.layout import LABEL_LINE, Geometry, Measures, arrange
from attnviz.gui.widgets.heat.margins import (
    Strip,
    draw_received,
    draw_spread,
    has_spread,
    received_heading,
    received_help,
    received_size,
    received_strip,
    spread_heading,
    spread_help,
    spread_size,
    spread_strip,
)
from attnviz.gui.widgets.heat.paint import (
    NUMBERS_FROM_HEIGHT,
    NUMBERS_FROM_WIDTH,
    cover,
    draw_cells,
    draw_edited,
    draw_numbers,
    faded_path,
)
from attnviz.model.ranges import bar_name

FADED = 0.72
"""Opacity of the colour over the cells that fade."""

Block = tuple[int, int, int, int]
"""First row and column, and the number of rows and columns."""


def blocks(cells: Iterable[Cell]) -> list[Block]:
    """Cells joined to rectangles: a whole row or column of cells is one outline, not hundreds."""
    by_row: dict[int, list[int]] = {}
    for row, column in cells:
        by_row.setdefault(row, []).append(column)
    by_stretch: dict[tuple[int, int], list[int]] = {}
    for row, columns in by_row.items():
        for stretch in runs(columns):
            by_stretch.setdefault(stretch, []).append(row)
    return [
        (row, column, height, width)
        for (column, width), rows in by_stretch.items()
        for row, height in runs(rows)
    ]


def outline(
    painter: QPainter, geometry: Geometry, block: Block, color: str, width: float, dashed: bool
) -> None:
    """Outline a block of cells, visibly even if the block is smaller than a pixel or two."""
    rect = geometry.block_rect(*block)
    least = 3.0
    rect.adjust(
        -max(0.0, least - rect.width()) / 2,
        -max(0.0, least - rect.height()) / 2,
        max(0.0, least - rect.width()) / 2,
        max(0.0, least - rect.height()) / 2,
    )
    pen = QPen(QColor(color), width)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    if dashed:
        pen.setDashPattern([4 / width, 3 / width])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(rect)


def frame(painter: QPainter, geometry: Geometry, block: Block, color: str) -> None:
    """Frame a block of cells from outside, so that low rows keep their colours."""
    painter.setPen(QPen(QColor(color), 2.0))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(geometry.block_rect(*block).adjusted(-1.0, -1.0, 1.0, 1.0))


def strong_outline(painter: QPainter, geometry: Geometry, cell: Cell, theme: Theme, width: float) -> None:
    """The outline of one cell: ink between lines of the panel's colour, so that it shows on any cell."""
    down, across = cell
    outline(painter, geometry, (down, across, 1, 1), theme.panel, width + 2, dashed=False)
    outline(painter, geometry, (down, across, 1, 1), theme.ink, width, dashed=False)


def clip_to_plot(painter: QPainter, geometry: Geometry) -> None:
    """Let outlines extend over the edge of the matrix by their own width, not further.

    If a zoomed matrix extends beyond the plot, they end with the plot.
    """
    plot, whole = geometry.plot, geometry.block_rect(0, 0, geometry.n_down, geometry.n_across)
    left, top = (4 * (whole.left() > plot.left() - 1), 4 * (whole.top() > plot.top() - 1))
    right, bottom = (4 * (whole.right() < plot.right() + 1), 4 * (whole.bottom() < plot.bottom() + 1))
    reached = QRectF(plot).adjusted(-left, -top, right, bottom)
    painter.setClipRect(reached, Qt.ClipOperation.IntersectClip)


EMPTY = HeatContent(np.zeros((0, 0), np.float32), (), (), LIGHT.query, LIGHT.key)
_SMALL_PX = 11
_BAR_MARGIN = 2.0
_BAR_FROM = 2.0
"""Pixels of a cell that show a share as a bar."""
_FIRST_OPACITY = 0.35
"""Opacity of the bar of a share under its number."""
_SLANT_ROOM = 10.0
"""Length of slanted labels beyond the last column, if the colour bar is hidden."""


class HeatScene:
    """State of a heat map; `geometry` is in (down, across) of the screen, `content` in (row, column)."""

    def __init__(self) -> None:
        self.theme = LIGHT
        self.is_compact = False
        self.label_px = TEXT_PX
        self.shows_labels = True
        self.label_room: tuple[float, float] | None = None
        """Pixels for the labels beside and above, if several maps share a layout; None: their own width."""
        self.content = EMPTY
        self.indices: Indices = np.zeros((0, 0), np.uint8)
        self.ends = (0.0, 1.0)
        self._lacking, self._beyond = (0, 0), (False, False)
        self._labels: dict[str, Labels] = {}
        self.geometry: Geometry = arrange(QSizeF(1, 1), 0, 0, Measures(0, 0, 0, 0, 0), 1.0, QPointF())
        self._arranged: tuple[object, ...] = ()
        """The inputs of `geometry`."""

    def set_content(self, content: HeatContent) -> None:
        """Colour another matrix; call `arrange` afterwards."""
        before, self.content = self.content, content
        if _are_colored_alike(before, content):
            return  # as the map of a pinned state beside an edited one
        self.indices, self.ends = colored(content)
        self._lacking = (0, 0)
        if self.indices.size and self.indices.max() > BLOCKED:
            nan = int(np.count_nonzero(self.indices == NAN))
            self._lacking = (nan, int(np.count_nonzero(self.indices > BLOCKED)) - nan)
        self._beyond = _beyond(content, self.ends)
        if content.transposed:
            self.indices = self.indices.T

    def arrange(self, size: QSizeF, zoom: float, offset: QPointF) -> None:
        """Compute the layout."""
        down, across = self._axis("down"), self._axis("across")
        strips = (0.0, 0.0) if self.is_compact else (spread_size(self.content), received_size(self.content))
        beside, below = strips[:: -1 if self.content.transposed else 1]
        bar = _SLANT_ROOM if self.is_compact else self.color_scale(None).width() + _BAR_MARGIN
        room = self.label_room or (down.width, across.width)
        # Entropies stay, means of columns go first.
        can_go = not self.content.transposed
        measures = Measures(*room, beside, below, bar, can_lie=not self.is_compact, can_go=can_go)
        given = (size, len(down.texts), len(across.texts), measures, zoom, QPointF(offset))
        if given != self._arranged:  # an edit of a number leaves the layout as it is
            self._arranged, self.geometry = given, arrange(*given)

    def set_compact(self, is_compact: bool) -> None:
        """With small labels and no colour bar, for one map of several; call `arrange` afterwards."""
        self.is_compact = is_compact
        self.label_px = _SMALL_PX if is_compact else TEXT_PX
        self._labels.clear()

    def label_widths(self) -> tuple[float, float]:
        """Pixels of the widest label beside the matrix and of the widest above it."""
        return self._axis("down").width, self._axis("across").width

    def turned(self, cell: Cell) -> Cell:
        """Convert (row, column) to (down, across), or back."""
        return (cell[1], cell[0]) if self.content.transposed else cell

    def cell_at(self, point: QPointF) -> Cell | None:
        """The (row, column) under `point`."""
        cell = self.geometry.cell_at(point)
        return None if cell is None else self.turned(cell)

    def row_label_at(self, point: QPointF) -> int | None:
        """The row whose label is under `point`."""
        return (across_label_at if self.content.transposed else down_label_at)(self.geometry, point)

    def column_label_at(self, point: QPointF) -> int | None:
        """The column whose label is under `point`."""
        return (down_label_at if self.content.transposed else across_label_at)(self.geometry, point)

    def spread_row_at(self, point: QPointF) -> int | None:
        """The row whose entropy or share is under `point`."""
        return spread_strip(self.geometry, self.content).index_at(point) if self._has_spread else None

    def received_column_at(self, point: QPointF) -> int | None:
        """The column whose mean is under `point`."""
        return received_strip(self.geometry, self.content).index_at(point) if self._has_received else None

    def heading_text_at(self, point: QPointF) -> str:
        """A sentence about the bars whose heading is under `point`; empty elsewhere."""
        strips: list[tuple[Strip, str, str]] = []
        if self._has_spread and not self.is_compact:
            strip = spread_strip(self.geometry, self.content)
            strips.append((strip, spread_heading(self.content), spread_help(self.content)))
        if self._has_received and not self.is_compact:
            strips.append((received_strip(self.geometry, self.content), received_heading(), received_help()))
        found = (says for strip, heading, says in strips if strip.heading_rect(heading).contains(point))
        return next(found, "")

    @property
    def _has_spread(self) -> bool:
        return has_spread(self.content) and self.geometry.has_strip(below=self.content.transposed)

    @property
    def _has_received(self) -> bool:
        has_values = self.content.column_means is not None and bool(self.content.column_means.size)
        return has_values and self.geometry.has_strip(below=not self.content.transposed)

    def color_scale(self, row: int | None) -> ColorScale:
        """Content of the colour bar; `row` is the row under the pointer, whose ends count in range "row"."""
        content, (low, high) = self.content, self.ends
        per_row = content.range_id == "row"
        of_row = None
        if per_row and row is not None:
            blocked = None if content.blocked is None else content.blocked[row : row + 1]
            lows, highs = row_levels(content.values[row : row + 1], content.signed, blocked)
            low, high, of_row = float(lows[0]), float(highs[0]), visible(content.row_labels[row])
        name = bar_name(content.quantity, content.range_id, content.range_name)
        ends = self._beyond, per_row, of_row, self._lacking
        return ColorScale(content.kind, low, high, name, *ends, quantity=content.quantity)

    def draw_base(self, painter: QPainter) -> None:
        """Cells, numbers, labels, and the strips of bars."""
        self.draw_frame(painter)
        self.draw_numbers(painter)

    def frame_key(self) -> tuple[object, ...]:
        """State that `draw_frame` depends on: it lasts while the numbers change."""
        content = self.content
        labels = self._axis("down"), self._axis("across")
        names = content.row_axis, content.column_axis, content.row_color, content.column_color
        shape = self.geometry, content.transposed, self.shows_labels
        return (*shape, self.theme, *labels, *names, content.chosen)

    def draw_frame(self, painter: QPainter) -> None:
        """Labels and names of the axes, and the marks of the chosen columns."""
        content, geometry = self.content, self.geometry
        if self.shows_labels:
            down_color, across_color = self._colors()
            draw_down(painter, geometry, self._axis("down"), down_color)
            draw_across(painter, geometry, self._axis("across"), across_color)
            names = (content.row_axis, content.column_axis)[:: -1 if content.transposed else 1]
            small = ui_font(_SMALL_PX)
            across = self._axis("across")
            first = across.advance(across.shown(0), bold=False) if across.texts else 0.0
            draw_axis_names(painter, geometry, (names[0], down_color), (names[1], across_color), small, first)
        for column in content.chosen:
            self._draw_chosen(painter, column)

    def draw_numbers(self, painter: QPainter) -> None:
        """Cells, the numbers in them, and the strips of bars."""
        content, geometry, theme = self.content, self.geometry, self.theme
        draw_cells(painter, geometry, self.indices, content.kind, theme)
        if content.is_first_off:
            self._draw_first(painter)
        self._draw_values(painter)
        draw_edited(painter, geometry, [self.turned(cell) for cell in self._inside(content.edited)], theme)
        if self._has_spread and not self.is_compact:
            draw_spread(painter, geometry, content, theme)
        if self._has_received and not self.is_compact:
            draw_received(painter, geometry, content, theme)

    def _draw_first(self, painter: QPainter) -> None:
        """The share of the first key in each row: a bar in its hatched cell, and a number where it fits."""
        geometry, content, theme = self.geometry, self.content, self.theme
        if (geometry.cell_h if content.transposed else geometry.cell_w) < _BAR_FROM:
            return
        first_down, end_down, first_across, end_across = geometry.visible()
        first, end = (first_across, end_across) if content.transposed else (first_down, end_down)
        font = _number_font(geometry)
        least = QFontMetricsF(font).horizontalAdvance("0.000") + 4
        has_numbers = (
            geometry.cell_w >= max(least, NUMBERS_FROM_WIDTH) and geometry.cell_h >= NUMBERS_FROM_HEIGHT
        )
        painter.save()
        painter.setClipRect(geometry.plot, Qt.ClipOperation.IntersectClip)
        painter.setFont(font)
        shares = content.values[first:end, :1][:, 0].tolist()
        for row, share in enumerate(shares, first):
            if math.isnan(share) or content.is_blocked((row, 0)):
                continue
            cell = geometry.cell_rect(*self.turned((row, 0)))
            inset = 1.0 if min(cell.width(), cell.height()) > 5 else 0.0
            room = cell.adjusted(inset, inset, -inset, -inset)
            part = min(1.0, max(0.0, share))
            bar = QRectF(room.left(), room.top(), room.width() * part, room.height())
            if content.transposed:
                bar = QRectF(
                    room.left(), room.bottom() - room.height() * part, room.width(), room.height() * part
                )
            color = QColor(theme.muted)
            color.setAlphaF(_FIRST_OPACITY if has_numbers else 1.0)
            painter.fillRect(bar, color)
            if has_numbers:
                painter.setPen(QColor(theme.ink))
                painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, number(share))
        painter.restore()

    def draw_overlay(self, painter: QPainter, lit: Highlight, current: Cell | None) -> None:
        """Draw outlines and labels of the highlight; `current` is the cell under pointer or
        keyboard cursor.
        """
        geometry = self.geometry
        if not geometry.n_down or not geometry.n_across:
            return
        painter.save()
        clip_to_plot(painter, geometry)
        self._draw_spot(painter, lit)
        for block in blocks(self.turned(cell) for cell in self._inside(lit.cells)):
            outline(painter, geometry, block, self.theme.panel, 3.5, dashed=False)
            outline(painter, geometry, block, self.theme.ink, 1.5, dashed=False)
        for block in self._newest(lit):
            frame(painter, geometry, block, self.theme.accent)
        for block, color in self._stripes(lit):
            outline(painter, geometry, block, self.theme.panel, 1.5, dashed=False)
            outline(painter, geometry, block, color, 1.5, dashed=True)
        if current is not None and current != lit.cell:
            strong_outline(painter, geometry, self.turned(current), self.theme, 1.0)
        for cell in self._inside(() if lit.cell is None else (lit.cell,)):
            strong_outline(painter, geometry, self.turned(cell), self.theme, 3.0 if lit.locked else 2.0)
        painter.restore()
        self._cover_margins(painter, lit)
        if self.shows_labels:
            self._draw_lit_labels(painter, lit, current)

    def _draw_spot(self, painter: QPainter, lit: Highlight) -> None:
        if lit.spot:
            kept = blocks(self.turned(cell) for cell in self._inside(lit.spot))
            self._fade(painter, faded_path(self.geometry, kept))
        for cell in self._inside(lit.covered):
            cover(painter, self.geometry, self.turned(cell), self.theme)

    def _fade(self, painter: QPainter, path: QPainterPath) -> None:
        """Fade the colours of some cells, and keep their numbers legible: a lesson may compare with them."""
        wash = QColor(self.theme.panel)
        wash.setAlphaF(FADED)
        painter.fillPath(path, wash)
        painter.save()
        painter.setClipPath(path, Qt.ClipOperation.IntersectClip)
        self._draw_values(painter, self.theme.ink)
        painter.restore()

    def _draw_values(self, painter: QPainter, ink: str = "") -> None:
        """The numbers in the cells, in `ink` or in that of each cell's colour."""
        content, geometry = self.content, self.geometry
        values = content.values.T if content.transposed else content.values
        font = _number_font(geometry)
        draw_numbers(painter, geometry, values, self.indices, content.kind, self.theme, font, ink)

    def _cover_margins(self, painter: QPainter, lit: Highlight) -> None:
        """The bars of the row and the column of a covered cell tell of it, and so does the row's sum."""
        ground = QColor(self.theme.panel)
        if lit.covered and self._has_spread:
            strip, size = spread_strip(self.geometry, self.content), spread_size(self.content)
            reach = (4, size) if self.content.transposed else (size, LABEL_LINE / 2)
            for row in {row for row, _column in lit.covered}:
                painter.fillRect(strip.track(row).adjusted(-2, -LABEL_LINE / 2, *reach), ground)
        if lit.covered and self._has_received:
            strip = received_strip(self.geometry, self.content)
            for column in {column for _row, column in lit.covered}:
                painter.fillRect(strip.track(column).adjusted(-2, -2, 2, 2), ground)

    def _draw_chosen(self, painter: QPainter, column: int) -> None:
        """A chosen column has a bold label, and a line between it and its cells."""
        geometry, color = self.geometry, self.content.column_color
        if self.content.transposed:
            edge = geometry.block_rect(column, 0, 1, 1).intersected(geometry.plot)
            line = QRectF(geometry.plot.left() - 4, edge.top(), 3, edge.height())
            draw_down(painter, geometry, self._axis("down"), color, column, self.theme.panel)
        else:
            edge = geometry.block_rect(0, column, 1, 1).intersected(geometry.plot)
            line = QRectF(edge.left(), geometry.plot.top() - 4, edge.width(), 3)
            draw_across(painter, geometry, self._axis("across"), color, column, self.theme.panel)
        painter.fillRect(line, QColor(color))

    def _axis(self, axis: str) -> Labels:
        """The labels drawn `down` or `across`; measured again only when their texts change."""
        content = self.content
        is_rows = (axis == "down") != content.transposed
        texts = content.row_labels if is_rows else content.column_labels
        kept = self._labels.get(axis)
        if kept is None or (kept.texts is not texts and kept.texts != texts):
            fonts = ui_font(self.label_px), ui_font(self.label_px, QFont.Weight.DemiBold)
            kept = self._labels[axis] = Labels(texts, *fonts)
        kept.pictures = content.row_pictures if is_rows else content.column_pictures
        return kept

    def _colors(self) -> tuple[str, str]:
        colors = (self.content.row_color, self.content.column_color)
        return (colors[1], colors[0]) if self.content.transposed else colors

    def _inside(self, cells: frozenset[Cell] | tuple[Cell, ...]) -> list[Cell]:
        """The cells inside the matrix: a highlight may belong to a larger one."""
        rows, columns = self.content.values.shape
        return [cell for cell in cells if 0 <= cell[0] < rows and 0 <= cell[1] < columns]

    def _stripes(self, lit: Highlight) -> list[tuple[Block, str]]:
        """Highlighted rows and columns as blocks of the screen, with their colours."""
        content = self.content
        rows, columns = content.values.shape
        result: list[tuple[Block, str]] = []
        for first, length in runs(row for row in lit.rows if 0 <= row < rows):
            block = (0, first, columns, length) if content.transposed else (first, 0, length, columns)
            result.append((block, content.row_color))
        for first, length in runs(column for column in lit.columns if 0 <= column < columns):
            block = (first, 0, length, rows) if content.transposed else (0, first, rows, length)
            result.append((block, content.column_color))
        return result

    def _newest(self, lit: Highlight) -> list[Block]:
        """The row of the newest token as a block of the screen."""
        rows, columns = self.content.values.shape
        if not 0 <= lit.newest < rows:
            return []
        return [(0, lit.newest, columns, 1) if self.content.transposed else (lit.newest, 0, 1, columns)]

    def _draw_lit_labels(self, painter: QPainter, lit: Highlight, current: Cell | None) -> None:
        """Draw bold labels of highlighted rows and columns, also of thinned-out ones; a few, not hundreds."""
        cells = self._inside(tuple(cell for cell in (lit.cell, current) if cell is not None))
        rows = {*lit.rows, *(cell[0] for cell in cells)}
        columns = {*lit.columns, *(cell[1] for cell in cells)}
        downs, acrosses = (columns, rows) if self.content.transposed else (rows, columns)
        down_color, across_color = self._colors()
        if len(downs) <= 4:
            for down in downs:
                if 0 <= down < self.geometry.n_down:
                    draw_down(painter, self.geometry, self._axis("down"), down_color, down, self.theme.panel)
        if len(acrosses) <= 4:
            for across in acrosses:
                if 0 <= across < self.geometry.n_across:
                    draw_across(
                        painter, self.geometry, self._axis("across"), across_color, across, self.theme.panel
                    )


def _number_font(geometry: Geometry) -> QFont:
    """The font of the numbers in cells, larger in larger cells."""
    steps = ((84.0, 16), (68.0, 14), (56.0, 13), (44.0, 12))
    return number_font(next((px for least, px in steps if geometry.cell_w >= least), _SMALL_PX))


def _are_colored_alike(one: HeatContent, other: HeatContent) -> bool:
    """True if both have the same numbers in one given range."""
    if one.levels is None or one.levels != other.levels:
        return False
    given = one.range_id, one.signed, one.transposed, one.is_first_off
    if given != (other.range_id, other.signed, other.transposed, other.is_first_off):
        return False
    return same_numbers(one.blocked, other.blocked) and same_numbers(one.values, other.values)


def _beyond(content: HeatContent, ends: tuple[float, float]) -> tuple[bool, bool]:
    """True for each of `ends` beyond which finite cells lie, in a range that leaves cells out."""
    below = above = False
    for part, values in windows(content.values) if RANGE_BY_ID[content.range_id].clips else ():
        kept = np.isfinite(values)
        if content.blocked is not None:
            kept &= ~content.blocked[part]
        if content.is_first_off:  # its column has no colours
            kept[:, :1] = False
        below = below or bool(((values < ends[0]) & kept).any())
        above = above or bool(((values > ends[1]) & kept).any())
    return below, above
