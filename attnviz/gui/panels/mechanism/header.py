"""The header of a section: an arrow, the title, and the present value at the right."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _

HEIGHT = 36
_ARROW = 4.0
_TITLE_LEFT = 20


class SectionHeader(PaintedButton):
    """Opens and closes a section; the signals carry a click, and a click with Shift."""

    chosen = Signal()
    pinned = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value, self._is_pinned, self._error, self._is_found = "", False, "", False
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._on_clicked)

    def value(self) -> str:
        """The text at the right."""
        return self._value

    def is_pinned(self) -> bool:
        return self._is_pinned

    def set_title(self, title: str) -> None:
        self.setText(title)
        self.setAccessibleName(title)

    def set_value(self, value: str) -> None:
        """Show the present value of the section."""
        if value != self._value:
            self._value = value
            self.setAccessibleDescription(value)
            self.update()

    def set_state(self, *, is_open: bool, is_pinned: bool) -> None:
        """Show whether the section is open, and stays so."""
        self.setChecked(is_open)
        self._is_pinned = is_pinned
        self.update()

    def set_error(self, sentence: str) -> None:
        """Mark the header with the error of one of its fields; an empty sentence removes the mark."""
        if sentence != self._error:
            self._error = sentence
            self.update()

    def is_found(self) -> bool:
        """True if the title itself answers the search."""
        return self._is_found

    def set_found(self, is_found: bool) -> None:
        """Say that the title itself answers the search."""
        self._is_found = is_found
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(_TITLE_LEFT + GRID, HEIGHT)

    def title_rect(self) -> QRectF:
        """Rectangle of the painted title."""
        width = QFontMetricsF(self._title_font()).horizontalAdvance(self.text())
        return QRectF(_TITLE_LEFT, 0, min(width, self.width() - _TITLE_LEFT), self.height())

    def value_rect(self) -> QRectF:
        """Rectangle that the value is painted in, right-aligned and elided."""
        left = self.title_rect().right() + GRID
        return QRectF(left, 0, max(self.width() - left, 0), self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, row = self._theme, QRectF(self.rect())
        if self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(row.adjusted(-GRID / 2, 3, GRID / 2, -3), RADIUS - 2, RADIUS - 2)
        self._paint_arrow(painter)
        painter.setFont(self._title_font())
        painter.setPen(QColor(theme.error if self._error else theme.accent if self._is_found else theme.ink))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.title_rect(), middle | Qt.AlignmentFlag.AlignLeft, self.text())
        font, room = number_font(TEXT_PX - 1), self.value_rect()
        painter.setFont(font)
        painter.setPen(QColor(theme.muted))
        text = QFontMetricsF(font).elidedText(self._value, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, text)
        if self.hasFocus():
            draw_focus_ring(painter, row.adjusted(0, 2, 0, -2), theme, RADIUS - 2)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        elif event.type() == QEvent.Type.ToolTip:
            self._say()
        return super().event(event)

    def _paint_arrow(self, painter: QPainter) -> None:
        """An arrow to the right, or down while open; a filled one is pinned."""
        theme, center = self._theme, QPointF(6, self.height() / 2)
        painter.save()
        painter.translate(center)
        painter.rotate(90 if self.isChecked() else 0)
        pen = QPen(QColor(theme.muted), 1.5)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        points = [QPointF(-_ARROW / 2, -_ARROW), QPointF(_ARROW / 2, 0), QPointF(-_ARROW / 2, _ARROW)]
        if self._is_pinned:
            painter.setBrush(QColor(theme.accent))
            painter.setPen(QColor(theme.accent))
            painter.drawPolygon(points)
        else:
            painter.drawPolyline(points)
        painter.restore()

    def _title_font(self) -> QFont:
        return ui_font(TEXT_PX + 1)

    def _say(self) -> None:
        """The tooltip: the error, else the whole value and what a click does."""
        does = _("A click opens or closes the section; a click with Shift keeps it open beside others")
        whole = (
            _("{name}: {value}. {does}").format(name=self.text(), value=self._value, does=does)
            if self._value
            else does
        )
        self.setToolTip(plain_tooltip(self._error or whole))

    def _on_clicked(self) -> None:
        shift = QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier
        (self.pinned if shift else self.chosen).emit()
