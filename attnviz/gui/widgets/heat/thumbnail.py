"""A matrix as a small clickable picture with a caption: a stage in the strip, a head among heads."""

from __future__ import annotations

import html
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.text import visible
from attnviz.gui.look.colors import BLOCKED, Indices, indexed_image, pool
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, Highlight, color_kind, pooled_indices
from attnviz.gui.widgets.heat.hatch import device_scale, draw_blocked, is_vector
from attnviz.gui.widgets.heat.paint import fill_rectangles

_CAPTION_PX = 11
_MOST_LIT = 64
_FRAME = 4
_EDGE = 3
"""Pixels that the frame of the chosen picture takes around it."""
_HATCH = 5.0
_FAINT = 0.3
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
_FLATTEST = 0.5
"""A matrix flatter or narrower than this is drawn with stretched cells, so that it stays a picture."""


class _Line(NamedTuple):
    """A painted caption: the text that fits, its left end, and its height above the base line."""

    text: str
    left: float
    ascent: float


class Thumbnail(QAbstractButton):
    """A picture button. `clicked` comes from the mouse, Space and Enter; its owner calls `set_selected`."""

    pointed = Signal(bool)
    """The mouse came onto the button, or left it."""

    walked = Signal(int)
    """An arrow key: one button further (1) or back (−1) in the row."""

    def __init__(self, side: int = 48, parent: QWidget | None = None, *, widest: float = math.inf) -> None:
        """`side` and the room of the caption, `widest`, in pixels; a longer caption is elided."""
        super().__init__(parent)
        self._side, self._widest = side, widest
        self._theme = LIGHT
        self._indices: Indices = np.zeros((0, 0), np.uint8)
        self._kind: Kind = "sequential"
        self._has_blocked = False
        self._caption = ""
        self._line = _Line("", 0.0, 0.0)
        self._lined: tuple[str, bool, int] | None = None
        self._told = ("", "")
        self._shape, self._is_transposed = (0, 0), False
        self._lit = NO_HIGHLIGHT
        self._is_struck = self._is_pointed = False
        self.setObjectName("thumbnail")
        self.setCheckable(True)  # tells a screen reader which one is chosen
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    @property
    def caption(self) -> str:
        """The text under the picture."""
        return self._caption

    def set_values(
        self,
        values: NDArray[np.floating],
        signed: bool,
        blocked: NDArray[np.bool_] | None = None,
        range_id: str = "head",
        levels: tuple[float, float] | None = None,
        transposed: bool = False,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        """Show `values` (rows, columns), coloured as a heat map of the same range would be.

        `shape` is that of the whole matrix if `values` are an overview of it.
        """
        before = self._indices, self._kind, self._shape, self._is_transposed
        self._kind = color_kind(signed, range_id)
        rows, columns = values.shape if shape is None else shape
        self._shape, self._is_transposed = (rows, columns), transposed
        # Pooled once, here, to the pixels of the screen: a strip of large stages keeps bytes of the picture.
        pixels = self._side * self.devicePixelRatioF()
        indices = pooled_indices(
            values, signed, range_id, _factors(values.shape, pixels, pixels), levels, blocked
        )
        self._indices = indices.T if transposed else indices
        self._has_blocked = blocked is not None and bool((self._indices == BLOCKED).any())
        self._update_changed(*before)

    def _update_changed(
        self, indices: Indices, kind: Kind, shape: tuple[int, int], is_transposed: bool
    ) -> None:
        """Paint again what differs from the picture before: often nothing but cells."""
        if (indices.shape, shape, is_transposed) != (self._indices.shape, self._shape, self._is_transposed):
            self.update()
        elif kind != self._kind or not np.array_equal(indices, self._indices):
            self.update(self.picture_rect().adjusted(-_EDGE, -_EDGE, _EDGE, _EDGE).toAlignedRect())

    def set_selected(self, selected: bool) -> None:
        """Mark this one as chosen."""
        if selected != self.isChecked():
            self.setChecked(selected)
            self.update()

    def set_caption(self, text: str, tooltip: str = "") -> None:
        """The text under the picture, which is also the accessible name; `tooltip` is plain text."""
        # called at every frame, and a new tooltip costs more than a comparison
        if (text, tooltip) == self._told:
            return
        self._told = text, tooltip
        self._caption = visible(text)
        self.setAccessibleName(self._caption)
        self.setAccessibleDescription(tooltip)
        self.setToolTip(f"<p style='white-space:pre-wrap'>{html.escape(tooltip)}</p>" if tooltip else "")
        self.updateGeometry()
        self.update()

    def set_struck(self, is_struck: bool) -> None:
        """Draw the picture faintly and strike the caption out: its content has no effect."""
        if is_struck != self._is_struck:
            self._is_struck = is_struck
            self.update()

    def set_lit(self, lit: Highlight) -> None:
        """Outline rows, columns and cells of the matrix that relate to a cell hovered elsewhere."""
        if lit != self._lit:
            self._lit = lit
            self.update()

    def set_pointed(self, is_pointed: bool) -> None:
        """Mark the picture: its content is under the mouse, here or in another panel."""
        if is_pointed != self._is_pointed:
            self._is_pointed = is_pointed
            self.update()

    def set_side(self, side: int) -> None:
        """Another size of the picture, in pixels; takes effect with the next `set_values`."""
        if side != self._side:
            self._side = side
            self.updateGeometry()
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def nextCheckState(self) -> None:
        """A click only emits; the owner chooses."""

    def sizeHint(self) -> QSize:
        """The picture, its frame, and the caption on one line."""
        metrics = QFontMetricsF(self._caption_font(bold=True))
        caption = min(metrics.horizontalAdvance(self._caption), self._widest)
        width = max(self._side + 2 * _FRAME, math.ceil(caption) + 4)
        return QSize(width, self._side + 2 * _FRAME + math.ceil(metrics.height()) + 2)

    def whole_width(self) -> int:
        """The width at which the caption is whole."""
        advance = QFontMetricsF(self._caption_font(bold=True)).horizontalAdvance(self._caption)
        return max(self._side + 2 * _FRAME, math.ceil(advance) + 4)

    def minimumSizeHint(self) -> QSize:
        """The same: a strip scrolls rather than squeezes."""
        return self.sizeHint()

    def picture_rect(self) -> QRectF:
        """Rectangle of the matrix on the widget, in device-independent pixels."""
        rows, columns = self._indices.shape
        if not rows or not columns:
            return QRectF((self.width() - self._side) / 2, _FRAME, self._side, self._side)
        aspect = min(max(columns / rows, _FLATTEST), 1 / _FLATTEST)
        width = float(round(self._side * min(1.0, aspect)))
        height = float(round(self._side * min(1.0, 1 / aspect)))
        left = math.floor((self.width() - width) / 2)
        return QRectF(left, _FRAME + math.floor((self._side - height) / 2), width, height)

    def caption_rect(self) -> QRectF:
        """Rectangle of the caption on the widget."""
        top = self._side + 2 * _FRAME
        return QRectF(0, top, self.width(), self.height() - top)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter clicks as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        elif Qt.Key(event.key()) in _STEPS:
            self.walked.emit(_STEPS[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.pointed.emit(True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(False)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint picture, frame and caption."""
        painter = QPainter(self)
        picture = self.picture_rect()
        self._paint_picture(painter, picture)
        self._paint_lit(painter, picture)
        self._paint_frame(painter, picture)
        if self.caption_rect().intersects(QRectF(event.rect())):
            self._paint_caption(painter)
        if self.hasFocus():
            draw_focus_ring(painter, self.ring_rect(), self._theme)
        painter.end()

    def _paint_picture(self, painter: QPainter, picture: QRectF) -> None:
        painter.setOpacity(_FAINT if self._is_struck else 1.0)
        if self._indices.size:
            if self._has_blocked:
                draw_blocked(painter, picture, self._theme, _HATCH)
            ratio = device_scale(painter)
            small = self._pooled(self._indices, picture.height() * ratio, picture.width() * ratio)
            if is_vector(painter):
                fill_rectangles(painter, picture, small, self._kind, self._theme, picture)
            else:
                painter.drawImage(picture, indexed_image(small, self._kind, self._theme))
        painter.setOpacity(1.0)

    def _paint_caption(self, painter: QPainter) -> None:
        font = self._caption_font(self.isChecked())
        line = self._caption_line(font)
        font.setStrikeOut(self._is_struck)
        painter.setFont(font)
        is_marked = self.isChecked() or self._is_pointed
        painter.setPen(QColor(self._theme.accent if is_marked else self._theme.muted))
        painter.drawText(QPointF(line.left, self._side + 2 * _FRAME + line.ascent), line.text)

    def _caption_line(self, font: QFont) -> _Line:
        """The caption that fits below the picture; measured once, because the picture changes more often."""
        wanted = self._caption, self.isChecked(), self.width()
        if wanted != self._lined:
            metrics = QFontMetricsF(font)
            text = metrics.elidedText(self._caption, Qt.TextElideMode.ElideRight, self.width())
            left = (self.width() - metrics.horizontalAdvance(text)) / 2
            self._line, self._lined = _Line(text, left, metrics.ascent()), wanted
        return self._line

    def _pooled(self, indices: Indices, height: float, width: float) -> Indices:
        """At most one cell for each of `height` x `width` pixels."""
        return pool(indices, _factors(indices.shape, height, width), self._kind)

    def _paint_lit(self, painter: QPainter, picture: QRectF) -> None:
        lit, (rows, columns) = self._lit, self._shape
        if lit == NO_HIGHLIGHT or not rows or not columns:
            return
        boxes = [(row, 0, 1, columns) for row in lit.rows] + [(0, column, rows, 1) for column in lit.columns]
        single = [(r, c) for r, c in lit.cells if r not in lit.rows and c not in lit.columns]
        single += [lit.cell] if lit.cell is not None else []
        boxes += [(row, column, 1, 1) for row, column in single[:_MOST_LIT]]
        if self._is_transposed:
            boxes = [(column, row, across, down) for row, column, down, across in boxes]
            rows, columns = columns, rows
        height, width = picture.height() / rows, picture.width() / columns
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self._theme.ink), 1.0))
        for row, column, down, across in boxes:
            box = QRectF(column * width, row * height, max(across * width, 2.0), max(down * height, 2.0))
            painter.drawRect(box.translated(picture.topLeft()))

    def _paint_frame(self, painter: QPainter, picture: QRectF) -> None:
        if self.hasFocus():
            return  # the ring is around it
        if self.isChecked():
            pen = QPen(QColor(self._theme.accent), 2.0)
        elif self._is_pointed:
            pen = QPen(QColor(self._theme.accent), 1.0)
        elif self.underMouse():
            pen = QPen(QColor(self._theme.muted), 1.0)
        else:
            return
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(picture.adjusted(-2, -2, 2, 2))

    def ring_rect(self) -> QRectF:
        """The place of the ring of the focus: around picture and caption."""
        return QRectF(self.rect())

    def _caption_font(self, bold: bool) -> QFont:
        return ui_font(_CAPTION_PX, QFont.Weight.DemiBold if bold else QFont.Weight.Normal)


def _factors(shape: tuple[int, ...], height: float, width: float) -> tuple[int, int]:
    """Rows and columns of the blocks that leave at most one for each of `height` × `width` pixels."""
    rows, columns = shape
    return math.ceil(rows / height) or 1, math.ceil(columns / width) or 1
