"""Labelled horizontal bars with their numbers: a row of weights, a next-token distribution."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import named
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.numbers.text import full_precision
from attnviz.i18n import _

ROW_HEIGHT = 24
_LABEL_LIMIT = 96
_SHORTEST = 8.0
"""Room that is always left for the longest bar."""
_DIGITS = 4


class Bars(Along):
    """One bar per row, all on one scale.

    Blocked rows are hatched and labelled as blocked; NaN and infinities are written, not drawn.
    """

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._labels: tuple[str, ...] = ()
        self._values: tuple[float, ...] = ()
        self._colors: tuple[str, ...] = ()
        self._blocked: frozenset[int] = frozenset()
        self._label_color = ""
        self._full, self._has_negative = 1.0, False
        self._widest: tuple[tuple[tuple[str, ...], str], int] | None = None
        self._longest: tuple[tuple[int, str], int] | None = None
        self._changes = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)

    def set_rows(
        self,
        labels: Sequence[str],
        values: Sequence[float],
        colors: Sequence[str] | str = "",
        blocked: Collection[int] = (),
        *,
        limit: float | None = None,
        label_color: str = "",
    ) -> None:
        """Show `values` beside `labels`.

        `colors`: one `#rrggbb` for all, or one per row; the accent where empty. `blocked`: row indices.
        A full bar is `limit`, or the largest finite magnitude if it is None.
        """
        count = len(values)
        is_new_height = count != len(self._values)
        self._labels = tuple(visible(label) for label in labels)
        self._values = tuple(float(value) for value in values)
        self._colors = (colors,) * count if isinstance(colors, str) else tuple(colors)
        self._blocked = frozenset(blocked)
        self._label_color = label_color
        finite = [abs(value) for value in self._values if math.isfinite(value)]
        self._full = limit or max(finite, default=0.0) or 1.0
        self._has_negative = any(value < 0 for value in self._values if math.isfinite(value))
        self._changes += 1
        self._current = min(self._current, count - 1)
        if is_new_height:
            self.updateGeometry()
        self.update()

    def set_highlight(self, row: int) -> None:
        """Light one row without emitting; -1 for none."""
        if row != self._current:
            self._current = row
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, max(len(self._values), 1) * ROW_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(124, self.sizeHint().height())

    def row_rect(self, row: int) -> QRect:
        return QRect(0, row * ROW_HEIGHT, self.width(), ROW_HEIGHT)

    def bar_rect(self, row: int) -> QRectF:
        """The bar of a row; negative values go left from the zero line."""
        left, room = self._bar_span()
        zero, unit = (left + room / 2, room / 2) if self._has_negative else (left, room)
        value = self._values[row] if math.isfinite(self._values[row]) else 0.0
        length = max(min(abs(value) / self._full, 1.0) * unit, 1.0)
        top = row * ROW_HEIGHT + 4.0
        return QRectF(zero - length if value < 0 else zero, top, length, ROW_HEIGHT - 8.0)

    def _bar_span(self) -> tuple[float, float]:
        # Labels can be cut off, numbers cannot: a cut number is another number.
        beside = 10.0 + _SHORTEST + 8.0 + self._number_width()
        left = max(min(self._label_width() + 2, _LABEL_LIMIT, self.width() - beside), 0.0) + 10.0
        return left, max(self.width() - left - self._number_width() - 8.0, _SHORTEST)

    def _label_width(self) -> int:
        """The widest label; measured once for all rows, as every row asks."""
        known = (self._labels, self.font().key())
        if self._widest is None or self._widest[0] != known:
            metrics = self.fontMetrics()
            self._widest = known, max((metrics.horizontalAdvance(text) for text in self._labels), default=0)
        return self._widest[1]

    def _number_width(self) -> int:
        """Room for the longest number; measured once for all rows, as every row asks."""
        known = (self._changes, _("blocked"))
        if self._longest is None or self._longest[0] != known:
            digits = max((len(self._text(row)) for row in range(len(self._values))), default=6)
            self._longest = known, digits * (TEXT_PX * 6 // 10 + 1)
        return self._longest[1]

    def _text(self, row: int) -> str:
        return _("blocked") if row in self._blocked else number(self._values[row], _DIGITS)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        top, bottom = event.rect().top() // ROW_HEIGHT, event.rect().bottom() // ROW_HEIGHT
        for row in range(max(top, 0), min(bottom + 1, len(self._values))):
            self._paint_row(painter, row)
        if self.hasFocus():
            is_row = 0 <= self._current < len(self._values)
            ring = self.row_rect(self._current) if is_row else self.visibleRegion().boundingRect()
            draw_focus_ring(painter, QRectF(ring), self._theme, 3)

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, rect, bar = self._theme, self.row_rect(row), self.bar_rect(row)
        if row == self._current:
            painter.fillRect(rect, QColor(theme.hover))
        left = self._bar_span()[0]
        label = QRectF(0, rect.top(), left - 10, ROW_HEIGHT)
        room = int(label.width())
        shown = self.fontMetrics().elidedText(self._labels[row], Qt.TextElideMode.ElideRight, room)
        painter.setFont(self.font())
        painter.setPen(QColor(self._label_color or theme.ink))
        painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown)
        is_blocked = row in self._blocked
        if is_blocked:
            bar.setWidth(self._bar_span()[1])
            painter.fillRect(bar, QBrush(QColor(theme.line), Qt.BrushStyle.BDiagPattern))
        elif math.isfinite(self._values[row]):
            painter.fillRect(bar, QColor(self._colors[row] or theme.accent))
        painter.setFont(number_font(TEXT_PX - 1))
        painter.setPen(QColor(theme.muted if is_blocked or math.isfinite(self._values[row]) else theme.error))
        after = QRectF(bar.right() + 6, rect.top(), self.width() - bar.right() - 6, ROW_HEIGHT)
        painter.drawText(after, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self._text(row))

    def count(self) -> int:
        return len(self._values)

    def part_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_HEIGHT)
        return row if 0 <= row < len(self._values) else -1

    def told(self, part: int) -> str:
        return self._line(part, full_precision(self._values[part]))

    def spoken(self, part: int) -> str:
        return self._line(part, self._text(part))

    def _line(self, row: int, value: str) -> str:
        return named(isolated(self._labels[row]), value)
