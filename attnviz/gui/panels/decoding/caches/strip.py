"""The new row of weights as columns in the order of the keys, with the largest named above."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import named, phrased
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.widgets.along import ACROSS, Along
from attnviz.gui.widgets.control import draw_focus_ring

HEIGHT, HIGH = 46, 84
"""In a low panel and in a high one."""
_TOP = 18
"""Room for the names of the largest weights."""
_WIDEST = 24.0
_LABEL_PX = 12.0
"""Width of a column from which the token stands below it."""
_BELOW, _LABEL_TEXT_PX = 14, 10
_NAMED = 5
_APART = "   "


class WeightStrip(Along):
    """One column for each key."""

    keys = ACROSS

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ""
        self._labels: tuple[str, ...] = ()
        self._values: tuple[float, ...] = ()
        self.setFixedHeight(HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def values(self) -> tuple[float, ...]:
        """The weights, one for each key."""
        return self._values

    def set_rows(self, title: str, labels: Sequence[str], values: Sequence[float]) -> None:
        """Show the weights of keys with these tokens, 1 as a full column; the title stands above."""
        self._title = title
        self._labels = tuple(visible(label) for label in labels)
        self._values = tuple(values)
        self._current = min(self._current, len(values) - 1)
        if self._current < 0:
            self.setAccessibleDescription(phrased(self.named()))
        self.update()

    def named(self) -> list[str]:
        """The largest weights with their tokens."""
        finite = [i for i, value in enumerate(self._values) if math.isfinite(value)]
        order = sorted(finite, key=lambda i: -self._values[i])[:_NAMED]
        return [f"{isolated(self._labels[i])} {number(self._values[i], 3)}" for i in order]

    def named_within(self, room: float, metrics: QFontMetrics) -> str:
        """As many of the largest weights as `room` holds whole, at least one."""
        named = self.named()
        while len(named) > 1 and metrics.horizontalAdvance(_APART.join(named)) > room:
            named.pop()
        return _APART.join(named)

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, HEIGHT)

    def column_rect(self, column: int) -> QRectF:
        """The place of a key, from the top of a full column to its foot."""
        width = self._width()
        below = _BELOW if self._has_labels else 2
        return QRectF(column * width, _TOP, width, self.height() - _TOP - below)

    @property
    def _has_labels(self) -> bool:
        """True if the tokens stand below their columns: where most of them fit."""
        if self._width() < _LABEL_PX or self.height() < HIGH:
            return False
        metrics = QFontMetrics(number_font(_LABEL_TEXT_PX))
        n_fitting = sum(metrics.horizontalAdvance(label) <= self._width() + 2 for label in self._labels)
        return n_fitting > len(self._labels) / 2

    def _width(self) -> float:
        return min(self.width() / max(len(self._values), 1), _WIDEST)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        self._paint_title(painter)
        foot = self.column_rect(0).bottom()
        painter.fillRect(QRectF(0, foot, self._width() * len(self._values), 1), QColor(theme.line))
        gap = 1.0 if self._width() >= 4 else 0.0
        for column, value in enumerate(self._values):
            place = self.column_rect(column)
            if column == self._current:
                painter.fillRect(place, QColor(theme.hover))
            if math.isfinite(value):
                height = place.height() * min(max(value, 0.0), 1.0)
                bar = QRectF(place.left() + gap / 2, foot - height, place.width() - gap, height)
                painter.fillRect(bar, QColor(theme.accent))
            else:
                painter.fillRect(place, QColor(theme.error))
            if self._has_labels:
                self._paint_label(painter, column, place)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme, 3)

    def _paint_title(self, painter: QPainter) -> None:
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(self._theme.muted))
        metrics, left = painter.fontMetrics(), Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRectF(0, 0, self.width(), _TOP), left, self._title)
        start = metrics.horizontalAdvance(self._title) + 8
        words = (
            self.named_within(self.width() - start, metrics)
            if self._current < 0
            else self.told(self._current)
        )
        shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, int(self.width() - start))
        painter.setPen(QColor(self._theme.ink))
        painter.drawText(QRectF(start, 0, self.width() - start, _TOP), left, shown)

    def _paint_label(self, painter: QPainter, column: int, place: QRectF) -> None:
        """The token of a column, if it fits; a part of it would be another token."""
        painter.setFont(number_font(_LABEL_TEXT_PX))
        painter.setPen(QColor(self._theme.key))
        below = QRectF(place.left(), place.bottom() + 1, place.width(), _BELOW - 1)
        if painter.fontMetrics().horizontalAdvance(self._labels[column]) <= place.width() + 2:
            flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextDontClip
            painter.drawText(below, flags, self._labels[column])

    def count(self) -> int:
        return len(self._values)

    def part_at(self, position: QPointF) -> int:
        column = int(position.x() // max(self._width(), 1e-6))
        return column if 0 <= column < len(self._values) else -1

    def told(self, part: int) -> str:
        return named(isolated(self._labels[part]), number(self._values[part], 6))
