"""A dock that looks like a card: a small muted title that drags it, and the panel below."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.gui.theme import GRID, LIGHT, RADIUS, TEXT_PX, Theme

PADDING = 12


class PanelDock(QDockWidget):
    """Holds one panel. With `shows_title` false (docks that stand in tabs) the tab is the title."""

    def __init__(
        self, name: str, panel: QWidget, header: QWidget | None, *, shows_title: bool, has_frame: bool
    ) -> None:
        super().__init__()
        self.setObjectName(f"{name}_dock")
        self._theme = LIGHT
        self._has_frame = has_frame
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setFont(_title_font())
        self.setTitleBarWidget(self._title_bar(header, shows_title))
        body = QWidget()
        layout = QVBoxLayout(body)
        if has_frame:
            layout.setContentsMargins(PADDING, GRID // 2 if shows_title else PADDING, PADDING, PADDING)
        else:
            layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(panel)
        self.setWidget(body)

    def set_title(self, title: str) -> None:
        """The name in the title, the tab and the View menu."""
        self.setWindowTitle(title)
        self._label.setText(title.upper())
        self.setAccessibleName(title)

    def apply_theme(self, theme: Theme) -> None:
        """Take the frame's colours from `theme`."""
        self._theme = theme
        self._label.setStyleSheet(f"color: {theme.muted}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._has_frame:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.setBrush(QColor(self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)

    def _title_bar(self, header: QWidget | None, shows_title: bool) -> QWidget:
        bar = QWidget()
        if not shows_title:
            return bar
        layout = QHBoxLayout(bar)
        layout.setContentsMargins(PADDING, GRID, PADDING, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._label, 1)
        if header is not None:
            layout.addWidget(header)
        return bar


def _title_font() -> QFont:
    font = QFont()
    font.setPixelSize(TEXT_PX - 1)
    font.setWeight(QFont.Weight.DemiBold)
    font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.8)
    return font
