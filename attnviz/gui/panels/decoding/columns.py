"""The titles above the distributions: one for each operation, dragged into another order."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.decoding.bars import DistributionBars, DistributionColumn
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.grip import SLACK_PX, gap_at, place_in
from attnviz.i18n import _

HEIGHT = 18
_PADDING = 3


class ColumnTitles(Control):
    """Stands above `bars`, with its columns; a narrow column has the short name of its operation.

    A title is dragged to another place, or chosen with Left and Right and moved with Alt and these: `moved`
    carries the old and the new index. The titles do not move by themselves: whoever has the order does that.
    """

    moved = Signal(int, int)

    def __init__(self, bars: DistributionBars, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars = bars
        self._columns: tuple[DistributionColumn, ...] = ()
        self._chosen = -1
        self._held: tuple[int, QPointF] | None = None
        self._gap: int | None = None
        bars.installEventFilter(self)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_columns(self, columns: Sequence[DistributionColumn]) -> None:
        """Show these titles."""
        if tuple(columns) != self._columns:
            self._columns = tuple(columns)
            self._chosen = min(self._chosen, len(columns) - 1)
            # Nothing to step through is no stop of the Tab key.
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if columns else Qt.FocusPolicy.NoFocus)
            self._end_drag()  # what was dragged may be somewhere else now

    def sizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, HEIGHT)

    def title_rect(self, column: int) -> QRectF:
        """Rectangle of a title on the widget."""
        left, width = self._bars.column(column)
        return QRectF(left - _PADDING, 0, width - 1, self.height())

    def title_text(self, column: int) -> str:
        """The longest name that fits."""
        names = (self._columns[column].title, self._columns[column].short)
        metrics, room = QFontMetrics(ui_font(11)), int(self.title_rect(column).width()) - _PADDING
        fitting = (name for name in names if metrics.horizontalAdvance(name) <= room)
        return next(fitting, metrics.elidedText(names[1], Qt.TextElideMode.ElideRight, room))

    def gap_x(self, gap: int) -> float:
        """Position of the line that shows a gap, 1 before the first movable title."""
        if gap < len(self._columns):
            return max(self.title_rect(gap).left() - 1, 1.0)
        return min(self.title_rect(gap - 1).right(), self.width() - 1.0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(11))
        for column in range(len(self._columns)):
            rect = self.title_rect(column)
            is_held = self._gap is not None and self._held is not None and self._held[0] == column
            if is_held:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(self._theme.hover))
                painter.drawRoundedRect(rect, 3, 3)
            painter.setPen(QColor(self._theme.accent if is_held else self._theme.muted))
            inside = rect.adjusted(_PADDING, 0, 0, 0)
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(inside, left, self.title_text(column))
            if self.hasFocus() and column == max(self._chosen, 0):
                draw_focus_ring(painter, rect, self._theme, 3)
        if self._gap is not None:
            x = self.gap_x(self._gap)
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.drawLine(QPointF(x, 1), QPointF(x, self.height() - 1))

    # --- the pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        column = self._column_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and column >= 0:
            self._choose(column)
            if self._can_move(column):
                self._held = column, event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._held is None:
            is_movable = self._can_move(self._column_at(event.position()))
            self.setCursor(Qt.CursorShape.OpenHandCursor if is_movable else Qt.CursorShape.ArrowCursor)
            return
        travel = event.position() - self._held[1]
        if self._gap is not None or travel.manhattanLength() > SLACK_PX:
            first = self._first_movable()
            middles = [self.title_rect(at).center().x() for at in range(first, len(self._columns))]
            self._gap = first + gap_at(middles, event.position().x())
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        held, gap = self._held, self._gap
        self._end_drag()
        if held is not None and gap is not None:
            self._move(held[0], place_in(gap, held[0]))

    def hideEvent(self, event: QHideEvent) -> None:
        self._end_drag()
        super().hideEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            column = self._column_at(QPointF(event.pos()))
            words = self._words(column) if column >= 0 else ""
            QToolTip.showText(event.globalPos(), plain_tooltip(words), self)
            return True
        return super().event(event)

    def _words(self, column: int) -> str:
        """The full name, its effect, and its keys."""
        how = _("Drag to reorder (Alt+← and Alt+→)")
        shown = self._columns[column]
        parts = [shown.title, shown.words, how if self._can_move(column) else ""]
        return " · ".join(part for part in parts if part)

    # --- the keys

    def takes_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            return self._gap is not None
        return event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.key() == Qt.Key.Key_Escape and self._gap is not None:
            self._end_drag()
        elif by is None or not self._columns:
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._move(self._chosen, self._chosen + by)
        else:
            self._choose(min(max(self._chosen + by, 0), len(self._columns) - 1))

    # --- what both do

    def _first_movable(self) -> int:
        return next((at for at, column in enumerate(self._columns) if column.can_move), len(self._columns))

    def _can_move(self, column: int) -> bool:
        """True if the title can move: it belongs to an operation, and another one exists."""
        return column >= self._first_movable() and len(self._columns) - self._first_movable() > 1

    def _move(self, source: int, target: int) -> None:
        is_legal = self._first_movable() <= target < len(self._columns)
        if target != source and is_legal and self._can_move(source):
            self._chosen = target
            self.moved.emit(source, target)

    def _choose(self, column: int) -> None:
        self._chosen = column
        self.setAccessibleDescription(self._words(column))
        self.update()

    def _column_at(self, position: QPointF) -> int:
        places = range(len(self._columns))
        return next((at for at in places if self.title_rect(at).contains(position)), -1)

    def _end_drag(self) -> None:
        self._held = self._gap = None
        self.unsetCursor()
        self.update()
