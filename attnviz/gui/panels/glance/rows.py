"""The list beside the plane: weight × length of v of each key, or v in full, and the result below."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from attnviz.core.text import number
from attnviz.explain.value_sum import Hues, word
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _, ngettext
from attnviz.model.value_sum import ValueSum

ROW = 22
HEADING = 24
WIDEST_VECTOR = 3
"""Numbers of a value up to which all of them are shown."""
_NAME, _NUMBER, _TIMES, _GAP = 78.0, 46.0, 14.0, 8.0
_BAR = 9.0
_RESULT = -1
_OTHERS = -2


@dataclass(frozen=True)
class _Row:
    """A key, or the others together, or the result; what is not a number of the row is empty."""

    key: int
    name: str
    weight: str
    length: str
    bar: float


class SumRows(Along):
    """A click on a row asks for its arithmetic: `clicked` carries its place; see `key_of`."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("glance_rows")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._sum: ValueSum | None = None
        self._rows: tuple[_Row, ...] = ()
        self._lit = -1

    def set_sum(self, sum_: ValueSum, keys: tuple[int, ...], part: float) -> None:
        """Show these keys at a part of the way, the others as one row, and the result."""
        is_new_height = self._sum is None or len(self._rows) != len(keys) + 2
        self._sum = sum_
        weights, lengths = sum_.mixed(part), sum_.lengths
        rows = [
            _Row(
                key,
                word(sum_.keys[key]),
                number(weights[key]),
                self._vector(sum_.values[key].tolist(), float(lengths[key])),
                abs(float(weights[key] * lengths[key])),
            )
            for key in keys
        ]
        n_others, share = sum_.rest(keys, part)
        if n_others:
            name = ngettext("{n} other", "{n} others", n_others).format(n=n_others)
            rows.append(_Row(_OTHERS, name, number(share), "", 0.0))
        total, length = sum_.rest((), part)[1], sum_.length(part)
        said = self._vector(sum_.vector(part).tolist(), length)
        rows.append(_Row(_RESULT, _("result"), number(total), said, length))
        self._rows = tuple(rows)
        self._current = min(self._current, len(rows) - 1)
        if is_new_height:
            self.updateGeometry()
        self.update()

    def forget(self) -> None:
        """Show nothing."""
        self._sum, self._rows, self._current = None, (), -1
        self.update()

    def set_lit(self, key: int) -> None:
        """Emphasise the row of a key; −1: none."""
        if key != self._lit:
            self._lit = key
            self.update()

    def key_of(self, place: int) -> int | None:
        """The key of a row; None for the result, and −1 for the others together."""
        if not 0 <= place < len(self._rows):
            return -1
        key = self._rows[place].key
        return None if key == _RESULT else -1 if key == _OTHERS else key

    def texts(self) -> list[tuple[str, str, str]]:
        """Name, weight and length, or v, of each row."""
        return [(row.name, row.weight, row.length) for row in self._rows]

    def _vector(self, numbers: list[float], length: float) -> str:
        if self._has_vectors(len(numbers)):
            return "(" + ", ".join(number(value) for value in numbers) + ")"
        return number(length, 2)

    def _has_vectors(self, width: int) -> bool:
        return self._sum is not None and self._sum.has_few and width <= WIDEST_VECTOR

    def retranslate(self) -> None:
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(322, self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(230, HEADING + ROW * max(1, len(self._rows)) + 4)

    def row_rect(self, place: int) -> QRectF:
        """The place of a row; that of the result is below a line."""
        below = 4.0 if place == len(self._rows) - 1 else 0.0
        return QRectF(0, HEADING + place * ROW + below, self.width(), ROW)

    def bar_rect(self, place: int) -> QRectF:
        """The bar of weight × length; all have one scale."""
        full = max((row.bar for row in self._rows), default=0.0) or 1.0
        left = _NAME + 2 * _NUMBER + _TIMES + 3 * _GAP
        room = max(0.0, self.width() - left)
        rect = self.row_rect(place)
        length = max(1.0, room * self._rows[place].bar / full)
        return QRectF(left, rect.center().y() - _BAR / 2, length, _BAR)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        if self._sum is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(TEXT_PX + 3, QFont.Weight.DemiBold))
        painter.setPen(QColor(theme.ink))
        painter.drawText(QRectF(0, 0, 16, HEADING - 4), Qt.AlignmentFlag.AlignVCenter, "Σ")
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(theme.muted))
        has_vectors = self._has_vectors(self._sum.values.shape[1])
        said = _("weight × v, head to tail") if has_vectors else _("weight × length of v, head to tail")
        painter.drawText(QRectF(20, 0, self.width() - 20, HEADING - 4), Qt.AlignmentFlag.AlignVCenter, said)
        hues = Hues(self._sum, theme)
        for place in range(len(self._rows)):
            self._paint_row(painter, place, hues, has_vectors=has_vectors)
        if self.hasFocus():
            draw_focus_ring(painter, self.row_rect(max(self._current, 0)), theme, 3)

    def _paint_row(self, painter: QPainter, place: int, hues: Hues, *, has_vectors: bool) -> None:
        theme, row, rect = self._theme, self._rows[place], self.row_rect(place)
        is_result, is_key = row.key == _RESULT, row.key >= 0
        if place == self._current or (is_key and row.key == self._lit):
            painter.fillRect(rect, QColor(theme.hover))
        if is_result:
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawLine(rect.topLeft(), rect.topRight())
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        name = QRectF(0, rect.top(), _NAME, ROW)
        if is_key and hues.sum.has_few:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(hues.value(row.key)))
            painter.drawEllipse(QPointF(5, rect.center().y()), 4, 4)
        painter.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold if is_result else QFont.Weight.Normal))
        is_strongest = is_key and row.key == hues.sum.strongest
        painter.setPen(
            QColor(theme.key if is_strongest else theme.ink if row.key != _OTHERS else theme.muted)
        )
        text = QFontMetricsF(painter.font()).elidedText(row.name, Qt.TextElideMode.ElideRight, _NAME - 14)
        painter.drawText(name, right, text)
        painter.setFont(number_font(TEXT_PX))
        painter.setPen(QColor(theme.ink if row.key != _OTHERS else theme.muted))
        x = _NAME + _GAP
        painter.drawText(QRectF(x, rect.top(), _NUMBER, ROW), right, row.weight)
        x += _NUMBER
        if is_key:
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRectF(x, rect.top(), _TIMES + 4, ROW), Qt.AlignmentFlag.AlignCenter, "×")
        x += _TIMES
        painter.setPen(QColor(theme.ink if is_result else theme.value))
        if has_vectors:
            painter.drawText(QRectF(x, rect.top(), self.width() - x, ROW), right, row.length)
            return
        painter.drawText(QRectF(x, rect.top(), _NUMBER, ROW), right, row.length)
        painter.fillRect(self.bar_rect(place), QColor(theme.ink) if is_result else self._bar(hues, row))

    def _bar(self, hues: Hues, row: _Row) -> QColor:
        return QColor(hues.step(row.key) if row.key >= 0 else self._theme.hatch)

    def count(self) -> int:
        return len(self._rows)

    def part_at(self, position: QPointF) -> int:
        places = range(len(self._rows))
        return next((place for place in places if self.row_rect(place).contains(position)), -1)

    def told(self, part: int) -> str:
        """The numbers of a row in full precision."""
        key = self.key_of(part)
        if self._sum is None or key == -1:
            return ""
        row = self._rows[part]
        if key is None:
            return f"{row.name}: {self._sum.length()!s}"
        return f"{row.name}: {self._sum.weights[key]!s} × {self._sum.lengths[key]!s}"
