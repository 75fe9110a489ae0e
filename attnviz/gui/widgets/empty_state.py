"""The content of an empty panel: one muted sentence and an optional button."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import Control


class EmptyState(Control):
    """Centred muted text over an optional action button."""

    triggered = Signal()

    def __init__(self, text: str, action: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel()
        self._label.setObjectName("empty_state_text")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._label.setWordWrap(True)
        self._button = Button()
        self._button.setObjectName("empty_state_action")
        self._button.clicked.connect(self.triggered)
        layout = QVBoxLayout(self)
        layout.setSpacing(GRID)
        layout.addStretch(1)
        layout.addWidget(self._label)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)
        self.set_text(text)
        self.set_action(action)
        self.apply_theme(self._theme)

    def set_text(self, text: str) -> None:
        self._label.setText(text)
        self.setAccessibleName(text)

    def set_action(self, action: str) -> None:
        """The button's text; an empty text hides the button."""
        self._button.setText(action)
        self._button.setAccessibleName(action)
        self._button.setVisible(bool(action))

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        palette = self._label.palette()
        palette.setColor(QPalette.ColorRole.WindowText, QColor(theme.muted))
        self._label.setPalette(palette)
