"""The sum of weighted values in its plane: the values as arrows, w v head to tail, and the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from attnviz.core.head_to_tail import SAID, HeadToTail, head_to_tail, rest_from
from attnviz.core.phrases import named
from attnviz.core.text import number
from attnviz.explain.value_sum import Hues, plane_note, word
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import RADIUS, Theme
from attnviz.gui.widgets.control import Control
from attnviz.i18n import _
from attnviz.model.value_sum import ValueSum

Points = NDArray[np.float64]
Arrow = tuple[Sequence[float], Sequence[float]]
"""Both ends of an arrow, (x, y) each."""

MOST_VALUES, MOST_SMALL = 64, 24
"""Values that are drawn, and in a small picture: those with the largest weights."""
LENS = (0.3, 0.46)
"""Size of the lens as a part of the picture's."""
LEAST_LENS = 360.0
"""Width of a picture from which its lens has room for steps and their factor."""
NOTE_PX, LABEL_PX = 11, 12
NOTE_ROOM = 30.0
"""Room above the arrows for a sentence about the plane in one line."""
_FAINT = 0.4
"""Opacity of a whole value, beside its part of the sum."""
_HEAD, _SMALL_HEAD = 10.0, 6.0
_LEAST = 0.3
"""Length in px from which an arrow is drawn."""
_DOT = 3.2
_WRAPPED = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)


@dataclass(frozen=True, eq=False)
class SumDrawing:
    """A sum in a box at the origin of the painter; `is_small` has neither labels nor a lens."""

    sum: ValueSum
    width: float
    height: float
    is_small: bool

    @property
    def has_lens(self) -> bool:
        """True if the picture is wide enough for a lens."""
        return not self.is_small and self.width >= LEAST_LENS

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """The keys whose values are drawn."""
        most = MOST_VALUES if self.has_lens else MOST_SMALL
        return tuple(dict.fromkeys((*self.sum.named, *self.sum.order[:most])))

    @cached_property
    def places(self) -> HeadToTail:
        """The places of everything."""
        size = self.width, max(1.0, self.height - self.top)
        edge = (8.0, 6.0) if self.is_small else (64.0, 18.0)
        lens = (LENS[0] * size[0], LENS[1] * size[1]) if self.has_lens else (0.0, 0.0)
        return head_to_tail(self.sum.projected, self.shown, self._path, size, edge, lens)

    @cached_property
    def top(self) -> float:
        """Upper end of the arrows' box, below the sentence about the plane."""
        if self.is_small:
            return 0.0
        room, metrics = _note_rect(self.width), QFontMetricsF(ui_font(NOTE_PX))
        return max(NOTE_ROOM, metrics.boundingRect(room, _WRAPPED, plane_note(self.sum)).bottom() + 5)

    def _path(self, part: float) -> Points:
        return np.zeros((1, 2)) if self.sum.is_off else self.sum.path(part)

    def paint(self, painter: QPainter, part: float, theme: Theme, lit: int = -1) -> None:
        """Paint the sum at `part`; `lit` is the key in focus."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(0, self.top)
        hues, places = Hues(self.sum, theme), self.places
        self._paint_axes(painter, theme)
        self._paint_values(painter, hues, lit)
        tips = self._path(part)
        path = places.path(tips)
        if not self.is_small and places.is_moving:
            self._paint_way(painter, theme)
        keys = self.sum.steps[: len(path) - 1]
        _paint_steps(painter, path, keys, hues, 2.0 if self.is_small else 3.0)
        head = _SMALL_HEAD if self.is_small else _HEAD
        width = 1.8 if self.is_small else 3.4
        _paint_arrows(painter, [path[[0, -1]].tolist()], QColor(theme.ink), width, head)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.ink))
        painter.drawEllipse(QPointF(*places.origin), 2.5, 2.5)
        if not self.is_small:
            self._paint_lens(painter, tips, keys, hues)
            self._paint_labels(painter, path, hues, lit)
        painter.restore()

    def _paint_axes(self, painter: QPainter, theme: Theme) -> None:
        x, y = self.places.origin
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawLine(QPointF(0, y), QPointF(self.width, y))
        painter.drawLine(QPointF(x, -self.top), QPointF(x, self.height - self.top))

    def _paint_values(self, painter: QPainter, hues: Hues, lit: int) -> None:
        """The whole values, faint."""
        places = self.places
        main = {*(self.shown if self.sum.has_few else (self.sum.own, self.sum.strongest)), lit}
        small = [key for key in self.shown if key not in main]
        if small:
            color = QColor(hues.value(small[0]))
            color.setAlphaF(0.7)
            self._paint_small_values(painter, small, color)
        for key in (key for key in reversed(self.shown) if key in main):
            color = QColor(hues.value(key))
            color.setAlphaF(1.0 if key == lit else _FAINT)
            width = 1.4 if self.is_small else 2.2
            _paint_arrows(painter, [places.shaft(key)], color, width, _SMALL_HEAD + 1)

    def _paint_small_values(self, painter: QPainter, keys: list[int], color: QColor) -> None:
        """Values that are neither the query's own nor the strongest one: thin lines with a dot."""
        start, places = QPointF(*self.places.origin), self.places.values[keys].tolist()
        tips = [QPointF(x, y) for x, y in places]
        painter.setPen(QPen(color, 0.8))
        painter.drawLines([QLineF(start, tip) for tip in tips])
        painter.setPen(QPen(color, _DOT, c=Qt.PenCapStyle.RoundCap))
        painter.drawPoints(tips)

    def _paint_way(self, painter: QPainter, theme: Theme) -> None:
        """The way of the sum from the first one to the last one."""
        start, end = (QPointF(*self.places.ends[at].tolist()) for at in (0, -1))
        painter.setPen(QPen(QColor(theme.value_mark), 1.4, Qt.PenStyle.DotLine))
        painter.drawLine(start, end)

    def _paint_lens(self, painter: QPainter, tips: Points, keys: tuple[int, ...], hues: Hues) -> None:
        """The small steps at the tip, enlarged, with a line to the spot that they come from."""
        lens, theme = self.places.lens, hues.shades
        path = self.places.path(tips)
        first = rest_from(path)
        if lens is None or first >= len(path) - 1 or not lens.holds(tips):
            return
        left, top, right, end = lens.box
        box, spot = QRectF(left, top, right - left, end - top), lens.magnified(tips)
        around = QRectF(spot[0], spot[1], spot[2] - spot[0], spot[3] - spot[1])
        painter.setPen(QPen(QColor(theme.muted), 0.8))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(around)
        painter.setPen(QPen(QColor(theme.muted), 0.8, Qt.PenStyle.DashLine))
        side = box.left() if box.center().x() > around.center().x() else box.right()
        painter.drawLine(around.center(), QPointF(side, box.center().y()))
        painter.setPen(QPen(QColor(theme.hatch), 1))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(box, 4, 4)
        painter.save()
        painter.setClipRect(box.adjusted(1, SAID + 4, -1, -1))
        large = lens.frame(tips).at(tips)
        _paint_steps(painter, large, keys, hues, 3.0)
        _paint_arrows(painter, [large[[0, -1]].tolist()], QColor(theme.ink), 3.4, _HEAD)
        painter.restore()
        painter.setFont(ui_font(NOTE_PX))
        painter.setPen(QColor(theme.muted))
        said = _("the tip, × {factor}").format(factor=lens.factor)
        painter.drawText(box.adjusted(6, 3, -6, -3), Qt.AlignmentFlag.AlignTop, said)

    def _paint_labels(self, painter: QPainter, path: Points, hues: Hues, lit: int) -> None:
        font = ui_font(LABEL_PX)
        metrics, names = QFontMetricsF(font), self.sum.keys
        keys = dict.fromkeys((*self.sum.named, *((lit,) if lit in self.shown else ())))
        texts = {key: _("v of {word}").format(word=word(names[key])) for key in keys}
        sizes = {key: (metrics.horizontalAdvance(text) + 2, metrics.height()) for key, text in texts.items()}
        found = self.places.labels(sizes)
        painter.setFont(font)
        for key, box in found.items():
            painter.setPen(_label_color(hues, key))
            painter.drawText(_rect(box), Qt.AlignmentFlag.AlignCenter, texts[key])
        bold = ui_font(LABEL_PX + 1, QFont.Weight.DemiBold)
        text = _("Σ w·v, the result")
        size = QFontMetricsF(bold).horizontalAdvance(text) + 2, QFontMetricsF(bold).height()
        painter.setFont(bold)
        painter.setPen(QColor(hues.shades.ink))
        box = self.places.result_label(path, size, found)
        painter.drawText(_rect(box), Qt.AlignmentFlag.AlignCenter, text)


def _label_color(hues: Hues, key: int) -> QColor:
    summed, theme = hues.sum, hues.shades
    if summed.has_few or key == summed.own:
        return QColor(hues.value(key))
    return QColor(theme.value if key == summed.strongest else theme.muted)


def _note_rect(width: float) -> QRectF:
    """The room of the sentence about the plane in a picture of a width; its lines determine the height."""
    return QRectF(10, 5, max(1.0, width - 20), 200)


class SumPlane(Control):
    """The sum of one query; a click on it asks for the arithmetic of the result."""

    clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sum_plane")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._sum: ValueSum | None = None
        self._part, self._lit = 1.0, -1
        self._drawing: SumDrawing | None = None

    @property
    def sum(self) -> ValueSum | None:
        """The shown sum."""
        return self._sum

    @property
    def drawing(self) -> SumDrawing | None:
        """The places in the present size."""
        if self._sum is None:
            return None
        size = float(self.width()), float(self.height())
        if self._drawing is None or (self._drawing.width, self._drawing.height) != size:
            self._drawing = SumDrawing(self._sum, *size, is_small=False)
        return self._drawing

    def set_sum(self, sum_: ValueSum | None, part: float = 1.0) -> None:
        """Show another sum, or another part of its way."""
        if sum_ is not self._sum:
            self._drawing = None
        self._sum, self._part = sum_, part
        self._describe()
        self.update()

    def retranslate(self) -> None:
        self._drawing = None  # its note may take more lines
        self._describe()
        self.update()

    def _describe(self) -> None:
        if self._sum is not None:
            length = named("|Σ w·v|", number(self._sum.length(self._part), 2))
            self.setAccessibleName(_("Sum of the weighted values"))
            self.setAccessibleDescription(f"{length} · {plane_note(self._sum)}")

    def set_lit(self, key: int) -> None:
        """Emphasise the value of a key; −1: none."""
        if key != self._lit:
            self._lit = key
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(480, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 96)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._sum is not None:
            self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, drawing = QPainter(self), self._theme, self.drawing
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.setBrush(QColor(theme.ground))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if drawing is None or self._sum is None:
            return
        painter.setClipRect(self.rect().adjusted(1, 1, -1, -1))
        drawing.paint(painter, self._part, theme, self._lit)
        painter.setFont(ui_font(NOTE_PX))
        painter.setPen(QColor(theme.muted))
        painter.drawText(_note_rect(self.width()), _WRAPPED, plane_note(self._sum))


def _paint_steps(painter: QPainter, path: Points, keys: tuple[int, ...], hues: Hues, width: float) -> None:
    """The parts of a sum head to tail: steps of one colour in a row are painted at once."""
    places = path.tolist()
    seen = [
        (hues.step(key), (start, end))
        for key, start, end in zip(keys, places[:-1], places[1:], strict=True)
        if math.dist(start, end) >= _LEAST
    ]
    for color, steps in groupby(seen, lambda step: step[0]):
        arrows = [arrow for _color, arrow in steps]
        _paint_arrows(painter, arrows, QColor(color), width, _SMALL_HEAD + 1, most=0.6)


def _paint_arrows(
    painter: QPainter, arrows: Iterable[Arrow], color: QColor, width: float, head: float, most: float = 1.0
) -> None:
    """Arrows: lines with heads of a length, at most a part of the arrow's."""
    lines, path = list[QLineF](), QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    for (x, y), (end_x, end_y) in arrows:
        length = math.hypot(end_x - x, end_y - y)
        if not length >= _LEAST:  # true of NaN, too
            continue
        along = min(head, most * length) / length
        dx, dy = along * (end_x - x), along * (end_y - y)
        neck_x, neck_y = end_x - dx, end_y - dy
        lines.append(QLineF(x, y, neck_x + 0.2 * dx, neck_y + 0.2 * dy))
        path.moveTo(end_x, end_y)
        path.lineTo(neck_x - 0.38 * dy, neck_y + 0.38 * dx)
        path.lineTo(neck_x + 0.38 * dy, neck_y - 0.38 * dx)
        path.closeSubpath()
    pen = QPen(color, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLines(lines)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawPath(path)


def _rect(box: tuple[float, float, float, float]) -> QRectF:
    left, top, right, end = box
    return QRectF(left, top, right - left, end - top)
