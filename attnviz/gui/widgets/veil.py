"""The veil over a panel that is out of date, with the reason why the present state has no numbers."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMargins, QObject, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.widgets.control import active_theme

FADED = 0.35
"""Share of the panel below that shines through."""
WIDEST = 420
"""Pixels of the card with the sentence."""
MARGIN = 2 * GRID
"""Pixels around the sentence."""
_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


class Veil(QWidget):
    """Covers its parent, whose middle has the sentence if that fits; the mouse goes through it.

    An effect of the parent would leave the plots in it unpainted.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._body = parent
        self.setObjectName("veil")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.reason = ""
        self._is_wrong = True
        self.hide()
        parent.installEventFilter(self)

    def show_reason(self, sentence: str, *, is_wrong: bool) -> None:
        """Lie over the parent as long as it has a reason: an error, or a run that is under way."""
        self.reason, self._is_wrong = sentence, is_wrong
        self.setAccessibleName(sentence)
        self.setVisible(bool(sentence))
        self._cover()
        self.update()

    def card(self) -> QRect:
        """The place of the sentence; empty where the parent has no room for it."""
        room = self.rect().adjusted(GRID, GRID, -GRID, -GRID)
        width = min(WIDEST, room.width()) - 2 * MARGIN
        text = self.fontMetrics().boundingRect(QRect(0, 0, width, room.height()), int(_WRAPPED), self.reason)
        card = QRect(room.topLeft(), text.size().grownBy(QMargins(MARGIN, MARGIN, MARGIN, MARGIN)))
        card.moveCenter(room.center())
        return card if room.contains(card) else QRect()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.reason:
            self._cover()
        return False

    def _cover(self) -> None:
        self.setGeometry(self._body.rect())
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = active_theme(), QPainter(self)
        veil = QColor(theme.panel)
        veil.setAlphaF(1 - FADED)
        painter.fillRect(event.rect(), veil)
        card = self.card()
        if card.isEmpty():
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.error if self._is_wrong else theme.muted), 1))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(QRectF(card).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        words = card.adjusted(MARGIN // 2, 0, -MARGIN // 2, 0)  # wider than measured: no line breaks anew
        painter.drawText(words, int(_WRAPPED), self.reason)
