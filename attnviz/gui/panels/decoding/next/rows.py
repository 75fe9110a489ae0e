"""The most probable next tokens as rows, each with its bars, its number, and the offer to use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import named
from attnviz.core.text import number
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.scroll import is_cut
from attnviz.i18n import _

ROW_PX = 28
_LABEL_LIMIT = 120
_NUMBER_PX, _BUTTON_PX = 52, 60
"""Room for a number, and for a button: a wider one lies over its bar."""
_BAR_PX, _AFTER_PX = 12, 4
"""Heights of the bar of the model, and of the one after the operations."""


@dataclass(frozen=True)
class NextRow:
    """One token: its label, its tooltip, its probability, that after the operations, and how it is chosen."""

    label: str
    words: str
    probability: float
    after: float
    is_chosen: bool = False
    is_forced: bool = False

    @property
    def offer(self) -> str:
        """Text of its button."""
        return _("Sample again") if self.is_forced else _("Use it")


class NextRows(Along):
    """`clicked` carries a row whose number is to stay; `used` one whose token is to be generated.

    That is by its label, its button or Enter.
    """

    used = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[NextRow, ...] = ()
        self._shows_after = False
        self._widest, self._full = 0, 1.0
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_rows(self, rows: Sequence[NextRow], *, shows_after: bool) -> None:
        """Show these; with `shows_after`, a thin bar has the probability after the operations."""
        is_new_height = len(rows) != len(self.rows)
        self.rows, self._shows_after = tuple(rows), shows_after
        self._current = min(self._current, len(rows) - 1)
        self._widest = self._widest_label()
        self._full = self._full_bar()
        if is_new_height:
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, max(len(self.rows), 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def row_rect(self, row: int) -> QRectF:
        """The whole row."""
        return QRectF(0, row * ROW_PX, self.width(), ROW_PX)

    def label_rect(self, row: int) -> QRectF:
        """The token at the left end of a row."""
        return QRectF(GRID, row * ROW_PX, self._label_width(), ROW_PX)

    def button_rect(self, row: int) -> QRectF:
        """The offer to use the token, at the right end of the row under the mouse."""
        width = QFontMetrics(ui_font(TEXT_PX)).horizontalAdvance(self.rows[row].offer) + 2 * GRID
        return QRectF(self.width() - width - 4, row * ROW_PX + 3, width, ROW_PX - 6)

    def bar_rect(self, row: int) -> QRectF:
        """The bar of the model's probability."""
        left = 2 * GRID + self._label_width()
        room = max(self.width() - _BUTTON_PX - left - _NUMBER_PX - GRID, 16.0)
        length = max(room * min(self.rows[row].probability / self._full, 1.0), 1.0)
        return QRectF(left, row * ROW_PX + (ROW_PX - _BAR_PX) / 2, length, _BAR_PX)

    def _full_bar(self) -> float:
        """The probability of a full bar: the largest that is shown, of at least a tenth."""
        most = max((max(row.probability, row.after * self._shows_after) for row in self.rows), default=1.0)
        return max(most, 0.1)

    def _widest_label(self) -> int:
        metrics = QFontMetrics(ui_font(TEXT_PX + 2, QFont.Weight.DemiBold))
        return max((metrics.horizontalAdvance(row.label) for row in self.rows), default=0)

    def _label_width(self) -> int:
        return int(min(self._widest + 4, _LABEL_LIMIT, self.width() // 4))

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        first, last = event.rect().top() // ROW_PX, event.rect().bottom() // ROW_PX
        for row in range(max(first, 0), min(last + 1, len(self.rows))):
            if not self._is_cut(row):
                self._paint_row(painter, row)
        if self.hasFocus():
            visible = QRectF(self.visibleRegion().boundingRect())
            ring = self.row_rect(self._current) if self._current >= 0 else visible
            draw_focus_ring(painter, ring, self._theme, 3)

    def _is_cut(self, row: int) -> bool:
        return is_cut(self, self.row_rect(row).toRect())

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, shown = self._theme, self.rows[row]
        if row == self._current:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(self.row_rect(row), RADIUS - 2, RADIUS - 2)
        weight = QFont.Weight.DemiBold if shown.is_chosen else QFont.Weight.Normal
        painter.setFont(ui_font(TEXT_PX + 2, weight))
        painter.setPen(QColor(theme.accent if shown.is_chosen else theme.ink))
        label, middle = self.label_rect(row), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        text = painter.fontMetrics().elidedText(shown.label, Qt.TextElideMode.ElideRight, int(label.width()))
        painter.drawText(label, middle, text)
        self._paint_bars(painter, row)
        if row == self._current:
            self._paint_button(painter, row)

    def _paint_bars(self, painter: QPainter, row: int) -> None:
        theme, shown, bar = self._theme, self.rows[row], self.bar_rect(row)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent if shown.is_chosen else theme.value_mark))
        painter.drawRoundedRect(bar, 2, 2)
        end = bar.right()
        if self._shows_after and shown.after > 0:
            length = bar.width() * shown.after / max(shown.probability, 1e-30)
            thin = QRectF(bar.left(), bar.bottom() + 2, max(length, 1.0), _AFTER_PX)
            painter.setOpacity(0.55)
            painter.setBrush(QColor(theme.muted))
            painter.drawRect(thin)
            painter.setOpacity(1.0)
        painter.setFont(number_font(TEXT_PX))
        painter.setPen(QColor(theme.ink))
        after = QRectF(end + GRID, row * ROW_PX, _NUMBER_PX, ROW_PX)
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(after, middle, number(shown.probability, 4))

    def _paint_button(self, painter: QPainter, row: int) -> None:
        theme, rect = self._theme, self.button_rect(row).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(theme.accent))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(rect, RADIUS - 1, RADIUS - 1)
        painter.setFont(ui_font(TEXT_PX))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, self.rows[row].offer)

    # --- mouse and keys

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        row = self.part_at(event.position())
        uses = row >= 0 and self._uses(row, event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if uses else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.part_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and row >= 0:
            (self.used if self._uses(row, event.position()) else self.clicked).emit(row)

    def _uses(self, row: int, position: QPointF) -> bool:
        return self.label_rect(row).contains(position) or self.button_rect(row).contains(position)

    def choose(self, part: int) -> None:
        self.used.emit(part)

    def count(self) -> int:
        return len(self.rows)

    def part_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_PX)
        return row if 0 <= row < len(self.rows) and not self._is_cut(row) else -1

    def told(self, part: int) -> str:
        """The token, and its probabilities with all digits that matter."""
        shown = self.rows[part]
        parts = [shown.words, named("p", number(shown.probability, 6))]
        if self._shows_after:
            parts.append(named(_("after the operations"), number(shown.after, 6)))
        return " · ".join(parts)
