"""Outlines over the cells: the hovered cell, its sources, its row and its column."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from attnviz.core.ranges import runs
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import Cell
from attnviz.gui.widgets.heat.layout import Geometry

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


def fade(painter: QPainter, geometry: Geometry, kept: Iterable[Block], color: str) -> None:
    """Fade all cells to a colour but some blocks of them."""
    whole = QPainterPath()
    whole.addRect(geometry.block_rect(0, 0, geometry.n_down, geometry.n_across))
    bright = QPainterPath()
    for block in kept:
        bright.addRect(geometry.block_rect(*block))
    wash = QColor(color)
    wash.setAlphaF(FADED)
    painter.fillPath(whole.subtracted(bright), wash)


def cover(painter: QPainter, geometry: Geometry, cell: Cell, theme: Theme) -> None:
    """Hide a cell behind a question mark."""
    rect = geometry.block_rect(*cell, 1, 1)
    painter.fillRect(rect, QColor(theme.panel))
    painter.setPen(QPen(QColor(theme.accent), 2.0))
    painter.drawRect(rect.adjusted(1, 1, -1, -1))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, "?")


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
