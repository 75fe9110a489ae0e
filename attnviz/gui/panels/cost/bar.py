"""One bar: weights, cache and what is free of the chosen memory; a click opens the arithmetic of a part."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.cost.memory_fit import Fit, in_bytes
from attnviz.core.phrases import enumerated, named
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.widgets.control import Control
from attnviz.i18n import N_, _

BAR, LEGEND = 16, 18
_SQUARE = 8.0
PARTS = (("parameters", N_("weights")), ("cache", N_("KV cache")), ("fits", N_("free")))
"""(quantity that has the arithmetic of a part, its name), from left to right."""
PAST = N_("past the memory")


class MemoryBar(Control):
    """The memory, or what is needed if that is more, from end to end; `chosen` carries a quantity."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("cost_bar")
        self.setFont(ui_font(TEXT_PX - 1))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._fit = Fit(0, 0, 1, None, None)

    def set_fit(self, fit: Fit) -> None:
        """Show other numbers, or the same ones in another language."""
        self._fit = fit
        self.setAccessibleName(enumerated(named(name, count) for name, count, _color in self._legend()))
        self._grow()
        self.update()

    def set_px(self, px: int) -> None:
        """The size of the letters of the legend."""
        self.setFont(ui_font(px))
        self._grow()

    def sizeHint(self) -> QSize:
        return QSize(320, BAR + self._line)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, BAR + self._line)

    @property
    def _line(self) -> int:
        """Height of a line of the legend."""
        return LEGEND + self.font().pixelSize() - (TEXT_PX - 1)

    def parts(self) -> tuple[QRectF, QRectF, QRectF]:
        """The places of weights, cache and what is free; the last is empty past the memory."""
        fit = self._fit
        scale = self.width() / max(fit.memory, fit.used)
        edges = (0.0, fit.weights * scale, fit.used * scale, max(fit.memory, fit.used) * scale)
        first, second, third = (
            QRectF(left, 0, right - left, BAR) for left, right in zip(edges, edges[1:], strict=False)
        )
        return first, second, third

    def past(self) -> QRectF:
        """The place of what the memory does not hold; empty if it holds all."""
        end = self.width() * min(1.0, self._fit.memory / self._fit.used) if self._fit.used else self.width()
        return QRectF(end, 0, self.width() - end, BAR)

    def _colors(self, theme: Theme) -> tuple[str, str, str]:
        return theme.query, theme.value, theme.line

    def _legend(self) -> list[tuple[str, str, str]]:
        """(name, bytes, colour) of each part."""
        fit, theme = self._fit, self._theme
        counts = (fit.weights, fit.cache, fit.free)
        rows = [
            (_(name), in_bytes(count), color)
            for (_id, name), count, color in zip(PARTS, counts, self._colors(theme), strict=True)
        ]
        return rows if fit.free >= 0 else [*rows[:2], (_(PAST), in_bytes(-fit.free), theme.error)]

    def _texts(self, width: float) -> list[tuple[tuple[str, str, str], str, QRectF]]:
        """Each part of the legend with its text and the place of the text, in as many lines as it needs."""
        metrics, x, y, found = QFontMetricsF(self.font()), 0.0, BAR + 2.0, []
        for row in self._legend():
            text = f"{row[0]} {row[1]}"
            taken = _SQUARE + 4 + metrics.horizontalAdvance(text) + 1
            if x and x + taken > width:
                x, y = 0.0, y + self._line
            found.append((row, text, QRectF(x + _SQUARE + 4, y, taken - _SQUARE - 4, self._line)))
            x += taken + 2 * GRID
        return found

    def _grow(self) -> None:
        """Take the height of all lines of the legend."""
        self.setFixedHeight(round(self._texts(self.width())[-1][2].bottom()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._grow()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        for place, color in zip(self.parts(), self._colors(theme), strict=True):
            painter.fillRect(place, QColor(color))
        past = self.past()
        if past.width() > 0:
            painter.fillRect(past, QColor(theme.error))
            painter.setPen(QPen(QColor(theme.ink), 2))
            painter.drawLine(QPointF(past.left(), 0), QPointF(past.left(), BAR))
        for (_name, _count, color), text, room in self._texts(self.width()):
            square = QRectF(
                room.left() - _SQUARE - 4, room.top() + (room.height() - _SQUARE) / 2 - 1, _SQUARE, _SQUARE
            )
            painter.fillRect(square, QColor(color))
            painter.setPen(QColor(theme.error if color == theme.error else theme.ink))
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and event.position().y() < BAR:
            at = QPointF(event.position().x(), BAR / 2)
            found = (
                id_ for (id_, _name), place in zip(PARTS, self.parts(), strict=True) if place.contains(at)
            )
            self.chosen.emit(next(found, PARTS[-1][0]))
