"""The most probable next tokens of A and B: two bars per token, with both probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import sequenced
from attnviz.core.text import isolated, number, visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.i18n import _
from attnviz.study.contrast.next_tokens import NextToken

ROW_HEIGHT = 28
BAR_HEIGHT = 8.0
_LABEL = 84.0
_NUMBER = 52.0
_DIGITS = 4


class NextBars(QWidget):
    """Above the bar of A, below that of B; a token that cannot follow is said to be absent."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = LIGHT
        self._tokens: tuple[NextToken, ...] = ()

    def set_tokens(self, tokens: Sequence[NextToken]) -> None:
        """Show other tokens."""
        self._tokens = tuple(tokens)
        self.setAccessibleDescription(sequenced(map(_said, self._tokens)))
        self.updateGeometry()
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, ROW_HEIGHT * len(self._tokens))

    def minimumSizeHint(self) -> QSize:
        return QSize(180, self.sizeHint().height())

    def bar_rect(self, row: int, side: int) -> QRectF:
        """The bar of one token in A (side 0) or B (side 1); at least a pixel wide."""
        token = self._tokens[row]
        share = (token.first, token.second)[side]
        room = max(0.0, self.width() - _LABEL - _NUMBER - GRID)
        width = 0.0 if share is None or share != share else max(1.0, room * min(1.0, share))
        return QRectF(_LABEL, row * ROW_HEIGHT + 4 + side * (BAR_HEIGHT + 2), width, BAR_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        for row, token in enumerate(self._tokens):
            metrics = QFontMetricsF(ui_font(TEXT_PX))
            base = row * ROW_HEIGHT + (ROW_HEIGHT + metrics.ascent() - metrics.descent()) / 2
            painter.setFont(ui_font(TEXT_PX))
            painter.setPen(QColor(theme.ink))
            label = metrics.elidedText(visible(token.token), Qt.TextElideMode.ElideRight, _LABEL - GRID)
            painter.drawText(QPointF(0, base), label)
            for side, (share, color) in enumerate(((token.first, theme.muted), (token.second, theme.accent))):
                bar = self.bar_rect(row, side)
                painter.fillRect(bar, QColor(color))
                self._paint_number(painter, _share_text(share), bar.center().y())
        painter.end()

    def _paint_number(self, painter: QPainter, text: str, middle: float) -> None:
        font = number_font(TEXT_PX - 2)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.ink))
        base = middle + (metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(self.width() - metrics.horizontalAdvance(text), base), text)


def _share_text(share: float | None) -> str:
    return _("absent") if share is None else number(share, _DIGITS)


def _said(token: NextToken) -> str:
    return f"{isolated(visible(token.token))} A {_share_text(token.first)} B {_share_text(token.second)}"
