"""The blocks of the heads: a drag, the arrow keys or a chosen step move them; every cell keeps its number.

Time 0 is (token, head · feature) in one piece, 1 the view (token, head, feature), 2 the permutation (head,
token, feature). Before 0 lies −1: the result of W_O in the place of the one piece.
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.levels import levels, normalise
from attnviz.core.text import visible
from attnviz.gui.look.colors import to_image
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme, head_color
from attnviz.gui.look.words import says
from attnviz.gui.widgets.control import Control, draw_focus_ring, transition_ms
from attnviz.i18n import N_

LARGEST = 26.0
"""Pixels of a cell at most."""
GAP = 10.0
VIEW, PERMUTED = 1, 2


@dataclass(frozen=True)
class Sizes:
    """The numbers of heads, of tokens and of features of one head."""

    heads: int
    tokens: int
    features: int


def blocks(sizes: Sizes, room: QRectF, time: float) -> list[QRectF]:
    """The rectangle of each head's (token, feature) block in `room`."""
    time = min(max(time, 0.0), float(PERMUTED))
    before = int(min(time, 1.0))
    first, second = (_still(sizes, room, step) for step in (before, before + 1))
    return [_between(a, b, time - before) for a, b in zip(first, second, strict=True)]


def _still(sizes: Sizes, room: QRectF, step: int) -> list[QRectF]:
    """The blocks at rest: side by side without gaps, with gaps, or one below the other."""
    gap = min(GAP, room.width() / (4 * sizes.heads), room.height() / (4 * sizes.heads))
    gaps = 0.0 if step == 0 else gap * (sizes.heads - 1)
    if step < PERMUTED:
        width = min(LARGEST, (room.width() - gaps) / (sizes.heads * sizes.features)) * sizes.features
        height = min(LARGEST, room.height() / sizes.tokens) * sizes.tokens
        across = width + (0.0 if step == 0 else gap)
        return [QRectF(room.left() + h * across, room.top(), width, height) for h in range(sizes.heads)]
    width = min(LARGEST, room.width() / sizes.features) * sizes.features
    height = min(LARGEST, (room.height() - gaps) / (sizes.heads * sizes.tokens)) * sizes.tokens
    return [QRectF(room.left(), room.top() + h * (height + gap), width, height) for h in range(sizes.heads)]


def _between(a: QRectF, b: QRectF, share: float) -> QRectF:
    def mixed(x: float, y: float) -> float:
        return x + (y - x) * share

    return QRectF(
        mixed(a.left(), b.left()),
        mixed(a.top(), b.top()),
        mixed(a.width(), b.width()),
        mixed(a.height(), b.height()),
    )


def place_at(sizes: Sizes, room: QRectF, time: float, point: QPointF) -> tuple[int, int, int] | None:
    """(head, token, feature) under a point; None beside the blocks."""
    for head, block in enumerate(blocks(sizes, room, time)):
        if block.contains(point):
            row = int((point.y() - block.top()) / block.height() * sizes.tokens)
            column = int((point.x() - block.left()) / block.width() * sizes.features)
            return head, min(row, sizes.tokens - 1), min(column, sizes.features - 1)
    return None


def cell_rect(sizes: Sizes, room: QRectF, time: float, place: tuple[int, int, int]) -> QRectF:
    """The rectangle of (head, token, feature)."""
    head, row, column = place
    block = blocks(sizes, room, time)[head]
    width, height = block.width() / sizes.features, block.height() / sizes.tokens
    return QRectF(block.left() + column * width, block.top() + row * height, width, height)


LABELS, MARGIN = 52.0, 10.0
GHOST, BEHIND = 7.0, 18.0
"""Pixels by which the frame of a second sequence lies behind the first one: empty, and filled."""
FRAME_MS = 16
READABLE = 10.0
"""Height of a row from which on its token is written beside it."""
Numbers = NDArray[np.floating]
Place = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Sequence:
    """One sequence of the batch: (token, head · feature), and its product with W_O, (token, d_model), if that
    is shown.
    """

    values: Numbers
    after: Numbers | None = None


class AxesPicture(Control):
    """`pointed` carries (head, token, feature), or None; `moved` the step at which the blocks rest; `swapped`
    says that somebody wants the sequence behind in front.
    """

    pointed = Signal(object)
    moved = Signal(int)
    swapped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        says(self, id="axes_picture", name=N_("The axes of the heads"))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.time = 0.0
        """See `layout`."""
        self.sizes = Sizes(1, 1, 1)
        self._steps: tuple[int, ...] = (0, 1, 2)
        self.names: tuple[str, ...] = ()
        self.sequences: tuple[Sequence, ...] = (Sequence(np.zeros((1, 1))),)
        self._images: list[tuple[QImage, QImage]] = []
        self._lit: Place | None = None
        self._pressed: tuple[float, float] | None = None
        self._way = (0.0, 0.0, 0.0)
        self._has_ring = False
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._on_frame)

    # --- contents

    def set_numbers(self, sequences: tuple[Sequence, ...], sizes: Sizes, names: tuple[str, ...]) -> None:
        """Show a sequence with the names of its tokens, and the second one, if any, behind it."""
        self.sequences, self.sizes, self.names = sequences, sizes, names
        self._paint_images()

    def set_steps(self, steps: tuple[int, ...]) -> None:
        """The moments of time at which the blocks may rest, in the order of the computation."""
        self._steps = steps
        if round(self.time) not in steps:
            self.time = float(steps[0])
            self._timer.stop()
        self.update()

    def go(self, time: float) -> None:
        """Move the blocks; at once if transitions are off."""
        length = transition_ms(self) / 1000
        if length <= 0 or not self.isVisible():
            self._timer.stop()
            self._set_time(time)
            return
        self._way = (clock.monotonic(), self.time, time)
        self._timer.start()

    def set_lit(self, place: Place | None) -> None:
        """Outline a cell because it is hovered somewhere."""
        if place != self._lit:
            self._lit = place
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._paint_images()

    def _paint_images(self) -> None:
        """Both images of each sequence, in the colours of the numbers of all."""
        values = _images([one.values for one in self.sequences], self._theme)
        after = [one.after for one in self.sequences if one.after is not None]
        self._images = list(zip(values, _images(after, self._theme) if after else values, strict=True))
        self.update()

    # --- time

    @Slot()
    def _on_frame(self) -> None:
        began, start, end = self._way
        share = min(1.0, (clock.monotonic() - began) * 1000 / max(transition_ms(self), 1))
        if share >= 1:
            self._timer.stop()
        self._set_time(start + (end - start) * share * share * (3 - 2 * share))

    def _set_time(self, time: float) -> None:
        self.time = min(max(time, float(min(self._steps))), float(max(self._steps)))
        self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._timer.isActive():
            self._timer.stop()
            self._set_time(self._way[2])

    # --- geometry

    @property
    def room(self) -> QRectF:
        """The rectangle in which the blocks move."""
        behind = MARGIN + self._behind
        return QRectF(self.rect()).adjusted(LABELS, MARGIN, -behind, -behind)

    @property
    def _behind(self) -> float:
        return BEHIND if len(self.sequences) > 1 else GHOST

    def frames(self) -> list[QRectF]:
        """The frames of the sequence behind now: one for each block, or one for all."""
        behind = [block.translated(self._behind, self._behind) for block in self._blocks()]
        return behind if self.time > 0 else [_whole(behind)]

    def _blocks(self) -> list[QRectF]:
        return blocks(self.sizes, self.room, self.time)

    def rect_of(self, place: Place) -> QRectF:
        """The rectangle of a cell (head, token, feature) now."""
        return cell_rect(self.sizes, self.room, self.time, place)

    def sizeHint(self) -> QSize:
        return QSize(280, 280)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 120)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        places = self._blocks()
        self._paint_behind(painter, places)
        self._paint_sequence(painter, places, 0)
        for head, block in enumerate(places):
            painter.setPen(QPen(QColor(head_color(head)), 2))
            painter.drawLine(block.topLeft() + QPointF(1, -2), block.topRight() + QPointF(-1, -2))
        self._paint_names(painter, places)
        if self._lit is not None and self._lit[0] < self.sizes.heads:
            painter.setPen(QPen(QColor(self._theme.ink), 2))
            painter.drawRect(self.rect_of(self._lit).adjusted(-1, -1, 1, 1))
        if self.hasFocus() and self._has_ring:
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _paint_behind(self, painter: QPainter, places: list[QRectF]) -> None:
        """The second sequence of the batch lies behind the first one, or would lie there."""
        if len(self.sequences) > 1:
            behind = [block.translated(self._behind, self._behind) for block in places]
            self._paint_sequence(painter, behind, 1)
        painter.setPen(QPen(QColor(self._theme.muted), 1, Qt.PenStyle.DashLine))
        for block in self.frames():
            painter.drawRect(block)
        for block in places:
            painter.fillRect(block.adjusted(-1, -3, 1, 1), QColor(self._theme.panel))

    def _paint_sequence(self, painter: QPainter, places: list[QRectF], number: int) -> None:
        """The blocks of a sequence; before time 0 its product with W_O comes in their place."""
        values, after = self._images[number]
        painter.setOpacity(min(1.0, 1.0 + self.time))
        for head, block in enumerate(places):
            part = QRectF(head * self.sizes.features, 0, self.sizes.features, self.sizes.tokens)
            painter.drawImage(block, values, part)
        if self.time < 0:
            painter.setOpacity(-self.time)
            painter.drawImage(_whole(places), after)
        painter.setOpacity(1.0)

    def _paint_names(self, painter: QPainter, places: list[QRectF]) -> None:
        """The token of each row, at the first block, and at each one where they lie below one another."""
        painter.setPen(QColor(self._theme.muted))
        painter.setFont(ui_font(10))
        for block in places if self.time > 1.5 else places[:1]:
            height = block.height() / self.sizes.tokens
            if height < READABLE:
                continue
            for row, name in enumerate(self.names):
                line = QRectF(0, block.top() + row * height, LABELS - 6, height)
                shown = painter.fontMetrics().elidedText(
                    visible(name), Qt.TextElideMode.ElideRight, int(line.width())
                )
                painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown)

    # --- hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._timer.stop()
            at, here = event.position(), place_at(self.sizes, self.room, self.time, event.position())
            if here is None and any(frame.contains(at) for frame in self.frames()):
                self.swapped.emit()
            else:
                self._pressed = (at.x(), self.time)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            self.pointed.emit(place_at(self.sizes, self.room, self.time, event.position()))
            return
        start, time = self._pressed
        self._set_time(time + 2 * (event.position().x() - start) / max(self.width(), 1) * PERMUTED)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None:
            self._pressed = None
            self._rest(min(self._steps, key=lambda step: abs(step - self.time)))

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.swapped.emit()
            return
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
            return
        now = min(range(len(self._steps)), key=lambda i: abs(self._steps[i] - self.time))
        self._rest(self._steps[min(max(now + by, 0), len(self._steps) - 1)])

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._has_ring = event.reason() != Qt.FocusReason.MouseFocusReason
        self.update()

    def _rest(self, step: int) -> None:
        self.go(step)
        self.moved.emit(step)


def _whole(places: list[QRectF]) -> QRectF:
    return QRectF(places[0].topLeft(), places[-1].bottomRight())


def _images(sequences: list[Numbers], theme: Theme) -> list[QImage]:
    """One pixel a cell, in the colours of features: centred on zero, the same for all sequences."""
    ends = levels(np.concatenate(sequences), "head", True)
    return [to_image(normalise(one, "head", ends, True), "diverging", theme) for one in sequences]
