"""Picture of the sharing of key/value heads by query heads: dots wired to squares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.i18n import N_, _
from attnviz.model.spec.parts import Heads

MOST_HEADS = 256
"""Heads drawn at most; past that the dots would be smaller than a pixel's worth of aim."""

_WIDEST_STEP, _NARROWEST_STEP = 56.0, 6.0
_TOP, _DROP = 8.0, 27.0
_MARGIN = 4.0
_LINE = 50.0


@dataclass(frozen=True)
class Wiring:
    """Layout: centres of the query dots and key/value squares, and their total size."""

    dots: tuple[QPointF, ...]
    squares: tuple[QPointF, ...]
    radius: float
    height: float


def lay_out(heads: Heads, width: float) -> Wiring:
    """Groups side by side, as wide as the room allows, in as few lines as the narrowest step needs."""
    size = min(heads.group_size, MOST_HEADS)
    groups = max(1, min(heads.n_kv_heads, MOST_HEADS // size))
    room = width - 2 * _MARGIN
    lines = min(groups, math.ceil(groups * size * _NARROWEST_STEP / room))
    per_line = math.ceil(groups / lines)
    pitch = room / per_line
    step = min(_WIDEST_STEP, pitch / size)
    # A little tighter within a group than between groups.
    inner = step * 0.8 if size > 1 else step
    dots, squares = [], []
    for group in range(groups):
        line, place = divmod(group, per_line)
        middle, top = _MARGIN + (place + 0.5) * pitch, _TOP + line * _LINE
        dots += [QPointF(middle + (member - (size - 1) / 2) * inner, top) for member in range(size)]
        squares.append(QPointF(middle, top + _DROP))
    radius = max(1.5, min(6.0, step * 0.36))
    return Wiring(tuple(dots), tuple(squares), radius, 2 * _TOP + _DROP + (lines - 1) * _LINE)


class HeadWires(Control):
    """The wiring. `previewed` carries the head under the mouse (-1: none), `chosen` the one clicked.

    `toggled` is the head to be switched off or on: double-clicked, or chosen while Delete is pressed.
    """

    previewed = Signal(int)
    chosen = Signal(int)
    toggled = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heads = Heads()
        self._wiring = lay_out(self._heads, 200.0)
        self._shown, self._under_mouse = 0, -1
        says(self, id="head_wires", name=N_("Head sharing: choose a query head"))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_heads(self, heads: Heads, shown: int) -> None:
        """Draw this layout with query head `shown` as the chosen one."""
        if heads != self._heads:
            self._heads = heads
            self._arrange()
        if min(shown, heads.n_heads - 1) != self._shown:
            self._shown = min(shown, heads.n_heads - 1)
            self.update()

    def dot(self, head: int) -> QPointF:
        """The centre of one query head's dot."""
        return self._wiring.dots[head]

    def square(self, kv_head: int) -> QPointF:
        """The centre of one key/value head's square."""
        return self._wiring.squares[kv_head]

    def sizeHint(self) -> QSize:
        return QSize(200, round(self._wiring.height))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        self._wiring = lay_out(self._heads, float(max(self.width(), 40)))
        self.setFixedHeight(round(self._wiring.height))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, wiring, size = self._theme, self._wiring, self._heads.group_size
        lit = self._under_mouse if self._under_mouse >= 0 else self._shown
        thin = min(1.0, wiring.radius / 4)
        for head, dot in enumerate(wiring.dots):
            is_lit = head == lit
            painter.setPen(QPen(QColor(theme.query if is_lit else theme.muted), 2.0 if is_lit else thin))
            painter.drawLine(dot, wiring.squares[head // size])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.key_mark))
        side = 2 * wiring.radius
        for square in wiring.squares:
            painter.drawRect(QRectF(square.x() - side / 2, square.y() - side / 2, side, side))
        for head, dot in enumerate(wiring.dots):
            is_off = head in self._heads.off
            painter.setPen(QPen(QColor(theme.muted), 1.0) if is_off else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.panel if is_off else theme.query))
            painter.drawEllipse(dot, wiring.radius, wiring.radius)
        if lit < len(wiring.dots):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.ink), 1.5))
            painter.drawEllipse(wiring.dots[lit], wiring.radius + 1.5, wiring.radius + 1.5)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme)

    def head_at(self, point: QPointF) -> int:
        """The query head whose dot is under `point`, or -1."""
        reach = max(self._wiring.radius + 3, GRID / 2)
        distances = [
            (head, (dot - point).manhattanLength())
            for head, dot in enumerate(self._wiring.dots)
            if abs(dot.x() - point.x()) <= reach and abs(dot.y() - point.y()) <= reach
        ]
        return min(distances, key=lambda measured: measured[1])[0] if distances else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._preview(self.head_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._preview(-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        head = self.head_at(event.position())
        if head >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(head)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        head = self.head_at(event.position())
        if head >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.toggled.emit(head)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.toggled.emit(self._shown)
            return
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.chosen.emit((self._shown + step) % self._heads.n_heads)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            head = self.head_at(QPointF(event.pos()))
            text = _("head {head} reads KV {kv}").format(head=head + 1, kv=head // self._heads.group_size + 1)
            QToolTip.showText(event.globalPos(), plain_tooltip(text) if head >= 0 else "", self)
            return True
        return super().event(event)

    def _preview(self, head: int) -> None:
        if head != self._under_mouse:
            self._under_mouse = head
            self.setCursor(Qt.CursorShape.PointingHandCursor if head >= 0 else Qt.CursorShape.ArrowCursor)
            self.previewed.emit(head)
            self.update()
