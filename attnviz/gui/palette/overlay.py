"""A card with a line to type in that lies over its window until something is chosen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.gui.look.theme import RADIUS, Theme
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.window_keys import LineEdit

SHADOW = 16
"""Pixels of the shadow around the card."""


class Overlay(QWidget):
    """Subclasses lay out the card, place it, and say what the keys of its line do."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._before: QWidget | None = None
        self.line = LineEdit()
        self.line.installEventFilter(self)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocusProxy(self.line)  # a click beside the line stays in it
        self.hide()

    def place(self) -> None:
        """Set the geometry for the present size of the window."""
        raise NotImplementedError

    def press(self, key: Qt.Key) -> bool:
        """Obey a key of the line; False for one that the line itself takes."""
        raise NotImplementedError

    def appear(self) -> None:
        """Show the card, with the focus in its line."""
        self._before = self.window().focusWidget()
        self.line.clear()
        self.show()
        self.raise_()
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.window().installEventFilter(self)

    def vanish(self) -> None:
        """Hide the card; the focus returns to its former place."""
        if not self.isVisible():
            return
        before, self._before = self._before, None
        self.window().removeEventFilter(self)
        if before is not None and self.line.hasFocus():
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        self.hide()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.window():
            if isinstance(event, QResizeEvent):
                self.place()
            return False
        if event.type() == QEvent.Type.FocusOut:
            popup = QApplication.activePopupWidget()  # the line's own menu keeps the card open
            if popup is None and self.window().isActiveWindow():
                self.vanish()
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape:
            self.vanish()
            return True
        return self.press(key) or key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A card with a soft shadow."""
        theme, painter = active_theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(self.rect()).adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)
        painter.setPen(Qt.PenStyle.NoPen)
        for out in range(SHADOW, 0, -2):
            painter.setBrush(QColor(0, 0, 0, 6 if not theme.is_dark else 14))
            painter.drawRoundedRect(card.adjusted(-out, 2 - out, out, 2 + out), RADIUS + out, RADIUS + out)
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
