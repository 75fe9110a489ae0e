"""The whole of a zoomed heat map as a small picture, with a frame around the visible part."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from attnviz.core.color_maps import Kind
from attnviz.gui.look.colors import Indices, indexed_image, pool
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.heat.layout import Geometry

_SHARE, _LEAST, _MOST = 0.24, 56.0, 128.0
_FRAME = 3.0
_FLATTEST = 0.25


class Minimap(QWidget):
    """A press or a drag moves the visible part; its owner shows it while a map is zoomed."""

    moved = Signal(QPointF)
    """The middle of the visible part, as fractions 0..1 of the whole (x across, y down)."""
    entered = Signal()
    """The pointer came onto the picture, and so left the map below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("minimap")
        self.setProperty(MOUSE_ONLY, True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.hide()
        self._theme: Theme = LIGHT
        self._indices: Indices | None = None
        self._kind: Kind = "sequential"
        self._seen = QRectF(0, 0, 1, 1)

    def show_part(self, indices: Indices, kind: Kind, geometry: Geometry, theme: Theme) -> None:
        """Stand in the upper right corner of the map if it shows a part only, else be hidden."""
        whole = geometry.block_rect(0, 0, geometry.n_down, geometry.n_across)
        plot = geometry.plot
        is_part = whole.width() > plot.width() + 1 or whole.height() > plot.height() + 1
        self.setVisible(is_part)
        if not is_part:
            return
        self._indices, self._kind, self._theme = indices, kind, theme
        self._seen = QRectF(
            geometry.offset.x() / whole.width(),
            geometry.offset.y() / whole.height(),
            plot.width() / whole.width(),
            plot.height() / whole.height(),
        )
        size = _size(QSizeF(whole.size()), min(plot.width(), plot.height()))
        across, down = math.ceil(size.width() + 2 * _FRAME), math.ceil(size.height() + 2 * _FRAME)
        self.setGeometry(math.floor(plot.right()) - across - 6, math.ceil(plot.top()) + 6, across, down)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the pooled cells, and the frame of the visible part."""
        if self._indices is None or not self._indices.size:
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.panel))
        painter.setPen(QColor(self._theme.muted))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        area = self._area()
        painter.fillRect(area, QColor(self._theme.ground))
        rows, columns = self._indices.shape
        block = (math.ceil(rows / area.height()), math.ceil(columns / area.width()))
        small = pool(self._indices, block, self._kind)
        painter.drawImage(area, indexed_image(small, self._kind, self._theme))
        seen = QRectF(
            area.left() + self._seen.left() * area.width(),
            area.top() + self._seen.top() * area.height(),
            max(4.0, self._seen.width() * area.width()),
            max(4.0, self._seen.height() * area.height()),
        )
        for color, width in ((self._theme.panel, 3.5), (self._theme.accent, 1.5)):
            painter.setPen(QPen(QColor(color), width))
            painter.drawRect(seen)
        painter.end()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.entered.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Move the visible part under the pointer."""
        self._move_to(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the visible part."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._move_to(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Keep the event from the map below, for which it would be a click."""

    def _move_to(self, at: QPointF) -> None:
        area = self._area()
        self.moved.emit(QPointF((at.x() - area.left()) / area.width(), (at.y() - area.top()) / area.height()))

    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_FRAME, _FRAME, -_FRAME, -_FRAME)


def _size(whole: QSizeF, side: float) -> QSizeF:
    """Size of the picture: a share of the map's `side`, of the matrix's form but for extreme ones."""
    longest = min(_MOST, max(_LEAST, _SHARE * side))
    aspect = min(max(whole.width() / whole.height(), _FLATTEST), 1 / _FLATTEST)
    return QSizeF(longest * min(1.0, aspect), longest * min(1.0, 1 / aspect))
