"""Next tokens before and after as painted rows: the word, both probabilities, and a bar for each."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import enumerated, named
from attnviz.core.text import isolated, number
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.widgets.control import Control
from attnviz.study.contrast.next_tokens import NextToken

ROW = 18
_NUMBER, _ARROW = 58.0, 18.0
"""Width of a probability, and of the arrow between two."""
_BAR = 8.0
_GAP = 6.0
_LEAST = 1.0
"""Width in pixels of the bar of a probability of nothing."""


class NextTokens(Control):
    """One row for each token. A bar that has become shorter has the colour of what is worse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ablation_tokens")
        self.setFont(ui_font(TEXT_PX))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.tokens: tuple[NextToken, ...] = ()

    def set_tokens(self, tokens: tuple[NextToken, ...]) -> None:
        """Show other tokens."""
        self.tokens = tokens
        rows = (named(isolated(one.token), f"{_said(one.first)} → {_said(one.second)}") for one in tokens)
        self.setAccessibleName(enumerated(rows))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(360, ROW * max(len(self.tokens), 1))

    def minimumSizeHint(self) -> QSize:
        return QSize(220, ROW)

    def bars(self, row: int) -> tuple[QRectF, QRectF]:
        """The bars before and after of a row."""
        one, room = self.tokens[row], self._room()
        top = row * ROW + (ROW - _BAR) / 2
        left = self._word() + _GAP
        second = left + room + _GAP + _NUMBER + _ARROW
        return (
            QRectF(left, top, max(_LEAST, room * (one.first or 0.0)), _BAR),
            QRectF(second, top, max(_LEAST, room * (one.second or 0.0)), _BAR),
        )

    def _word(self) -> float:
        """Width of the words."""
        metrics = QFontMetricsF(self._strong())
        widest = max((metrics.horizontalAdvance(one.token) for one in self.tokens), default=0.0)
        return min(widest + 1.0, self.width() * 0.26)

    def _room(self) -> float:
        """Width of a bar of probability 1."""
        return max(0.0, (self.width() - self._word() - 3 * _GAP - 2 * _NUMBER - _ARROW) / 2)

    def _strong(self) -> QFont:
        return ui_font(TEXT_PX, QFont.Weight.DemiBold)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, word = QPainter(self), self._theme, self._word()
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for row, one in enumerate(self.tokens):
            top = row * ROW
            first, second = self.bars(row)
            was_first = one.first is not None and one.first == max(each.first or 0.0 for each in self.tokens)
            has_lost = (one.second or 0.0) < (one.first or 0.0)
            painter.fillRect(first, QColor(theme.value if was_first else theme.muted))
            painter.fillRect(second, QColor(theme.error if has_lost else theme.muted))
            painter.setFont(self._strong() if was_first else self.font())
            painter.setPen(QColor(theme.value if was_first else theme.ink))
            room = QRectF(0, top, word, ROW)
            text = QFontMetricsF(painter.font()).elidedText(one.token, Qt.TextElideMode.ElideMiddle, word)
            painter.drawText(room, right, text)
            painter.setFont(number_font(TEXT_PX))
            painter.setPen(QColor(theme.ink))
            before = QRectF(first.left() + self._room(), top, _NUMBER, ROW)
            painter.drawText(before, right, _said(one.first))
            painter.setPen(QColor(theme.muted))
            arrow = QRectF(before.right(), top, _ARROW + _GAP, ROW)
            painter.drawText(arrow, Qt.AlignmentFlag.AlignCenter, "→")
            painter.setPen(QColor(theme.error if has_lost else theme.ink))
            painter.drawText(QRectF(self.width() - _NUMBER, top, _NUMBER, ROW), right, _said(one.second))
        painter.end()


def _said(probability: float | None) -> str:
    return "–" if probability is None else number(probability, 4)
