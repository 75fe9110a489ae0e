"""Layout and painting of a table of numbers: pure geometry, and one pass over the visible cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPen

from attnviz.gui.look.colors import Indices, indexed_image, inks, to_indices
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import TEXT_PX, Theme
from attnviz.gui.widgets.numbers.text import fitting_number

Cell = tuple[int, int]

CELL_HEIGHT = 22
NARROWEST_CELL = 42
WIDEST_CELL = 64
LABEL_LIMIT = 76
_CHARACTERS = 5
_TEXT_PX = TEXT_PX - 1


@dataclass(frozen=True)
class GridGeometry:
    """Rectangles of the cells of a (rows, columns) table on a viewport, in pixels."""

    rows: int
    columns: int
    label_width: int
    header_height: int
    cell_width: int
    offset_x: int = 0
    offset_y: int = 0

    def cell_rect(self, row: int, column: int) -> QRect:
        left = self.label_width + column * self.cell_width - self.offset_x
        top = self.header_height + row * CELL_HEIGHT - self.offset_y
        return QRect(left, top, self.cell_width, CELL_HEIGHT)

    def cell_at(self, position: QPointF) -> Cell | None:
        """The cell under a viewport position; None over labels and beyond the table."""
        if position.x() < self.label_width or position.y() < self.header_height:
            return None
        column = int(position.x() - self.label_width + self.offset_x) // self.cell_width
        row = int(position.y() - self.header_height + self.offset_y) // CELL_HEIGHT
        return (row, column) if row < self.rows and column < self.columns else None

    def visible(self, exposed: QRect) -> tuple[range, range]:
        """The rows and columns that are visible in the `exposed` part of the viewport."""
        above = max(exposed.top() - self.header_height, 0) + self.offset_y
        before = max(exposed.left() - self.label_width, 0) + self.offset_x
        below = max(exposed.bottom() - self.header_height, 0) + self.offset_y
        after = max(exposed.right() - self.label_width, 0) + self.offset_x
        rows = range(above // CELL_HEIGHT, min(below // CELL_HEIGHT + 1, self.rows))
        return rows, range(before // self.cell_width, min(after // self.cell_width + 1, self.columns))


@dataclass
class GridScene:
    """Painted content: numbers, labels, colours and marks.

    `values` are never written to: numbers that the user entered since they were given stand in `entered`.
    """

    values: NDArray[np.floating]
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    limit: float
    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    cells: frozenset[Cell] = frozenset()
    selection: tuple[range, range] | None = None
    current: Cell | None = None
    hovered: Cell | None = None
    has_focus: bool = False
    decimals: int = 2
    texts: dict[float, str] = field(default_factory=dict)
    entered: dict[Cell, float] = field(default_factory=dict)

    def at(self, cell: Cell) -> float:
        """The number of a cell."""
        return self.entered.get(cell, float(self.values[cell]))

    def block(self, rows: range, columns: range) -> NDArray[np.float64]:
        """The numbers of some rows and columns, a copy."""
        numbers = self.values[rows.start : rows.stop, columns.start : columns.stop].astype(np.float64)
        for (row, column), value in self.entered.items():
            if row in rows and column in columns:
                numbers[row - rows.start, column - columns.start] = value
        return numbers

    def largest(self) -> float:
        """The largest finite magnitude; 0 without one."""
        n_rows, n_columns = self.values.shape
        greatest, start = 0.0, 0
        for row in sorted({row for row, _column in self.entered}):
            part = self.block(range(row, row + 1), range(n_columns))
            greatest, start = max(greatest, _largest(self.values[start:row]), _largest(part)), row + 1
        return max(greatest, _largest(self.values[start:n_rows]))

    def text_of(self, value: float) -> str:
        text = self.texts.get(value)
        if text is None:
            if len(self.texts) > 20_000:
                self.texts.clear()
            text = self.texts[value] = fitting_number(value, _CHARACTERS, self.decimals)
        return text


def _largest(values: NDArray[np.floating]) -> float:
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if not np.isfinite(largest):  # rare, and with masks over all numbers ten times as slow
        return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
    return largest


def color_indices(values: NDArray[np.float64], limit: float) -> Indices:
    """Bytes on the diverging map for values within ±`limit`; non-finite values are at its centre."""
    finite = np.where(np.isfinite(values), values, 0.0)
    scaled = np.clip(finite / limit, -1.0, 1.0) if limit > 0 else np.zeros_like(finite)
    return to_indices((scaled + 1.0) * 0.5)


def paint_grid(
    painter: QPainter, geometry: GridGeometry, scene: GridScene, theme: Theme, exposed: QRect, size: QRect
) -> None:
    """Paint the `exposed` part of the table on a viewport of `size`."""
    rows, columns = geometry.visible(exposed)
    if rows and columns:
        painter.save()
        painter.setClipRect(size.adjusted(geometry.label_width, geometry.header_height, 0, 0))
        _paint_cells(painter, geometry, scene, theme, rows, columns)
        _paint_marks(painter, geometry, scene, theme)
        painter.restore()
    _paint_row_labels(painter, geometry, scene, theme, rows, size)
    _paint_column_labels(painter, geometry, scene, theme, columns, size)


def _paint_cells(
    painter: QPainter, geometry: GridGeometry, scene: GridScene, theme: Theme, rows: range, columns: range
) -> None:
    block = scene.block(rows, columns)
    indices = color_indices(block, scene.limit)
    first = geometry.cell_rect(rows.start, columns.start)
    last = geometry.cell_rect(rows.stop - 1, columns.stop - 1)
    painter.drawImage(first.united(last), indexed_image(indices, "diverging", theme))
    painter.setPen(QPen(QColor(theme.panel), 1))
    for column in range(columns.start, columns.stop + 1):
        x = geometry.cell_rect(0, column).left()
        painter.drawLine(x, first.top(), x, last.bottom())
    for row in range(rows.start, rows.stop + 1):
        y = geometry.cell_rect(row, 0).top()
        painter.drawLine(first.left(), y, last.right(), y)
    painter.setFont(number_font(_TEXT_PX))
    ink_of = inks("diverging", theme)
    ink = ""
    for row, values in enumerate(block.tolist()):
        for column, value in enumerate(values):
            wanted = ink_of[indices[row, column]]
            if wanted != ink:
                ink = wanted
                painter.setPen(QColor(ink))
            if math.isfinite(value):
                rect = geometry.cell_rect(rows.start + row, columns.start + column)
                painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, scene.text_of(value))
    for row, column in np.argwhere(~np.isfinite(block)).tolist():
        rect = geometry.cell_rect(rows.start + row, columns.start + column).adjusted(1, 1, 0, 0)
        _paint_not_finite(painter, rect, fitting_number(float(block[row, column]), _CHARACTERS), theme)


def _paint_not_finite(painter: QPainter, rect: QRect, text: str, theme: Theme) -> None:
    painter.fillRect(rect, QColor(theme.panel))
    painter.fillRect(rect, QBrush(QColor(theme.line), Qt.BrushStyle.BDiagPattern))
    painter.setPen(QColor(theme.error))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)


def _paint_marks(painter: QPainter, geometry: GridGeometry, scene: GridScene, theme: Theme) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    whole_row, whole_column = geometry.columns - 1, geometry.rows - 1
    for row in scene.rows:
        rect = geometry.cell_rect(row, 0).united(geometry.cell_rect(row, whole_row))
        _outline(painter, rect, QPen(QColor(theme.accent), 1, Qt.PenStyle.DashLine))
    for column in scene.columns:
        rect = geometry.cell_rect(0, column).united(geometry.cell_rect(whole_column, column))
        _outline(painter, rect, QPen(QColor(theme.accent), 1, Qt.PenStyle.DashLine))
    for row, column in scene.cells:
        _outline(painter, geometry.cell_rect(row, column), QPen(QColor(theme.ink), 2))
    if scene.hovered is not None:
        _outline(painter, geometry.cell_rect(*scene.hovered), QPen(QColor(theme.ink), 1))
    if scene.selection is not None and scene.has_focus:
        rows, columns = scene.selection
        first = geometry.cell_rect(rows.start, columns.start)
        rect = first.united(geometry.cell_rect(rows.stop - 1, columns.stop - 1))
        _outline(painter, rect, QPen(QColor(theme.accent), 2))


def _outline(painter: QPainter, rect: QRect, pen: QPen) -> None:
    inset = pen.widthF() / 2
    painter.setPen(pen)
    painter.drawRect(QRectF(rect).adjusted(inset, inset, 1 - inset, 1 - inset))


def _paint_row_labels(
    painter: QPainter, geometry: GridGeometry, scene: GridScene, theme: Theme, rows: range, size: QRect
) -> None:
    painter.save()
    painter.setClipRect(QRect(0, geometry.header_height, geometry.label_width, size.height()))
    metrics = QFontMetrics(painter.font())
    for row in rows[: len(scene.row_labels)]:
        rect = geometry.cell_rect(row, 0)
        rect = QRect(0, rect.top(), geometry.label_width - 8, rect.height())
        text = metrics.elidedText(scene.row_labels[row], Qt.TextElideMode.ElideRight, rect.width())
        lit = row in scene.rows or (scene.hovered is not None and scene.hovered[0] == row)
        painter.setPen(QColor(theme.ink if lit else theme.muted))
        painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
    painter.restore()


def _paint_column_labels(
    painter: QPainter, geometry: GridGeometry, scene: GridScene, theme: Theme, columns: range, size: QRect
) -> None:
    painter.save()
    painter.setClipRect(QRect(geometry.label_width, 0, size.width(), geometry.header_height))
    metrics = QFontMetrics(painter.font())
    for column in columns[: len(scene.column_labels)]:
        rect = geometry.cell_rect(0, column)
        rect = QRect(rect.left() + 2, 0, rect.width() - 4, geometry.header_height)
        text = metrics.elidedText(scene.column_labels[column], Qt.TextElideMode.ElideRight, rect.width())
        lit = column in scene.columns or (scene.hovered is not None and scene.hovered[1] == column)
        painter.setPen(QColor(theme.ink if lit else theme.muted))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()


def label_width(labels: Sequence[str], width_of: Callable[[str], int]) -> int:
    """The width of the label column: the widest label and a gap, limited; 0 without labels."""
    return min(max(map(width_of, labels)) + 10, LABEL_LIMIT) if labels else 0
