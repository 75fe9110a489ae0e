"""The inspector while no cell is open: what a click opens, and what to try."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.inspector.tries import TITLE, TRIES
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _


class InspectorStart(Control):
    """A sentence, and one line for each row of `TRIES` that is possible now."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._says, self._title = QLabel(), QLabel()
        self._says.setObjectName("inspector_says")
        self._title.setObjectName("tries_title")
        for label in (self._says, self._title):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        self._lines = {row.id: LinkLine() for row in TRIES}
        content = QWidget()
        column = in_column(content, self._says, spacing=GRID // 2)
        column.addSpacing(GRID)
        column.addWidget(self._title)
        for row in TRIES:
            line = self._lines[row.id]
            line.setObjectName(f"try_{row.id}")
            line.clicked.connect(partial(row.act, store))
            column.addWidget(line)
        column.addStretch(1)
        scroll = clear_scroll(content, sideways=False)
        scroll.setMinimumWidth(0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)
        self.apply_theme(self._theme)

    def set_text(self, text: str) -> None:
        """Show a sentence, and what can be tried with the present numbers."""
        self._says.setText(text)
        self.setAccessibleName(text)
        has_numbers = self._store.shown_trace is not None
        for row in TRIES:
            self._lines[row.id].set_text(row.sentence(self._store) if has_numbers else "")
        self._title.setText(_(TITLE))
        self._title.setVisible(has_numbers)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for label, color in ((self._says, theme.muted), (self._title, theme.ink)):
            palette = label.palette()
            palette.setColor(QPalette.ColorRole.WindowText, QColor(color))
            label.setPalette(palette)
