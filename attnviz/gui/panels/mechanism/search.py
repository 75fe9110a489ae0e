"""The search of the mechanism: its line, and the tint of a control that was found."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.control import MOUSE_ONLY, active_theme
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import N_

KEYS = "Ctrl F"
_LEFT = 28
_LENS = 5.0


class SearchLine(LineEdit):
    """A line of text with a lens and its shortcut; Esc empties it, Enter goes to the first hit."""

    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        name = N_("Find a setting")
        says(self, id="mechanism_search", name=name, placeholder=name)
        self.setProperty(MOUSE_ONLY, True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setClearButtonEnabled(True)
        self.setTextMargins(_LEFT - GRID, 0, 0, 0)

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 28)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 28)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter keeps the result and leaves the line; Esc empties the line, then leaves it."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or (key == Qt.Key.Key_Escape and not self.text()):
            self.left.emit()
        elif key == Qt.Key.Key_Escape:
            self.clear()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, middle = self._theme, self.height() / 2
        painter.setPen(QPen(QColor(theme.muted), 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawEllipse(QRectF(10, middle - 6, 2 * _LENS, 2 * _LENS))
        painter.drawLine(QPointF(18.5, middle + 2.5), QPointF(22, middle + 6))
        if not self.text() and not self.hasFocus() and self.width() > 160:
            self._paint_keys(painter)

    def _paint_keys(self, painter: QPainter) -> None:
        font = number_font(TEXT_PX - 2)
        width = QFontMetricsF(font).horizontalAdvance(KEYS) + GRID
        badge = QRectF(self.width() - width - 6.5, 5.5, width, self.height() - 11)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.line))
        painter.setBrush(QColor(self._theme.panel))
        painter.drawRoundedRect(badge, RADIUS - 3, RADIUS - 3)
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(badge, Qt.AlignmentFlag.AlignCenter, KEYS)


class Found(QWidget):
    """Lies over a control and tints it: the search found it."""

    def __init__(self, control: QWidget) -> None:
        super().__init__(control)
        self.setObjectName("found")
        self.control = control
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        control.installEventFilter(self)
        self._cover(control)
        self.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self._cover(watched)
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tint = QColor(active_theme().accent)
        painter.setPen(QPen(tint, 1))
        tint.setAlpha(28)
        painter.setBrush(tint)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS - 2, RADIUS - 2)

    def _cover(self, control: QWidget) -> None:
        self.setGeometry(control.rect())
        self.raise_()
