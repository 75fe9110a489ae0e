"""Masks as small pictures: hatched where blocked, coloured where a query attends to a key."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.heat.hatch import draw_blocked
from attnviz.gui.widgets.heat.layout import cells_between
from attnviz.i18n import _
from attnviz.model.masks import blocked
from attnviz.model.spec.parts import Mask
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID

Bools = NDArray[np.bool_]

SIDE = 76
MOST_CELLS = 64
"""Rows and columns drawn at most; of longer sequences evenly spaced positions are shown."""


def sampled(count: int, most: int = MOST_CELLS) -> NDArray[np.int64]:
    """All positions below `count`, or `most` evenly spaced ones with the first and the last."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)


def cell_rect(hidden: Bools, frame: QRectF, row: int, column: int) -> QRectF:
    """Rectangle of one cell of `hidden` inside `frame`; cells are squares."""
    n_rows, n_columns = hidden.shape
    side = min(frame.height() / n_rows, frame.width() / n_columns)
    left = frame.left() + (frame.width() - side * n_columns) / 2
    top = frame.top() + (frame.height() - side * n_rows) / 2
    return QRectF(left + column * side, top + row * side, side, side)


def paint_cells(painter: QPainter, hidden: Bools, frame: QRectF, theme: Theme, seen: QColor) -> None:
    """Paint the blocked cells (True in `hidden`) as hatching and the others in the colour `seen`."""
    n_rows, n_columns = hidden.shape
    whole = cell_rect(hidden, frame, 0, 0).united(cell_rect(hidden, frame, n_rows - 1, n_columns - 1))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    draw_blocked(painter, whole, theme, spacing=4.0)
    path = _seen_path(hidden.tobytes(), hidden.shape, frame.getRect())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.fillPath(path, QColor(theme.panel))
    painter.fillPath(path, seen)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.line), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(whole.adjusted(0.5, 0.5, -0.5, -0.5))


@lru_cache(maxsize=64)
def _seen_path(
    cells: bytes, shape: tuple[int, int], frame: tuple[float, float, float, float]
) -> QPainterPath:
    """The cells that are not blocked, cached: every repaint of a form draws a dozen of them."""
    hidden, inside = np.frombuffer(cells, dtype=np.bool_).reshape(shape), QRectF(*frame)
    path = QPainterPath()
    gap = 1.0 if cell_rect(hidden, inside, 0, 0).width() >= 6 else 0.0
    for row, cells_of_row in enumerate(hidden):
        columns = np.flatnonzero(~cells_of_row)
        # Without gaps, neighbours are one rectangle: a row has a few, not `MOST_CELLS`.
        starts = np.diff(columns, prepend=-2) > (0 if gap else 1)
        for run in np.split(columns, np.flatnonzero(starts)[1:]) if columns.size else ():
            first, last = (cell_rect(hidden, inside, row, int(run[end])) for end in (0, -1))
            path.addRect(first.united(last).adjusted(0, 0, -gap, -gap))
    return path


def seen_color(theme: Theme, is_on: bool = True) -> QColor:
    """The accent, thin enough to be a ground; a grey where the mask is off."""
    color = QColor(theme.accent if is_on else theme.muted)
    color.setAlphaF(0.55 if is_on else 0.35)
    return color


class MaskTile(Control):
    """All masks together; `blocked_cells` are its cells, (query, key).

    In the paint mode a drag strokes its cells, if each of them is one of the site's.
    """

    cell_stroked = Signal(int, int, bool)
    """(query, key, whether the stroke starts here)."""
    stroke_finished = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[tuple[Mask, ...], int, int, int] | None = None
        self._rows, self._columns = sampled(1), sampled(1)
        self.blocked_cells: Bools = np.zeros((1, 1), dtype=np.bool_)
        self._cell: Cell | None = None
        self._paints = False
        self._stroke: tuple[int, int] | None = None
        self.setObjectName("mask_tile")
        self.setFixedSize(SIDE, SIDE)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_experiment(self, site: Site) -> None:
        """Show the visible keys of each query of the site."""
        shown = (site.masks, site.query_offset, site.n_queries, site.n_keys)
        if shown == self._shown:  # a drag of a number asks at every frame
            return
        self._shown = shown
        self._rows, self._columns = sampled(site.n_queries), sampled(site.n_keys)
        hidden = blocked(site, self._rows, self._columns)
        shape = (len(self._rows), len(self._columns))
        self.blocked_cells = np.zeros(shape, dtype=np.bool_) if hidden is None else np.array(hidden)
        self._show_cursor()
        self.retranslate()
        self.update()

    def set_paint_mode(self, on: bool) -> None:
        """Let a drag stroke the cells, or no longer."""
        if on != self._paints:
            self._paints = on
            self._end_stroke()
            self._show_cursor()

    def set_cell(self, cell: Cell | None) -> None:
        """Outline a score cell, or none."""
        is_score = cell is not None and STAGE_BY_ID[cell.stage].score_shaped
        self._cell = cell if is_score else None
        self.update()

    def retranslate(self) -> None:
        shown = int(self.blocked_cells.sum())
        sentence = _("All masks: {blocked} of {all} shown cells blocked")
        text = sentence.format(blocked=shown, all=self.blocked_cells.size)
        self.setAccessibleName(text)
        self.set_tooltip(text)

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Rectangle of one of the shown cells."""
        return cell_rect(self.blocked_cells, QRectF(0, 0, SIDE, SIDE), row, column)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a stroke in the paint mode."""
        if self._can_paint and event.button() == Qt.MouseButton.LeftButton:
            self._stroke = self._nearest_cell(event.position())
            self.cell_stroked.emit(*self._stroke, True)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Stroke each cell up to the pointer."""
        if self._stroke is not None:
            end = self._nearest_cell(event.position())
            for cell in cells_between(self._stroke, end):
                self.cell_stroked.emit(*cell, False)
            self._stroke = end

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._end_stroke()

    @property
    def _can_paint(self) -> bool:
        """True if a cell of the picture is one cell of the map, not one of several around it."""
        is_whole = self._shown is not None and max(self._shown[2:]) <= MOST_CELLS
        return self._paints and is_whole

    def _show_cursor(self) -> None:
        self.setCursor(Qt.CursorShape.CrossCursor if self._can_paint else Qt.CursorShape.ArrowCursor)

    def _nearest_cell(self, point: QPointF) -> tuple[int, int]:
        first, (n_rows, n_columns) = self.cell_rect(0, 0), self.blocked_cells.shape
        row = int((point.y() - first.top()) // first.height())
        column = int((point.x() - first.left()) // first.width())
        return min(max(row, 0), n_rows - 1), min(max(column, 0), n_columns - 1)

    def _end_stroke(self) -> None:
        if self._stroke is not None:
            self._stroke = None
            self.stroke_finished.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        frame = QRectF(0, 0, SIDE, SIDE)
        paint_cells(painter, self.blocked_cells, frame, self._theme, seen_color(self._theme))
        self._paint_cell(painter)

    def _paint_cell(self, painter: QPainter) -> None:
        if self._cell is None:
            return
        n_rows, n_columns = self.blocked_cells.shape
        row = min(int(np.searchsorted(self._rows, self._cell.row)), n_rows - 1)
        column = min(int(np.searchsorted(self._columns, self._cell.column)), n_columns - 1)
        painter.setPen(QPen(QColor(self._theme.ink), 1.5))
        painter.drawRect(self.cell_rect(row, column).adjusted(0.5, 0.5, -0.5, -0.5))
