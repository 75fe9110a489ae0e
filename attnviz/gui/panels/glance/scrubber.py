"""Three frames of the way, before, half way and after, over a track that is dragged."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QSizePolicy

from attnviz.core.phrases import named
from attnviz.core.shades import head_color
from attnviz.core.text import number
from attnviz.explain.value_sum import word
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import RADIUS, TEXT_PX, Theme
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.pictures.value_sum import SumDrawing
from attnviz.i18n import N_, _
from attnviz.model.value_sum import ValueSum

FRAMES = (
    (0.0, N_("before"), N_("“{word}” hears only itself"), N_("nothing is added yet")),
    (0.5, N_("half way"), N_("half itself, half its row of weights"), N_("half of its row of weights")),
    (1.0, N_("after"), N_("the row of weights of this head"), N_("the row of weights of this head")),
)
"""A part of the way, its name, and what it mixes: of a query that is a key, and of another one."""
STOPS = tuple(part for part, *_words in FRAMES)
LEAST_FRAME, GAP = 270.0, 14.0
TRACK, HANDLE = 26.0, 9.0
_HEAD = 22.0
LEAST_WEIGHT = 0.02
"""Weight from which a small picture has an arc."""
_STEP = 0.05
_STROKE, _WORD = 4.0, 0.72
"""Height in px of the stroke of a word, and its part of the room that a word has."""
_LEAST_GAP = 0.5
"""Width in px from which the gap between two words is seen."""
_WAYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class Scrubber(Control):
    """`moved` carries the part that a person chose, `pointed` one that the mouse is on (−1: none); Space asks
    to play.
    """

    moved = Signal(float)
    pointed = Signal(float)
    toggled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("glance_scrubber")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._sum: ValueSum | None = None
        self._asker, self._is_first_off = "", False
        self._part, self._pointed = 1.0, -1.0
        self._is_dragged = False
        self._drawings: dict[tuple[int, int], SumDrawing] = {}
        self._frames: QPixmap | None = None
        self._pictured: tuple[object, ...] = ()

    @property
    def part(self) -> float:
        """The part of the way that is shown."""
        return self._part

    def set_sum(self, sum_: ValueSum | None, asker: str, part: float, *, is_first_off: bool = False) -> None:
        """Show the frames of another sum, and the part that the other pictures have."""
        if sum_ is not self._sum:
            self._drawings, self._frames = {}, None
        self._sum, self._asker, self._part, self._is_first_off = sum_, asker, part, is_first_off
        self.setAccessibleName(_("Way of the sum"))
        length = "" if sum_ is None else " · " + named("|Σ w·v|", number(sum_.length(part), 2))
        self.setAccessibleDescription(named("t", f"{part:.2f}") + length)
        self.update()

    def retranslate(self) -> None:
        self._frames = None
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._frames = None

    def sizeHint(self) -> QSize:
        return QSize(800, 132)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 84)

    # --- places

    def frames(self) -> list[tuple[float, QRectF]]:
        """The parts that have frames, and their rectangles; a single one is that of the present part."""
        count = int((self.width() + GAP) // (LEAST_FRAME + GAP))
        height = self.height() - TRACK
        if count < len(STOPS) or height < 70:
            return [(self._part, QRectF(0, 0, self.width(), height))]
        width = (self.width() - (len(STOPS) - 1) * GAP) / len(STOPS)
        return [(part, QRectF(place * (width + GAP), 0, width, height)) for place, part in enumerate(STOPS)]

    def track(self) -> QRectF:
        """The line of the track."""
        return QRectF(HANDLE, self.height() - TRACK / 2, max(1.0, self.width() - 2 * HANDLE), 0)

    def x_of(self, part: float) -> float:
        """The place of a part on the track."""
        track = self.track()
        return track.left() + part * track.width()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._sum is None:
            return
        painter.drawPixmap(0, 0, self._picture(self._sum))
        track, x = self.track(), self.x_of(self._part)
        painter.setPen(QPen(QColor(theme.line), 4, c=Qt.PenCapStyle.RoundCap))
        painter.drawLine(track.topLeft(), track.topRight())
        painter.setPen(QPen(QColor(theme.accent), 4, c=Qt.PenCapStyle.RoundCap))
        painter.drawLine(track.topLeft(), QPointF(x, track.top()))
        painter.setPen(QPen(QColor(theme.accent), 1.6))
        painter.setBrush(QColor(theme.panel))
        for stop in STOPS:
            painter.drawEllipse(QPointF(self.x_of(stop), track.top()), 4, 4)
        painter.setPen(QPen(QColor(theme.accent), 2.4))
        painter.drawEllipse(QPointF(x, track.top()), HANDLE - 1, HANDLE - 1)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme, RADIUS)

    def _picture(self, sum_: ValueSum) -> QPixmap:
        """The frames as they were painted last, if nothing in them changed: while the sum plays, few do."""
        ratio, size, frames = self.devicePixelRatioF(), self.size(), self.frames()
        present = tuple(self._is_present(part) for part, _rect in frames)
        asked = ratio, size, tuple(part for part, _rect in frames), present, self._asker, self._is_first_off
        if self._frames is None or asked != self._pictured:
            self._frames = QPixmap(size * ratio)
            self._frames.setDevicePixelRatio(ratio)
            self._frames.fill(Qt.GlobalColor.transparent)
            painter = QPainter(self._frames)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for part, rect in frames:
                self._paint_frame(painter, sum_, part, rect)
            painter.end()
            self._pictured = asked
        return self._frames

    def _is_present(self, part: float) -> bool:
        return abs(part - self._part) < 1e-6

    def _paint_frame(self, painter: QPainter, sum_: ValueSum, part: float, rect: QRectF) -> None:
        theme, is_present = self._theme, self._is_present(part)
        painter.setPen(QPen(QColor(theme.accent if is_present else theme.line), 2 if is_present else 1))
        painter.setBrush(QColor(theme.ground))
        painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        name, said = self._texts(part)
        bold = ui_font(TEXT_PX, QFont.Weight.DemiBold)
        line = QRectF(rect.left() + 10, rect.top() + 3, rect.width() - 20, _HEAD)
        painter.setFont(bold)
        painter.setPen(QColor(theme.ink))
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, name)
        start = QFontMetricsF(bold).horizontalAdvance(name) + 8
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(theme.muted))
        room = line.adjusted(start, 0, 0, 0)
        text = QFontMetricsF(painter.font()).elidedText(said, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
        body = QRectF(rect.left() + 10, line.bottom(), rect.width() - 20, rect.bottom() - line.bottom() - 4)
        half = body.width() * 0.54
        self._paint_words(painter, sum_, part, QRectF(body.left(), body.top(), half, body.height()))
        self._paint_sum(painter, sum_, part, body.adjusted(half + 8, 0, 0, 0))

    def _texts(self, part: float) -> tuple[str, str]:
        """The name of a part, and what it mixes."""
        found = next((frame for frame in FRAMES if abs(frame[0] - part) < 1e-6), None)
        if found is None:
            return named("t", f"{part:.2f}"), _("(1 − t) × itself + t × its row of weights")
        _part, name, own, other = found
        has_own = self._sum is not None and self._sum.own >= 0
        return _(name), _(own if has_own else other).format(word=self._asker)

    def _paint_words(self, painter: QPainter, sum_: ValueSum, part: float, room: QRectF) -> None:
        """The words as strokes, the arcs of the weights over them, and the two that matter by name."""
        theme, weights, count = self._theme, sum_.mixed(part), len(sum_.weights)
        metrics = QFontMetricsF(ui_font(TEXT_PX - 1))
        y = room.bottom() - metrics.height() - 6
        step = room.width() / count
        middle = [room.left() + (key + 0.5) * step for key in range(count)]
        words = QPen(QColor(theme.hatch), _STROKE, c=Qt.PenCapStyle.FlatCap)
        if (1 - _WORD) * step >= _LEAST_GAP:
            words.setDashPattern([_WORD * step / _STROKE, (1 - _WORD) * step / _STROKE])
        half = _WORD * step / 2
        painter.setPen(words)
        painter.drawLine(QPointF(middle[0] - half, y), QPointF(middle[-1] + half, y))
        for key, role in ((sum_.own, theme.query), (sum_.strongest, theme.key_mark)):
            if key >= 0:
                painter.setPen(QPen(QColor(role), _STROKE, c=Qt.PenCapStyle.FlatCap))
                wide = max(half, 1.0)
                painter.drawLine(QPointF(middle[key] - wide, y), QPointF(middle[key] + wide, y))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for key in np.argsort(np.abs(weights)).tolist() if sum_.own >= 0 else ():
            weight = float(weights[key])
            if abs(weight) >= LEAST_WEIGHT:
                feet = middle[sum_.own], middle[key]
                is_off = key == 0 and self._is_first_off
                self._paint_arc(painter, sum_, weight, feet, y, room, is_off=is_off)
        painter.setFont(ui_font(TEXT_PX - 1))
        ends = ((sum_.own, theme.query), (sum_.strongest, theme.key))
        free = room.left()
        for key, color in sorted(end for end in ends if end[0] >= 0):
            text = f"{word(sum_.keys[key])} {number(weights[key], 2)}"
            wide = metrics.horizontalAdvance(text)
            after = sum(key < other for other, _color in ends) * (wide + 12)
            left = max(free, min(middle[key] - wide / 2, room.right() - wide - after))
            free = left + wide + 10
            painter.setPen(QColor(color))
            painter.drawText(QPointF(left, room.bottom() - 3), text)

    def _paint_arc(
        self,
        painter: QPainter,
        sum_: ValueSum,
        weight: float,
        ends: tuple[float, float],
        y: float,
        room: QRectF,
        *,
        is_off: bool,
    ) -> None:
        most = max(6.0, y - room.top() - 8)
        pen = QPen(QColor(head_color(sum_.head)), max(0.7, 5.0 * min(1.0, abs(weight))))
        painter.setPen(QPen(QColor(self._theme.hatch), 1.0, Qt.PenStyle.DashLine) if is_off else pen)
        start, end = ends
        foot = y - 4
        if start == end:
            radius = min(9.0, most / 3)
            painter.drawEllipse(QPointF(start, foot - radius), radius, radius)
            return
        rise = most * 4 / 3 * math.sqrt(min(1.0, abs(start - end) / room.width())) * 0.86
        path = QPainterPath(QPointF(start, foot))
        path.cubicTo(QPointF(start, foot - rise), QPointF(end, foot - rise), QPointF(end, foot))
        painter.drawPath(path)

    def _paint_sum(self, painter: QPainter, sum_: ValueSum, part: float, room: QRectF) -> None:
        """The small plane, and below it the length of the sum, in the line of the words."""
        font = number_font(TEXT_PX - 1)
        size = int(room.width()), int(room.height() - QFontMetricsF(font).height())
        drawing = self._drawings.get(size)
        if drawing is None:
            drawing = self._drawings[size] = SumDrawing(sum_, float(size[0]), float(size[1]), is_small=True)
        painter.save()
        painter.translate(room.left(), room.top())
        painter.setClipRect(QRectF(0, 0, *size))
        drawing.paint(painter, part, self._theme)
        painter.restore()
        painter.setFont(font)
        painter.setPen(QColor(self._theme.ink))
        text = f"|Σ w·v| {number(sum_.length(part), 2)}"
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom, text)

    # --- hands

    def _part_at(self, at: QPointF) -> float | None:
        """The part of a frame, or of a place on the track; None elsewhere."""
        if at.y() >= self.height() - TRACK:
            track = self.track()
            return min(1.0, max(0.0, (at.x() - track.left()) / track.width()))
        frames = self.frames()
        return next((part for part, rect in frames if len(frames) > 1 and rect.contains(at)), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        part = self._part_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and part is not None:
            self._is_dragged = event.position().y() >= self.height() - TRACK
            self._point(-1.0)
            self.moved.emit(part)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._is_dragged:
            part = self._part_at(QPointF(at.x(), self.height()))
            self.moved.emit(0.0 if part is None else part)
            return
        part = self._part_at(at)
        is_hand = part is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_hand else Qt.CursorShape.ArrowCursor)
        is_on_frame = is_hand and at.y() < self.height() - TRACK
        self._point(part if is_on_frame and part is not None else -1.0)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._is_dragged = False

    def leaveEvent(self, event: QEvent) -> None:
        self._point(-1.0)

    def _point(self, part: float) -> None:
        if part != self._pointed:
            self._pointed = part
            self.pointed.emit(part)

    def takes_key(self, event: QKeyEvent) -> bool:
        return event.key() in (*_WAYS, Qt.Key.Key_Space, Qt.Key.Key_Home, Qt.Key.Key_End)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space plays or pauses, Left and Right go to the frame before and after, with Shift a small step."""
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Space:
            self.toggled.emit()
        elif key in _WAYS:
            way = _WAYS[key]
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.moved.emit(min(1.0, max(0.0, self._part + way * _STEP)))
                return
            beyond = [stop for stop in STOPS if (stop - self._part) * way > 1e-6]
            self.moved.emit(min(beyond, key=lambda stop: abs(stop - self._part), default=self._part))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.moved.emit(0.0 if key == Qt.Key.Key_Home else 1.0)
        else:
            super().keyPressEvent(event)
