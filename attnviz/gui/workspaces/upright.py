"""Names of tabs at the right side whose Chinese characters stand upright, one below the other.

Qt rotates the whole name of such a tab by 90°, and with a style sheet no other style can paint it.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF
from PySide6.QtGui import QColor, QCursor, QFont, QPainter
from PySide6.QtWidgets import QTabBar, QToolButton

from attnviz.core.text import is_wide
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.upright_text import draw_upright

GAP = 6
"""Pixels between two tabs, as in the style sheet."""
LINE = 2
"""Pixels of the line beside the tab in front, as in the style sheet."""


class UprightNames(QObject):
    """Paints the bars that it filters where they stand at the right and a name has wide characters."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Paint or not isinstance(watched, QTabBar):
            return False
        if watched.shape() != QTabBar.Shape.RoundedEast:
            return False
        names = [watched.tabText(index) for index in range(watched.count())]
        if not any(map(is_wide, "".join(names))):
            return False
        _paint(watched, names, active_theme())
        return True


def _paint(bar: QTabBar, names: list[str], theme: Theme) -> None:
    painter = QPainter(bar)
    hovered = bar.tabAt(bar.mapFromGlobal(QCursor.pos())) if bar.underMouse() else -1
    scrolling = [button.y() for button in bar.findChildren(QToolButton) if button.isVisible()]
    end = min(scrolling, default=bar.height())
    for index, name in enumerate(names):
        is_front = index == bar.currentIndex()
        frame = QRectF(bar.tabRect(index)).adjusted(0, GAP, 0, -GAP)
        if frame.bottom() > end:
            continue
        if is_front and bar.hasFocus():
            draw_focus_ring(painter, frame, theme)
        elif is_front:
            painter.fillRect(QRectF(frame.left(), frame.top(), LINE, frame.height()), QColor(theme.accent))
        painter.setPen(QColor(theme.ink if is_front or index == hovered else theme.muted))
        font = QFont(bar.font())
        font.setWeight(QFont.Weight.DemiBold if is_front else QFont.Weight.Normal)
        painter.setFont(font)
        painter.save()
        painter.translate(frame.center() + QPointF(LINE / 2, 0))
        draw_upright(painter, name)
        painter.restore()
