"""The distribution of the next token before and after each operation, side by side, as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from attnviz.core.phrases import named
from attnviz.core.text import number
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.i18n import _

ROW_PX = 18
_LABEL_LIMIT = 88
_MARK_PX = 10
_NUMBER_PX = 40
_NARROWEST_WITH_NUMBER = 84
_NARROWEST = 33
"""Room for a short name above a bar."""
_BEFORE = 0.45
"""Opacity of bars that a later operation changes once more."""

_FULL = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Probabilities of a full bar: few values, so that bars move and the scale rarely does."""


@dataclass(frozen=True)
class DistributionRow:
    """One token: its label, its tooltip, and whether it was sampled."""

    label: str
    words: str
    is_drawn: bool = False


@dataclass(frozen=True)
class DistributionColumn:
    """One distribution: its name, a short one for a narrow column, its tooltip.

    `can_move` is true for an operation, whose place in the order can change.
    """

    title: str
    short: str
    words: str
    can_move: bool = False


class DistributionBars(Control):
    """One row for each token, one column for each distribution; removed tokens are greyed.

    `values` are (row, column) probabilities, `removed` the same shape. All bars have one scale.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[DistributionRow, ...] = ()
        self._columns: tuple[DistributionColumn, ...] = ()
        self._values: NDArray[np.float64] = np.zeros((0, 0))
        self._removed: NDArray[np.bool_] = np.zeros((0, 0), dtype=np.bool_)
        self._current = -1
        self._widest: tuple[tuple[DistributionRow, ...], str, int] = ((), "", 0)
        """Width of the widest label, and the rows and the font that it was measured for."""
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def full(self) -> float:
        """The probability of a full bar."""
        most = float(self._values.max(initial=0.0))
        return next((full for full in _FULL if most <= full), 1.0)

    def set_distributions(
        self,
        rows: Sequence[DistributionRow],
        columns: Sequence[DistributionColumn],
        values: NDArray[np.float64],
        removed: NDArray[np.bool_],
    ) -> None:
        """Show these tokens and distributions."""
        is_new_size = (len(rows), len(columns)) != (len(self._rows), len(self._columns))
        # Nothing to step through is no stop of the Tab key.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if rows else Qt.FocusPolicy.NoFocus)
        self._rows, self._columns = tuple(rows), tuple(columns)
        self._values, self._removed = values, removed
        self._current = min(self._current, len(rows) - 1)
        if is_new_size:
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, max(len(self._rows), 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(100 + _NARROWEST * max(len(self._columns), 1), self.sizeHint().height())

    def bar_rect(self, row: int, column: int) -> QRectF:
        """The bar of one token in one distribution."""
        left, width = self.column(column)
        room = width - 6 - (_NUMBER_PX if self._has_number(column) else 0)
        value = self._values[row, column]
        length = room * min(float(value) / self.full, 1.0) if math.isfinite(value) else 0.0
        return QRectF(left, row * ROW_PX + 3.0, max(length, 0.0), ROW_PX - 6.0)

    def column(self, column: int) -> tuple[float, float]:
        """Left end and width of a distribution."""
        left = self._label_width() + _MARK_PX
        count = max(len(self._columns), 1)
        room = self.width() - left
        # The last one has its number in any case.
        each = (room - (0 if self._all_fit(room, count) else _NUMBER_PX)) / count
        width = each + (_NUMBER_PX if column == count - 1 and not self._all_fit(room, count) else 0)
        return left + column * each, width

    @staticmethod
    def _all_fit(room: float, count: int) -> bool:
        return room / count >= _NARROWEST_WITH_NUMBER

    def _has_number(self, column: int) -> bool:
        room = self.width() - self._label_width() - _MARK_PX
        return column == len(self._columns) - 1 or self._all_fit(room, max(len(self._columns), 1))

    def _label_width(self) -> float:
        rows, font, widest = self._widest
        if rows is not self._rows or font != self.font().key():
            metrics = self.fontMetrics()
            widest = max((metrics.horizontalAdvance(row.label) for row in self._rows), default=0)
            self._widest = self._rows, self.font().key(), widest
        return float(min(widest + 6, _LABEL_LIMIT, self.width() // 7))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        first = max(event.rect().top() // ROW_PX, 0)
        last = min(event.rect().bottom() // ROW_PX + 1, len(self._rows))
        for row in range(first, last):
            self._paint_row(painter, row)
        if self.hasFocus():
            draw_focus_ring(painter, self._row_rect(max(self._current, 0)), self._theme, 3)

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, rect, shown = self._theme, self._row_rect(row), self._rows[row]
        if shown.is_drawn:
            painter.fillRect(rect, QColor(theme.hover))
            middle = rect.center().y()
            mark = QPolygonF([QPointF(1, middle - 4), QPointF(7, middle), QPointF(1, middle + 4)])
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent))
            painter.drawPolygon(mark)
        is_removed = bool(self._removed[row, -1])
        label = QRectF(_MARK_PX, rect.top(), self._label_width() - 6, ROW_PX)
        font = QFont(self.font())
        font.setStrikeOut(is_removed)
        painter.setFont(font)
        painter.setPen(QColor(theme.muted if is_removed else theme.ink))
        text = painter.fontMetrics().elidedText(shown.label, Qt.TextElideMode.ElideRight, int(label.width()))
        painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        for column in range(len(self._columns)):
            self._paint_bar(painter, row, column)

    def _paint_bar(self, painter: QPainter, row: int, column: int) -> None:
        theme, bar = self._theme, self.bar_rect(row, column)
        is_last, is_gone = column == len(self._columns) - 1, bool(self._removed[row, column])
        painter.setOpacity(1.0 if is_last else _BEFORE)
        if not is_gone:
            painter.fillRect(bar, QColor(theme.value))
        painter.setOpacity(1.0)
        if self._has_number(column):
            painter.setFont(number_font(TEXT_PX - 1))
            painter.setPen(QColor(theme.muted))
            after = QRectF(bar.right() + 4, bar.top() - 3, _NUMBER_PX, ROW_PX)
            text = "–" if is_gone else number(float(self._values[row, column]), 3)
            painter.drawText(after, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _row_rect(self, row: int) -> QRectF:
        return QRectF(0, row * ROW_PX, self.width(), ROW_PX)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._go_to(self._row_at(event.position()))

    def takes_key(self, event: QKeyEvent) -> bool:
        return event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        elif self._rows:
            self._go_to(min(max(self._current + by, 0), len(self._rows) - 1))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            row = self._row_at(QPointF(event.pos()))
            words = self._words(row) if row >= 0 else ""
            QToolTip.showText(event.globalPos(), plain_tooltip(words), self)
            return True
        return super().event(event)

    def _words(self, row: int) -> str:
        """The token, and its probability in every distribution with all digits that matter."""
        parts = [self._rows[row].words]
        for column, value, is_gone in zip(self._columns, self._values[row], self._removed[row], strict=True):
            parts.append(named(column.title, _("removed") if is_gone else number(float(value), 6)))
        return " · ".join(parts)

    def _row_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_PX)
        return row if 0 <= row < len(self._rows) else -1

    def _go_to(self, row: int) -> None:
        self._current = row
        if row >= 0:
            self.setAccessibleDescription(self._words(row))
        self.update()
