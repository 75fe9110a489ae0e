"""Two arrows that enlarge a panel; they point inwards where a click returns from it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from attnviz.core.phrases import with_remark
from attnviz.gui.look.theme import RADIUS
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import MOUSE_ONLY, draw_focus_ring
from attnviz.i18n import _

WIDTH, HEIGHT = 20, 16
TIP, NEAR, WING = 5.0, 1.5, 3.5
"""Pixels from the middle to the tips of the arrows and to their other ends, and of the wings of a tip."""


class EnlargeButton(PaintedButton):
    """Stands in the title of a panel, or beside the tabs for the one in front."""

    def __init__(self) -> None:
        super().__init__()
        self._is_back = False
        self.setObjectName("enlarge_button")
        self.setProperty(MOUSE_ONLY, True)
        self.retranslate()

    def set_back(self, is_back: bool) -> None:
        """Offer the way back from a panel that is enlarged, or not."""
        self._is_back = is_back
        self.retranslate()
        self.update()

    def retranslate(self) -> None:
        text = _("Restore the panel") if self._is_back else _("Enlarge the panel")
        self.setAccessibleName(text)
        self.setToolTip(plain_tooltip(with_remark(text, "Esc" if self._is_back else "Ctrl+Enter")))

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(self._theme.ink if self.underMouse() else self._theme.muted), 1.4)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.translate(QRectF(self.rect()).center())
        tip, tail = (NEAR, TIP) if self._is_back else (TIP, NEAR)
        wing = -WING if tip > tail else WING
        for sign in (1.0, -1.0):
            at = QPointF(sign * tip, -sign * tip)
            painter.drawLine(at, QPointF(sign * tail, -sign * tail))
            painter.drawPolyline([at + QPointF(sign * wing, 0), at, at - QPointF(0, sign * wing)])
        painter.resetTransform()
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, RADIUS - 2)
