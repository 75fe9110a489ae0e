"""The content of an empty panel: one muted sentence, an optional button, and links to more."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import _


class EmptyState(Control):
    """Centred muted text over an optional action button and links, of which `chosen` carries the id."""

    triggered = Signal()
    chosen = Signal(str)

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
        self._heading = QLabel()
        self._heading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._heading.hide()
        layout.addSpacing(2 * GRID)
        layout.addWidget(self._heading)
        self._links = QVBoxLayout()
        self._links.setSpacing(0)
        self._shown: tuple[Option, ...] = ()
        layout.addLayout(self._links)
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

    def set_outcome(self, problem: str, otherwise: str) -> None:
        """Say why nothing was computed, with a button that computes again; without a problem, `otherwise`."""
        self.set_text(problem or otherwise)
        self.set_action(_("Compute") if problem else "")

    def set_links(self, heading: str, links: tuple[Option, ...]) -> None:
        """Show these links, (id, text, hint), below one another and below a sentence."""
        self._heading.setText(heading)
        self._heading.setVisible(bool(links))
        if links == self._shown:
            return
        self._shown = links
        while (item := self._links.takeAt(0)) is not None:
            if (before := item.widget()) is not None:
                before.deleteLater()
        for id_, text, hint in links:
            link = LinkLine(self)
            link.setObjectName(f"empty_state_{id_}")
            link.set_text(text)
            link.setToolTip(plain_tooltip(hint))
            link.setFixedWidth(link.fontMetrics().horizontalAdvance(text) + 3 * GRID)
            link.clicked.connect(self._on_link)
            self._links.addWidget(link, 0, Qt.AlignmentFlag.AlignHCenter)

    @Slot()
    def _on_link(self) -> None:
        self.chosen.emit(self.sender().objectName().removeprefix("empty_state_"))

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        palette = self._label.palette()
        palette.setColor(QPalette.ColorRole.WindowText, QColor(theme.muted))
        for label in (self._label, self._heading):
            label.setPalette(palette)
