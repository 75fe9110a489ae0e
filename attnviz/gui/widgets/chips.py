"""Tokens as rounded chips that wrap, painted on one widget so that hundreds cost as little as ten."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QSizePolicy, QToolTip, QWidget

from attnviz.core.piece_kinds import is_byte_token
from attnviz.core.text import visible
from attnviz.gui.look.theme import RADIUS, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.chip_editor import ChipEditor
from attnviz.gui.widgets.control import Availability, active_theme, draw_focus_ring
from attnviz.gui.widgets.flow_layout import flow
from attnviz.gui.widgets.window_keys import typed
from attnviz.i18n import _
from attnviz.model.text import Face

CHIP_HEIGHT = 24
_GAP = 6
_PADDING = 9
_WIDEST = 160
_SHOWN_ROWS = 2
_ADD = "+"
_KEYS = frozenset(
    (
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Delete,
        Qt.Key.Key_Backspace,
        Qt.Key.Key_F2,
        Qt.Key.Key_Return,
        Qt.Key.Key_Enter,
    )
)


class TokenChips(Availability, QAbstractScrollArea):
    """Tokens in order, and a "+" chip after them.

    Click selects, double-click or F2 renames in place, dragging or Ctrl+Left and Ctrl+Right moves, Delete
    removes. The chips only emit the user's wishes; the owner of the tokens calls `set_tokens`.
    `moved` carries the old and the new index; `hovered` carries -1 when the pointer leaves.
    """

    clicked = Signal(int)
    hovered = Signal(int)
    renamed = Signal(int, str)
    moved = Signal(int, int)
    removed = Signal(int)
    added = Signal()

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self._tokens: tuple[str, ...] = ()
        self._faces: tuple[Face, ...] = ()
        self._widths = [CHIP_HEIGHT]
        self._rects: list[QRect] = []
        self._flowed = -1
        """Width of the lines that the rectangles were made for; -1 if the tokens changed since."""
        self._height = CHIP_HEIGHT
        self._selected = self._hovered = -1
        self._highlight: frozenset[int] = frozenset()
        self._highlight_color = ""
        self._press: tuple[int, QPointF] | None = None
        self._drop: int | None = None
        self._editor = ChipEditor(self.viewport())
        self._editor.committed.connect(self._on_committed)
        self._editor.closed.connect(self._on_closed)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName(name)

    def tokens(self) -> tuple[str, ...]:
        return self._tokens

    def set_tokens(self, tokens: Sequence[str], faces: Sequence[Face] = ()) -> None:
        """Show `tokens` without emitting; the selection stays if it still fits.

        `faces` define their appearance; without them each is shown as its text.
        """
        shown = tuple(faces) or tuple(Face(visible(token), "") for token in tokens)
        if (tuple(tokens), shown) == (self._tokens, self._faces):
            return
        self._editor.close_editor(take=False)
        self._tokens, self._faces = tuple(tokens), shown
        self._selected = min(self._selected, len(self._tokens) - 1)
        self._hovered = -1
        self._measure()
        self.viewport().update()

    def selected(self) -> int:
        return self._selected

    def set_selected(self, index: int) -> None:
        """Mark a chip as selected without emitting; -1 for none."""
        if index != self._selected:
            self._selected = index if index < len(self._tokens) else -1
            self.viewport().update()

    def set_highlight(self, indices: Collection[int], color: str = "") -> None:
        """Outline the chips of `indices` in `color` (`#rrggbb`; empty means the accent)."""
        marks = (frozenset(indices), color)
        if marks != (self._highlight, self._highlight_color):
            self._highlight, self._highlight_color = marks
            self.viewport().update()

    def chip_rect(self, index: int) -> QRect:
        """Rectangle of a chip on the viewport; index `len(tokens())` is the "+" chip."""
        return self._rects[index].translated(0, -self.verticalScrollBar().value())

    def apply_theme(self, theme: Theme) -> None:
        """Paint with `theme` from now on."""
        self._theme = theme
        self.viewport().update()

    # Layout

    def _measure(self) -> None:
        """Measure every chip, once for these tokens and this font: a new layout of the docks resizes the
        chips several times.
        """
        metrics = self.fontMetrics()
        texts = [face.shown for face in self._faces]
        widths = [min(metrics.horizontalAdvance(text), _WIDEST) + 2 * _PADDING for text in texts]
        self._widths = [max(width, CHIP_HEIGHT) for width in widths] + [CHIP_HEIGHT]
        self._flowed = -1
        self._lay_out()

    def _lay_out(self) -> None:
        if self._flowed != self.viewport().width():
            self._flowed = self.viewport().width()
            self._rects = flow(self._widths, CHIP_HEIGHT, self._flowed, _GAP)
            self._height = self._rects[-1].bottom() + 1 if self._rects else CHIP_HEIGHT
        shown = self.viewport().height()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(self._height - shown, 0))
        bar.setPageStep(shown)
        bar.setSingleStep(CHIP_HEIGHT + _GAP)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._measure()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._editor.close_editor(take=True)
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(200, _SHOWN_ROWS * (CHIP_HEIGHT + _GAP))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, CHIP_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        top, height = self.verticalScrollBar().value(), self.viewport().height()
        first = bisect_left(self._rects, top, key=QRect.top)
        last = bisect_left(self._rects, top + height, key=QRect.bottom)
        if first >= last:  # no chip is whole
            first = bisect_left(self._rects, top, key=QRect.bottom)
            last = bisect_right(self._rects, top + height, key=QRect.top)
        for index in range(first, last):
            self._paint_chip(painter, index, self.chip_rect(index))
        if self._drop is not None:
            self._paint_drop(painter, self._drop)

    def _paint_chip(self, painter: QPainter, index: int, rect: QRect) -> None:
        theme, is_add = self._theme, index == len(self._tokens)
        outline = QColor(theme.accent if index == self._selected else theme.line)
        width = 1.5 if index == self._selected else 1.0
        if index in self._highlight:
            outline, width = QColor(self._highlight_color or theme.accent), 2.0
        is_dashed = is_add or self._faces[index].is_outside
        pen = QPen(outline, width, Qt.PenStyle.DashLine if is_dashed else Qt.PenStyle.SolidLine)
        painter.setPen(pen)
        fill = theme.panel if is_add else theme.field
        painter.setBrush(QColor(theme.hover if index == self._hovered else fill))
        inset = width / 2
        frame = QRectF(rect).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(frame, RADIUS - 1, RADIUS - 1)
        painter.setPen(QColor(theme.muted if is_add else theme.ink))
        room = rect.width() - 2 * _PADDING + 4
        text = (
            _ADD
            if is_add
            else self.fontMetrics().elidedText(self._faces[index].shown, Qt.TextElideMode.ElideRight, room)
        )
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, text)
        if self.hasFocus() and index == self._selected:
            draw_focus_ring(painter, QRectF(rect).adjusted(1, 1, -1, -1), theme, RADIUS - 3)

    def _paint_drop(self, painter: QPainter, index: int) -> None:
        """Paint a bar at the drop position of a dragged chip."""
        before = index < len(self._tokens)
        rect = self.chip_rect(index if before else len(self._tokens) - 1)
        x = rect.left() - _GAP / 2 if before else rect.right() + _GAP / 2
        painter.setPen(QPen(QColor(self._theme.accent), 2))
        painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))

    # Pointer

    def token_at(self, position: QPoint) -> int:
        """The index of the chip at a position of the viewport; −1 for none."""
        index = self._index_at(position)
        return index if index < len(self._tokens) else -1

    def _index_at(self, position: QPoint) -> int:
        shifted = position + QPoint(0, self.verticalScrollBar().value())
        return next((index for index, rect in enumerate(self._rects) if rect.contains(shifted)), -1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._index_at(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or index < 0:
            return
        if index == len(self._tokens):
            self.added.emit()
        else:
            self._press = (index, event.position())
            self._select(index)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            self._hover(self._index_at(event.position().toPoint()))
            return
        travel = event.position() - self._press[1]
        if self._drop is not None or travel.manhattanLength() > 6:
            self._drop = self._gap_at(event.position().toPoint())
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, drop = self._press, self._drop
        self._press = self._drop = None
        self.viewport().unsetCursor()
        self.viewport().update()
        if press is None or drop is None:
            return
        target = drop - (drop > press[0])
        if target != press[0]:
            self._selected = target
            self.moved.emit(press[0], target)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self._index_at(event.position().toPoint())
        self._press = None
        if event.button() == Qt.MouseButton.LeftButton and 0 <= index < len(self._tokens):
            self._select(index)
            self.open_editor(index)
        elif event.button() == Qt.MouseButton.LeftButton and index == len(self._tokens):
            self.added.emit()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(-1)
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self.isEnabled():
            self._show_tooltip(event)
            return True
        return super().viewportEvent(event)

    def _show_tooltip(self, event: QHelpEvent) -> None:
        index = self._index_at(event.pos())
        text = ""
        if index == len(self._tokens):
            text = _("Add a token")
        elif index >= 0:
            text = self._said(index)
        QToolTip.showText(event.globalPos(), plain_tooltip(text), self.viewport())

    def _said(self, index: int) -> str:
        """A chip in words: its position (from 0, as in masks) and text, its id and bytes."""
        face = self._faces[index]
        text = _("Position {index}: {text}").format(index=index, text=face.shown)
        return f"{text} · {face.note}" if face.note else text

    def _gap_at(self, position: QPoint) -> int:
        """The index before which a chip dropped at `position` is inserted."""
        shifted = position + QPoint(0, self.verticalScrollBar().value())
        for index, rect in enumerate(self._rects[: len(self._tokens)]):
            if shifted.y() < rect.top() - _GAP / 2:
                return index
            if shifted.y() <= rect.bottom() + _GAP / 2 and shifted.x() < rect.center().x():
                return index
        return len(self._tokens)

    def _hover(self, index: int) -> None:
        if index != self._hovered:
            self._hovered = index
            self.viewport().update()
            self.hovered.emit(index if index < len(self._tokens) else -1)

    def _select(self, index: int) -> None:
        self._selected = index
        self.setAccessibleDescription(self._said(index))
        self.viewport().update()
        self.clicked.emit(index)

    # Keyboard

    def takes_key(self, event: QKeyEvent) -> bool:
        return Qt.Key(event.key()) in _KEYS or typed(event) == _ADD

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        index, count = self._selected, len(self._tokens)
        if step is not None and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if index >= 0 and 0 <= index + step < count:
                self._selected = index + step
                self.moved.emit(index, index + step)
        elif step is not None and count:
            self._select(min(max(index + step, 0), count - 1))
            self._scroll_to(self._selected)
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and index >= 0:
            self.removed.emit(index)
        elif event.key() in (Qt.Key.Key_F2, Qt.Key.Key_Return, Qt.Key.Key_Enter) and index >= 0:
            self.open_editor(index)
        elif typed(event) == _ADD:
            self.added.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _scroll_to(self, index: int) -> None:
        rect, bar = self.chip_rect(index), self.verticalScrollBar()
        overshoot = min(rect.top(), 0) or max(rect.bottom() + 1 - self.viewport().height(), 0)
        bar.setValue(bar.value() + overshoot)

    # Renaming

    def open_editor(self, index: int) -> None:
        """Rename a chip in place."""
        self._scroll_to(index)
        rect = self.chip_rect(index)
        rect.setWidth(max(rect.width() + 16, 72))
        rect.moveRight(min(rect.right(), max(self.viewport().width() - 1, rect.width() - 1)))
        self._editor.setAccessibleName(self._said(index))
        shown, token = self._faces[index].shown, self._tokens[index]
        is_text = shown == visible(token) and not is_byte_token(token)
        self._editor.open_editor(token if is_text else shown, rect)

    def _on_committed(self, text: str) -> None:
        if 0 <= self._selected < len(self._tokens):
            self.renamed.emit(self._selected, text)

    def _on_closed(self) -> None:
        if self._editor.hasFocus():
            self.setFocus()
