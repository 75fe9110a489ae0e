"""Hatching: cells without a value are drawn as lines, never as a colour."""

from __future__ import annotations

import math

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEngine, QPainter, QPen, QPixmap, QPixmapCache

from attnviz.gui.look.theme import Theme

SPACING = 6.0
_VECTOR_ENGINES = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf, QPaintEngine.Type.Picture)


def is_vector(painter: QPainter) -> bool:
    """True if `painter` writes shapes (SVG, PDF) rather than pixels."""
    return painter.paintEngine().type() in _VECTOR_ENGINES


def device_scale(painter: QPainter) -> float:
    """Pixels per point: of the screen, or of the picture that a widget is rendered into."""
    return painter.deviceTransform().m11()


def hatch_lines(rect: QRectF, spacing: float) -> list[QLineF]:
    """Rising diagonals inside `rect`, `spacing` apart along its edges; their ends lie on the edges."""
    x, y, width, height = rect.x(), rect.y(), rect.width(), rect.height()
    lines = []
    at = spacing
    while at < width + height:
        # The diagonal meets the left or bottom edge first, and leaves through the top or right one.
        start_x, start_y = (0.0, at) if at <= height else (at - height, height)
        end_x, end_y = (at, 0.0) if at <= width else (width, at - width)
        lines.append(QLineF(x + start_x, y + start_y, x + end_x, y + end_y))
        at += spacing
    return lines


def draw_blocked(painter: QPainter, rect: QRectF, theme: Theme, spacing: float = SPACING) -> None:
    """Draw the ground and the diagonals of masked cells, over all of `rect`; coloured cells are
    drawn on top.
    """
    if is_vector(painter):
        painter.fillRect(rect, QColor(theme.ground))
        _draw_lines(painter, hatch_lines(rect, spacing), theme.hatch, 1.0)
        return
    # The same for every frame of a drag: hundreds of smooth lines are drawn once per size.
    ratio = device_scale(painter)
    size = QSize(round(rect.width() * ratio), round(rect.height() * ratio))
    if size.isEmpty():  # a picture without pixels cannot be painted into
        return
    key = f"hatch {size.width()} {size.height()} {ratio} {spacing} {theme.name}"
    picture = QPixmap()
    if not QPixmapCache.find(key, picture):
        picture = QPixmap(size)
        picture.setDevicePixelRatio(ratio)
        picture.fill(QColor(theme.ground))
        into = QPainter(picture)
        _draw_lines(into, hatch_lines(QRectF(QPointF(), rect.size()), spacing), theme.hatch, 1.0)
        into.end()
        QPixmapCache.insert(key, picture)
    painter.drawPixmap(rect.topLeft(), picture)


def draw_lacking(painter: QPainter, rect: QRectF, theme: Theme, color: str) -> None:
    """Cross out a cell without a number (NaN) or without a finite one, in `color`."""
    painter.fillRect(rect, QColor(theme.panel))
    rising = hatch_lines(rect, SPACING)
    falling = [
        QLineF(line.x1(), 2 * rect.center().y() - line.y1(), line.x2(), 2 * rect.center().y() - line.y2())
        for line in rising
    ]
    _draw_lines(painter, rising + falling, color, 0.8)


def draw_infinite(painter: QPainter, rect: QRectF, theme: Theme, color: str) -> None:
    """Rule a cell with an infinite number, in `color`."""
    painter.fillRect(rect, QColor(theme.panel))
    count = max(2, int(rect.height() / SPACING))
    # On the middle of a pixel, where a line of one pixel is not smeared over two.
    ys = [math.floor(rect.top() + (i + 0.5) * rect.height() / count) + 0.5 for i in range(count)]
    _draw_lines(painter, [QLineF(rect.left(), y, rect.right(), y) for y in ys], color, 1.0)


def _draw_lines(painter: QPainter, lines: list[QLineF], color: str, width: float) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
    painter.drawLines(lines)
    painter.restore()
