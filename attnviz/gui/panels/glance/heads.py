"""The heads of the present layer as chips, between arrows to the layers before and after."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from attnviz.core.shades import head_color
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import RADIUS, TEXT_PX
from attnviz.gui.widgets.along import ACROSS, Along
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _

HEIGHT = 26
_ARROW, _GAP, _SIDE, _SPOT = 20.0, 6.0, 10.0, 9.0
MOST_NAMED = 8
"""Heads up to which a chip says what its number counts."""
MOST = 16
"""Chips at once: of more heads, those around the chosen one."""


class HeadChips(Along):
    """`chosen` carries a head; `layer_stepped` −1 or 1."""

    keys = ACROSS
    chosen = Signal(int)
    layer_stepped = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("glance_heads")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._layer, self._n_heads, self._head = "", 0, 0
        self._has_layers = False
        self.clicked.connect(self._on_clicked)

    @property
    def heads(self) -> range:
        """The heads that have chips."""
        first = min(max(0, self._head - MOST // 2), max(0, self._n_heads - MOST))
        return range(first, min(self._n_heads, first + MOST))

    def set_heads(self, layer: str, n_heads: int, head: int, *, has_layers: bool) -> None:
        """Show the heads of a layer; arrows lead to others if it `has_layers` beside it."""
        if (layer, n_heads, head, has_layers) != (self._layer, self._n_heads, self._head, self._has_layers):
            self._layer, self._n_heads, self._head = layer, n_heads, head
            self._has_layers = has_layers
            self.setAccessibleName(layer)
            self.setAccessibleDescription(self._text(head))
            self.updateGeometry()
            self.update()

    def retranslate(self) -> None:
        self.updateGeometry()

    def _text(self, head: int) -> str:
        if self._n_heads > MOST_NAMED:
            return str(head + 1)
        return _("head {number}").format(number=head + 1)

    @property
    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(ui_font(TEXT_PX, QFont.Weight.DemiBold))

    def layer_rect(self) -> QRectF:
        """The name of the layer."""
        width = QFontMetricsF(ui_font(TEXT_PX)).horizontalAdvance(self._layer)
        return QRectF(_ARROW * self._has_layers, 0, width, HEIGHT)

    def arrow_rects(self) -> tuple[QRectF, QRectF]:
        """The arrows around the name; empty without other layers."""
        if not self._has_layers:
            return QRectF(), QRectF()
        return QRectF(0, 0, _ARROW, HEIGHT), QRectF(self.layer_rect().right(), 0, _ARROW, HEIGHT)

    def chip_rects(self) -> list[QRectF]:
        """The chips from left to right."""
        x, rects = self.layer_rect().right() + _ARROW * self._has_layers + _GAP, []
        for head in self.heads:
            width = self._metrics.horizontalAdvance(self._text(head)) + 2 * _SIDE + _SPOT + 6
            rects.append(QRectF(x, 0, width, HEIGHT))
            x += width + _GAP
        return rects

    def sizeHint(self) -> QSize:
        rects = self.chip_rects()
        right = rects[-1].right() if rects else self.layer_rect().right()
        return QSize(int(right) + 1, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(theme.muted))
        painter.drawText(self.layer_rect(), Qt.AlignmentFlag.AlignCenter, self._layer)
        painter.setPen(QColor(theme.accent))
        for rect, sign in zip(self.arrow_rects(), "‹›", strict=True):
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, sign)
        for part, (head, rect) in enumerate(zip(self.heads, self.chip_rects(), strict=True)):
            self._paint_chip(painter, part, head, rect)

    def _paint_chip(self, painter: QPainter, part: int, head: int, rect: QRectF) -> None:
        theme, hue, is_chosen = self._theme, QColor(head_color(head)), head == self._head
        tint = QColor(hue)
        tint.setAlphaF(0.16)
        painter.setPen(QPen(hue if is_chosen else QColor(theme.line), 1.6 if is_chosen else 1))
        ground = QColor(theme.hover) if part == self._current else QColor(theme.panel)
        painter.setBrush(tint if is_chosen else ground)
        painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(hue)
        painter.drawEllipse(QPointF(rect.left() + _SIDE + _SPOT / 2, rect.center().y()), _SPOT / 2, _SPOT / 2)
        weight = QFont.Weight.DemiBold if is_chosen else QFont.Weight.Normal
        painter.setFont(ui_font(TEXT_PX, weight))
        painter.setPen(QColor(theme.ink if is_chosen else theme.muted))
        room = rect.adjusted(_SIDE + _SPOT + 6, 0, 0, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self._text(head))
        if self.hasFocus() and (part == self._current or (self._current < 0 and is_chosen)):
            draw_focus_ring(painter, rect, theme, RADIUS)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for rect, step in zip(self.arrow_rects(), (-1, 1), strict=True):
            if rect.contains(event.position()):
                self.layer_stepped.emit(step)
                return
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        is_hand = self._current >= 0 or any(rect.contains(event.position()) for rect in self.arrow_rects())
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_hand else Qt.CursorShape.ArrowCursor)

    def count(self) -> int:
        return len(self.heads)

    def part_at(self, position: QPointF) -> int:
        found = (part for part, rect in enumerate(self.chip_rects()) if rect.contains(position))
        return next(found, -1)

    def told(self, part: int) -> str:
        return self._text(self.heads[part]) if part < len(self.heads) else ""

    def _on_clicked(self, part: int) -> None:
        self.chosen.emit(self.heads[part])
