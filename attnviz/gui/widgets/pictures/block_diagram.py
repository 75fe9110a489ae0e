"""A block as a diagram: a box for each stage with its picture, its name and its shape, and the wires."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from attnviz.core.text import visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.pictures import block_layout
from attnviz.gui.widgets.pictures.block_layout import LANE_GAP, NODE, SUMS, TOP, Wire

LOWEST, HIGHEST = 24, 52
"""Least and greatest height of a box; the available height decides between them."""

NAMED = 46
"""Least width beside a picture for a name that ends in dots; the tooltip has all of it."""

LITTLE = 1 / 3
"""Share of the diagram: a room that shows less turns it if it shows more downwards."""

PADDING, STRIP = 3, 3
_TITLE_PX, _SHAPE_PX = 10, 9
_ARROW = 3.5
GROUPS = (
    ("q", "attention_output"),
    ("ffn_up", "ffn_output"),
)
"""First and last stage of each group with its own ground: the attention, the feed-forward layer."""


class StageBox(Thumbnail):
    """The picture at the left, name and shape beside it; a strip in the hue of queries, keys or values."""

    def __init__(self, stage: str, hue: str, parent: QWidget) -> None:
        super().__init__(LOWEST - 2 * PADDING, parent)
        self._hue, self._shape_text = hue, ""
        self._most_beside = math.inf
        self.setObjectName(f"block_{stage}")
        self.setProperty("stage", stage)

    def set_shape(self, text: str) -> None:
        """The dimensions, such as `4 × 8`."""
        if text != self._shape_text:
            self._shape_text = text
            self.update()

    def set_most_beside(self, width: float) -> None:
        """Limit the pixels beside the picture; a longer name ends in dots."""
        self._most_beside = width

    def set_height(self, height: int) -> None:
        """Another height; the picture grows with it, after the next `set_values` with more cells."""
        self.set_side(height - 2 * PADDING)

    def sizeHint(self) -> QSize:
        """Picture, and beside it the wider of name and shape."""
        return QSize(self._side + self.width_beside(), self._side + 2 * PADDING)

    def width_beside(self) -> int:
        """Pixels beside the picture."""
        title = QFontMetricsF(self._title_font(bold=True)).horizontalAdvance(self._caption)
        shape = QFontMetricsF(number_font(_SHAPE_PX)).horizontalAdvance(self._shape_text)
        return int(min(STRIP + 4 * PADDING + math.ceil(max(title, shape)), self._most_beside))

    def picture_rect(self) -> QRectF:
        """The square at the left."""
        inner = super().picture_rect()
        left = STRIP + PADDING + (self._side - inner.width()) / 2
        top = PADDING + (self._side - inner.height()) / 2
        return QRectF(left, top, inner.width(), inner.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box below, then what a picture paints."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        if self._hue:
            painter.setBrush(QColor(getattr(self._theme, self._hue)))
            painter.drawRoundedRect(QRectF(0, 3, STRIP, self.height() - 6), 1.5, 1.5)
        painter.end()
        super().paintEvent(event)

    def ring_rect(self) -> QRectF:
        """Inside the frame of a chosen box."""
        inset = 3 if self.isChecked() else 0
        return QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)

    def _paint_frame(self, painter: QPainter, picture: QRectF) -> None:
        theme = self._theme
        is_marked = self.isChecked() or self._is_pointed
        pen = QPen(QColor(theme.accent if is_marked else theme.line), 2.0 if self.isChecked() else 1.0)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        inset = pen.widthF() / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 4, 4)
        painter.restore()

    def caption_rect(self) -> QRectF:
        """Beside the picture, in the height of the box."""
        return QRectF(self.rect())

    def _paint_caption(self, painter: QPainter) -> None:
        title, shape = self._title_font(self.isChecked()), number_font(_SHAPE_PX)
        above, below = QFontMetricsF(title), QFontMetricsF(shape)
        x = STRIP + self._side + 2.5 * PADDING
        top = (self.height() - above.height() - below.height()) / 2
        is_marked = self.isChecked() or self._is_pointed
        painter.setFont(title)
        painter.setPen(QColor(self._theme.accent if is_marked else self._theme.ink))
        room, dots = self.width() - x - PADDING, Qt.TextElideMode.ElideRight
        painter.drawText(QPointF(x, top + above.ascent()), above.elidedText(self._caption, dots, room))
        painter.setFont(shape)
        painter.setPen(QColor(self._theme.muted))
        shape_text = below.elidedText(self._shape_text, dots, room)
        painter.drawText(QPointF(x, top + above.height() + below.ascent()), shape_text)

    @staticmethod
    def _title_font(bold: bool) -> QFont:
        return ui_font(_TITLE_PX, QFont.Weight.DemiBold if bold else QFont.Weight.Normal)


class BlockDiagram(QWidget):
    """The boxes of one site. Its owner fills them; it places them and paints the wires."""

    clicked = Signal(str)
    """A stage's box was clicked."""
    pointed = Signal(str)
    """The stage whose box the mouse is on; empty for none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("block_diagram")
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # data flow, as in every formula
        self._theme = LIGHT
        self._all: dict[str, StageBox] = {}
        self._stages: tuple[str, ...] = ()
        self._wires: tuple[Wire, ...] = ()
        self._lit, self._room = "", QSize(0, 0)
        self._is_turned = False
        self._arranged: object = None

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that have a box now."""
        return self._stages

    @property
    def wires(self) -> tuple[Wire, ...]:
        """The lines between the boxes."""
        return self._wires

    def box(self, stage: str) -> StageBox:
        """The box of a stage."""
        return self._all[stage]

    def set_stages(self, stages: tuple[str, ...], hues: dict[str, str]) -> None:
        """Show a box for each of these; others wait hidden."""
        for stage in stages:
            if stage not in self._all:
                self._all[stage] = self._new_box(stage, hues[stage])
        self._stages = stages
        for stage, box in self._all.items():
            box.setVisible(stage in stages)
            if stage not in stages:
                box.clearFocus()  # under another tab, Qt leaves the keyboard to a box that is hidden
        self.arrange()

    @property
    def is_turned(self) -> bool:
        """True if data flow downwards: in a tall room, or one that shows little of the flow to the right."""
        return self._is_turned

    def arrange(self) -> None:
        """Place all boxes anew, as large as the room allows; names and shapes may have changed."""
        if not self._stages:
            return
        placed = block_layout.slots(self._stages)
        lanes = block_layout.lane_count(placed)
        height = self._turned_height(placed)
        is_turned = height is not None
        height = self._box_height(lanes) if height is None else height
        widths = {}
        for stage in self._stages:
            self._all[stage].set_height(height)
            widths[stage] = float(self._all[stage].sizeHint().width())
        if (self._stages, height, widths, is_turned) == self._arranged:
            return
        self._arranged, self._is_turned = (self._stages, height, widths, is_turned), is_turned
        if is_turned:
            across = _widest(placed, widths)
            rects = block_layout.boxes(placed, dict.fromkeys(widths, float(height)), across)
        else:
            rects = block_layout.boxes(placed, widths, dict.fromkeys(range(lanes), float(height)))
        self._wires = block_layout.wires(self._stages, placed, rects)
        if is_turned:
            self._wires = tuple(map(block_layout.turned_wire, self._wires))
            rects = {stage: block_layout.turned(rect) for stage, rect in rects.items()}
        for stage, rect in rects.items():
            self._all[stage].setGeometry(rect.toRect())
        right, bottom = (max(map(edge, rects.values())) for edge in (QRectF.right, QRectF.bottom))
        least = bottom + 4 if is_turned else TOP + lanes * (LOWEST + LANE_GAP)
        self.setMinimumSize(math.ceil(right) + 4, math.ceil(least))
        self.update()

    def set_chosen(self, chosen: str) -> None:
        """Mark the box of the shown stage; it is the diagram's one Tab stop."""
        for stage in self._stages:
            self._all[stage].set_selected(stage == chosen)
        place = self._stages.index(chosen) if chosen in self._stages else -1
        rove([self._all[stage] for stage in self._stages], place)

    def set_room(self, room: QSize) -> None:
        """Set the place of the diagram; not its own size, which its boxes and a scroll bar change."""
        if room != self._room:
            self._room = room
            self.arrange()

    def set_lit(self, stage: str) -> None:
        """Mark a stage's box and the wires that end or begin there."""
        if stage != self._lit:
            self._lit = stage
            for name in self._stages:
                self._all[name].set_pointed(name == stage)
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Grounds of attention and feed-forward layer, then wires: boxes paint themselves."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_grounds(painter)
        for wire in sorted(self._wires, key=self._is_lit):  # highlighted wires lie above
            self._paint_wire(painter, wire)
        for stage in self._stages:
            if stage in SUMS:
                self._paint_sum(painter, QRectF(self._all[stage].geometry()))
        painter.end()

    def _box_height(self, lanes: int) -> int:
        room = (self._room.height() - TOP) / lanes - LANE_GAP
        return int(min(max(room, LOWEST), HIGHEST))

    def _turned_height(self, placed: dict[str, block_layout.Slot]) -> int | None:
        """Height of the boxes where data flow downwards; None where they flow to the right."""
        room = self._room
        for stage in placed:
            self._all[stage].set_most_beside(math.inf)
        beside = {stage: float(self._all[stage].width_beside()) for stage in placed}
        whole = _widest(placed, beside)
        pictures = len(whole) * (LOWEST + LANE_GAP - 2 * PADDING)
        lanes = _narrowed(whole, room.width() - TOP - pictures)
        across = (room.width() - TOP - sum(lanes.values())) / len(lanes) - LANE_GAP + 2 * PADDING
        rightwards = {stage: LOWEST - 2 * PADDING + width for stage, width in beside.items()}
        seen = room.width() / block_layout.length(placed, rightwards)
        is_little = seen < LITTLE and seen < room.height() / _turned_length(placed, LOWEST)
        if not (room.height() > room.width() or is_little) or min(filter(None, lanes.values())) < NAMED:
            return None
        for stage, slot in placed.items():
            self._all[stage].set_most_beside(lanes[slot.lane])
        fitting = range(int(min(HIGHEST, across)), LOWEST, -1)
        return next((size for size in fitting if _turned_length(placed, size) <= room.height()), LOWEST)

    def _new_box(self, stage: str, hue: str) -> StageBox:
        box = StageBox(stage, hue, self)
        box.apply_theme(self._theme)
        box.clicked.connect(self._on_clicked)
        box.walked.connect(self._on_walked)
        box.pointed.connect(self._on_pointed)
        return box

    def _is_lit(self, wire: Wire) -> bool:
        return bool(self._lit) and self._lit in (wire.source, wire.target)

    def _paint_grounds(self, painter: QPainter) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.ground))
        for first, last in GROUPS:
            if first in self._stages and last in self._stages:
                rect, (x, y) = self._group_rect(first, last), (3, 6) if self._is_turned else (6, 3)
                painter.drawRoundedRect(rect.adjusted(-x, -y, x, y), 6, 6)

    def _group_rect(self, first: str, last: str) -> QRectF:
        """Around all boxes from one stage to another, in data-flow order."""
        start, end = self._stages.index(first), self._stages.index(last)
        if first == "ffn_up":
            before = [self._stages.index(one) for one in ("router", "ffn_gate") if one in self._stages]
            start = min(start, *before, start)
        rect = QRectF()
        for stage in self._stages[start : end + 1]:
            rect = rect.united(QRectF(self._all[stage].geometry()))
        return rect

    def _paint_wire(self, painter: QPainter, wire: Wire) -> None:
        color = QColor(self._theme.accent if self._is_lit(wire) else self._theme.muted)
        if not self._is_lit(wire):
            color.setAlphaF(0.75)
        painter.setPen(QPen(color, 1.6 if self._is_lit(wire) else 1.1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        path = QPainterPath(wire.points[0])
        for point in wire.points[1:]:
            path.lineTo(point)
        painter.drawPath(path)
        before, end = wire.points[-2], wire.points[-1]
        length = math.hypot(end.x() - before.x(), end.y() - before.y()) or 1.0
        dx, dy = (end.x() - before.x()) / length, (end.y() - before.y()) / length
        base = QPointF(end.x() - 2 * _ARROW * dx, end.y() - 2 * _ARROW * dy)
        sides = (QPointF(base.x() + s * _ARROW * dy, base.y() - s * _ARROW * dx) for s in (1, -1))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([end, *sides]))

    def _paint_sum(self, painter: QPainter, box: QRectF) -> None:
        end = QPointF(box.left(), box.center().y())
        middle = block_layout.node(box)
        if self._is_turned:
            end = QPointF(box.center().x(), box.top())
            middle = block_layout.node(block_layout.turned(box)).transposed()
        painter.setPen(QPen(QColor(self._theme.ink), 1.2))
        painter.setBrush(QColor(self._theme.panel))
        painter.drawEllipse(middle, NODE, NODE)
        arm = NODE - 2
        painter.drawLine(QPointF(middle.x() - arm, middle.y()), QPointF(middle.x() + arm, middle.y()))
        painter.drawLine(QPointF(middle.x(), middle.y() - arm), QPointF(middle.x(), middle.y() + arm))
        onwards = QPointF(0, NODE) if self._is_turned else QPointF(NODE, 0)
        painter.drawLine(middle + onwards, end)

    @Slot(int)
    def _on_walked(self, step: int) -> None:
        """An arrow key: open the next stage in data-flow order."""
        place = self._stages.index(self.sender().property("stage")) + step
        if 0 <= place < len(self._stages):
            self.clicked.emit(self._stages[place])

    @Slot()
    def _on_clicked(self) -> None:
        self.clicked.emit(self.sender().property("stage"))

    @Slot(bool)
    def _on_pointed(self, is_pointed: bool) -> None:
        self.pointed.emit(self.sender().property("stage") if is_pointed else "")


def _turned_length(placed: dict[str, block_layout.Slot], size: int) -> float:
    """Pixels downwards of boxes of this height."""
    return block_layout.length(placed, dict.fromkeys(placed, float(size)))


def _widest(placed: dict[str, block_layout.Slot], widths: dict[str, float]) -> dict[int, float]:
    """The largest width in each lane; 0 in a lane without a box."""
    widest = dict.fromkeys(range(block_layout.lane_count(placed)), 0.0)
    for stage, slot in placed.items():
        widest[slot.lane] = max(widest[slot.lane], widths[stage])
    return widest


def _narrowed(widths: dict[int, float], room: float) -> dict[int, float]:
    """Widths whose sum fits: the largest ones are reduced to the same width."""
    narrowed: dict[int, float] = {}
    for lane in sorted(widths, key=widths.__getitem__):
        share = (room - sum(narrowed.values())) / (len(widths) - len(narrowed))
        narrowed[lane] = min(widths[lane], float(int(max(share, 0.0))))
    return narrowed


def shape_text(shape: tuple[int, ...]) -> str:
    """`4 × 8`, as under every box."""
    return visible(" × ".join(map(str, shape)))
