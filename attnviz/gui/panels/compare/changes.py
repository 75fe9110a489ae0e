"""The cells that change most, as rows: query → key, A, B, and a bar of B − A."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.text import number, signed, visible
from attnviz.gui.look.colors import LEVELS, cell_colors
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.compare.picture import DIGITS, change_sentence
from attnviz.gui.widgets.button import PaintedButton, rove
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.study.contrast.contrast import Change

ROWS = 12
ROW_HEIGHT = 24
NUMBER_WIDTH = 50.0
BAR_WIDTH = 72.0


@lru_cache(maxsize=1024)
def _advance(text: str, px: int) -> float:
    """Width of `text` in pixels: labels stay while their numbers change."""
    return QFontMetricsF(ui_font(px)).horizontalAdvance(text)


@lru_cache(maxsize=1024)
def _elided(text: str, px: int, most: float) -> str:
    """The part of `text` that `most` pixels hold."""
    return QFontMetricsF(ui_font(px)).elidedText(text, Qt.TextElideMode.ElideMiddle, most)


class ChangeRow(PaintedButton):
    """One changed cell; a click chooses it."""

    def __init__(self, index: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(f"compare_change_{index}")
        self.setProperty("index", index)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._change: Change | None = None
        self._most = 1.0

    def set_change(self, change: Change, most: float) -> None:
        """Show another cell; a full half of the bar is `most`."""
        if (change, most) == (self._change, self._most):
            return
        self._change, self._most = change, most
        self.update()
        sentence = change_sentence(change)
        if sentence != self.text():
            self.setText(sentence)
            self.setAccessibleName(sentence)
            self.setToolTip(plain_tooltip(sentence))

    def nextCheckState(self) -> None:
        """A click only emits; the owner chooses."""

    def sizeHint(self) -> QSize:
        return QSize(300, ROW_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, ROW_HEIGHT)

    def bar_rect(self) -> QRectF:
        """The bar of the difference; empty if it has no finite size."""
        change = self._change
        size = 0.0 if change is None else change.difference
        if not math.isfinite(size):
            size = math.copysign(self._most, size) if math.isinf(size) else 0.0
        half = BAR_WIDTH / 2
        length = half * max(-1.0, min(1.0, size / self._most))
        middle = self._bar_left() + half
        return QRectF(min(middle, middle + length), 6.0, abs(length), ROW_HEIGHT - 12.0)

    def _bar_left(self) -> float:
        return self.width() - NUMBER_WIDTH - BAR_WIDTH - 2 * GRID

    def paintEvent(self, event: QPaintEvent) -> None:
        change, theme = self._change, self._theme
        if change is None:
            return
        painter = QPainter(self)
        if self.isChecked() or self.underMouse():
            ground = QColor(theme.accent if self.isChecked() else theme.hover)
            ground.setAlphaF(0.12 if self.isChecked() else 1.0)
            painter.fillRect(self.rect(), ground)
        has_bar = self._bar_left() - 2 * NUMBER_WIDTH > 90
        right = self._bar_left() if has_bar else self.width() - NUMBER_WIDTH - GRID
        self._paint_cell(painter, change, right - 2 * NUMBER_WIDTH - 2 * GRID)
        painter.setFont(number_font(TEXT_PX))
        for text, edge in (
            (number(change.first, DIGITS), right - NUMBER_WIDTH - GRID),
            (number(change.second, DIGITS), right - GRID),
            (signed(change.difference, DIGITS), self.width() - GRID),
        ):
            self._paint_number(painter, text, edge)
        if has_bar:
            colors = cell_colors("diverging", theme)
            red, green, blue = colors[LEVELS // 8 if change.difference < 0 else -LEVELS // 8]
            painter.fillRect(self.bar_rect(), QColor(int(red), int(green), int(blue)))
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme, 4)
        painter.end()

    def _paint_cell(self, painter: QPainter, change: Change, room: float) -> None:
        """`query 21 → key 5`: labels in their colours, positions small."""
        theme, plain, small = self._theme, TEXT_PX, TEXT_PX - 2
        metrics = QFontMetricsF(ui_font(plain))
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        x = float(GRID)
        query, key = visible(change.row_label), visible(change.column_label)
        query_width, key_width = _advance(query, plain), _advance(key, plain)
        has_positions = query_width + key_width + 76 <= room - x
        wide = room - x - (76 if has_positions else 32)  # what positions, arrow and gaps leave
        of_query = max(wide / 2, wide - key_width)
        parts: list[tuple[str, str, int, float]] = [
            (query, theme.query, plain, of_query),
            (str(change.row + 1), theme.muted, small, 40),
            ("→", theme.ink, plain, 40),
            (key, theme.key, plain, wide - min(of_query, query_width)),
            (str(change.column + 1), theme.muted, small, 40),
        ]
        for text, color, px, most in parts if has_positions else (parts[0], parts[2], parts[3]):
            shown = _elided(text, px, most)
            painter.setFont(ui_font(px))
            painter.setPen(QColor(color))
            painter.drawText(QPointF(x, base), shown)
            x += _advance(shown, px) + 5

    def _paint_number(self, painter: QPainter, text: str, edge: float) -> None:
        metrics = QFontMetricsF(painter.font())
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        painter.setPen(QColor(self._theme.ink))
        painter.drawText(QPointF(edge - metrics.horizontalAdvance(text), base), text)


class ChangeRows(QWidget):
    """The greatest changes, one below the other."""

    chosen = Signal(int)
    """Index of the row that was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = [ChangeRow(index) for index in range(ROWS)]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for row in self._rows:
            row.clicked.connect(self._on_clicked)
            row.hide()
            column.addWidget(row)
        column.addStretch(1)

    def set_changes(self, changes: Sequence[Change]) -> None:
        """Show the first of the changes."""
        sizes = [abs(one.difference) for one in changes if math.isfinite(one.difference)]
        most = max(sizes, default=1.0) or 1.0
        for index, row in enumerate(self._rows):
            row.setVisible(index < len(changes))
            row.setEnabled(index < len(changes))
            if index < len(changes):
                row.set_change(changes[index], most)
        rove(self._rows, -1)

    def set_chosen(self, index: int) -> None:
        """Mark one row; −1 for none."""
        for at, row in enumerate(self._rows):
            row.setChecked(at == index)
        if index >= 0:
            rove(self._rows, index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down go from row to row; Tab stops once."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        at = next((index for index, row in enumerate(self._rows) if row.hasFocus()), -1)
        if not step or at < 0:
            super().keyPressEvent(event)
            return
        there = at + step
        if 0 <= there < len(self._rows) and self._rows[there].isEnabled():
            rove(self._rows, there)

    @Slot()
    def _on_clicked(self) -> None:
        self.chosen.emit(self.sender().property("index"))
