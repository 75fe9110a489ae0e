"""The frame of panels: a small muted title, an optional hint, header widgets, a body."""

from __future__ import annotations

import re

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import section_title_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.widgets.control import Control

PADDING = 12


class Card(Control):
    """A panel-coloured frame with rounded corners; its content goes into `body`.

    The title is in capitals if the script has them; title and hint are plain text.
    """

    def __init__(self, title: str, hint: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = QLabel()
        self._hint = QLabel()
        for label, name in ((self._title, "card_title"), (self._hint, "card_hint")):
            label.setObjectName(name)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._title.setFont(section_title_font())
        self._hint.setFont(_hint_font())
        self._hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.header = QHBoxLayout()
        self.header.setSpacing(GRID)
        self.header.addWidget(self._title, 1)
        self.header.addWidget(self._hint, 1)
        self.body = QVBoxLayout()
        self.body.setSpacing(GRID)
        self._outer = outer = QVBoxLayout(self)
        outer.setContentsMargins(PADDING, GRID, PADDING, GRID)
        outer.setSpacing(GRID // 2)
        outer.addLayout(self.header)
        outer.addLayout(self.body, 1)
        self.set_title(title)
        self.set_hint(hint)
        self.apply_theme(self._theme)

    def title(self) -> str:
        return self.accessibleName()

    def set_title(self, title: str) -> None:
        self._title.setText(_capitals(title))
        self._title.setVisible(bool(title))
        self.setAccessibleName(title)

    def set_hint(self, hint: str) -> None:
        """Muted text at the right end of the header; it is elided when the card is narrow."""
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))

    def put(self, content: QWidget, header: QWidget | None, *, is_titled: bool) -> None:
        """Fill the card; one without a title and a header widget has no header at all."""
        if header is not None:
            self.add_header_widget(header)
        elif not is_titled:
            self._outer.removeItem(self.header)
        self.body.addWidget(content)

    def add_header_widget(self, widget: QWidget) -> None:
        """Add `widget` at the right end of the header."""
        self.header.addWidget(widget)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for label in (self._title, self._hint):
            palette = label.palette()
            palette.setColor(QPalette.ColorRole.WindowText, QColor(theme.muted))
            label.setPalette(palette)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.setBrush(QColor(self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


def _capitals(title: str) -> str:
    """`title` in capitals, except quoted text (a token is shown as it is) and single letters (x, q, k)."""
    return re.sub(r"“[^”]*”|\w[\w’'-]+", lambda m: m[0] if m[0].startswith("“") else m[0].upper(), title)


def _hint_font() -> QFont:
    font = QFont()
    font.setPixelSize(TEXT_PX - 1)
    return font
