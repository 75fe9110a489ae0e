"""A formula whose symbols stand for stages: the mouse points at a stage, and one can be highlighted.

It takes one line, or wraps between its parts.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.explain.formulas.symbols import Part, Parts
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import active_theme

WIDGET_SIZE_MAX = (1 << 24) - 1
"""The greatest height of a widget, as of Qt."""
NARROWEST = 60
"""Minimum width of a formula; the tooltip contains the full text."""

_ELLIPSIS = "…"
_INDENT = "  "
"""Before the further lines of a formula."""
_WASH = 0.16
"""Opacity of the accent behind a highlighted symbol."""


class FormulaLine(QLabel):
    """Plain text, painted part by part from left to right in every language.

    `stage_pointed` carries the stage under the mouse (empty: none); `stage_clicked` the clicked one.
    `set_lit` marks the parts of one stage.
    """

    stage_pointed = Signal(str)
    stage_clicked = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setMouseTracking(True)
        self.setMinimumWidth(NARROWEST)
        self._theme = active_theme()
        self._parts: Parts = ()
        self._lit = ""
        self._pointed = ""
        self._is_wrapped = False

    @property
    def lit(self) -> str:
        """The stage whose parts are marked."""
        return self._lit

    def set_parts(self, parts: Parts) -> None:
        """Show a formula."""
        if parts != self._parts:
            self._parts = parts
            self.setText("".join(part.text for part in parts))
            self.setAccessibleName(self.text())
            self.setToolTip(plain_tooltip(self.text()))

    def set_wrapped(self, width: int | None) -> None:
        """Wrap at a width, as high as that needs; None: one line, with dots for parts without room."""
        self._is_wrapped = width is not None
        if width is None:
            self.setMaximumHeight(WIDGET_SIZE_MAX)
            self.setMinimumHeight(0)
            return
        rects = self._wrapped_rects(width)
        self.setFixedHeight(math.ceil(max((rect.bottom() for _part, rect in rects), default=0.0)))

    def set_lit(self, stage: str) -> None:
        """Mark the parts of a stage; empty for none."""
        if stage != self._lit:
            self._lit = stage
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def part_rects(self) -> tuple[tuple[Part, QRectF], ...]:
        """Rectangle of each part on the widget; if it is too narrow for all, dots stand for the rest."""
        if self._is_wrapped:
            return self._wrapped_rects(self.width())
        metrics = QFontMetricsF(self.font())
        x, top = 0.0, (self.height() - metrics.height()) / 2
        rects: list[tuple[Part, QRectF]] = []
        for part in self._parts:
            width = metrics.horizontalAdvance(part.text)
            if x + width > self.width() + 1.0:
                dots = metrics.horizontalAdvance(_ELLIPSIS)
                while rects and x + dots > self.width():
                    x = rects.pop()[1].left()
                rects.append((Part(_ELLIPSIS), QRectF(x, top, max(self.width() - x, dots), metrics.height())))
                break
            rects.append((part, QRectF(x, top, width, metrics.height())))
            x += width
        return tuple(rects)

    def _wrapped_rects(self, width: float) -> tuple[tuple[Part, QRectF], ...]:
        """Rectangle of each part in as many lines as a width needs."""
        metrics = QFontMetricsF(self.font())
        x = top = 0.0
        rects: list[tuple[Part, QRectF]] = []
        for part in self._parts:
            taken = metrics.horizontalAdvance(part.text)
            if x and x + taken > width:
                x, top = metrics.horizontalAdvance(_INDENT), top + metrics.height()
            rects.append((part, QRectF(x, top, taken, metrics.height())))
            x += taken
        return tuple(rects)

    def stage_at(self, at: QPointF) -> str:
        """The stage of the part at a point; empty without one."""
        for part, rect in self.part_rects():
            is_in_line = not self._is_wrapped or rect.top() <= at.y() < rect.bottom()
            if rect.left() <= at.x() < rect.right() and is_in_line:
                return part.stage
        return ""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.stage_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point("")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        stage = self.stage_at(event.position())
        if stage and event.button() == Qt.MouseButton.LeftButton:
            self.stage_clicked.emit(stage)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint symbols of stages in ink, the rest muted; the highlighted stage is tinted with
        the accent, and underlined.
        """
        painter = QPainter(self)
        ascent = QFontMetricsF(self.font()).ascent()
        wash = QColor(self._theme.accent)
        wash.setAlphaF(_WASH)
        for part, rect in self.part_rects():
            is_lit = bool(part.stage) and part.stage == self._lit
            font = QFont(self.font())
            font.setUnderline(is_lit)
            painter.setFont(font)
            if is_lit:
                painter.fillRect(rect.adjusted(-1, 0, 1, 0), wash)
                painter.setPen(QColor(self._theme.accent))
            else:
                painter.setPen(QColor(self._theme.ink if part.stage else self._theme.muted))
            painter.drawText(QPointF(rect.left(), rect.top() + ascent), part.text)

    def _point(self, stage: str) -> None:
        if stage == self._pointed:
            return
        self._pointed = stage
        shape = Qt.CursorShape.PointingHandCursor if stage else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)
        self.stage_pointed.emit(stage)
