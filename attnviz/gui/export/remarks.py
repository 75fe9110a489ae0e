"""The lines below the preview: how the figure fits its place, and a caption for the text around it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.gui.export.form import ink
from attnviz.gui.export.source import Made
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_

MET, UNMET = "\u2713", "!"


class Remarks(QWidget):
    """A label for each check, in the colour of a warning if it is not met, and the caption to copy."""

    copied = Signal(str)
    """The caption was wanted on the clipboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._labels: list[QLabel] = []
        self._row = QHBoxLayout()
        self._row.setSpacing(3 * GRID)
        self._caption = QLabel()
        self._caption.setObjectName("export_caption")
        self._caption.setTextFormat(Qt.TextFormat.PlainText)
        self._caption.setWordWrap(True)
        title = says(QLabel(), N_("Caption for your text"))
        ink(title, active_theme().muted)
        copy = says(Button(), N_("Copy the caption"), id="export_caption_button")
        copy.setAutoDefault(False)
        copy.clicked.connect(lambda: self.copied.emit(self._caption.text()))
        self._below = QWidget()
        line = QHBoxLayout()
        line.addWidget(title, 1)
        line.addWidget(copy)
        below = QVBoxLayout(self._below)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(0)
        below.addLayout(line)
        below.addWidget(self._caption)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        column.addLayout(self._row)
        column.addWidget(self._below)
        self.show_made(None)

    def show_made(self, made: Made | None) -> None:
        """Show what is said of a file; None: nothing."""
        for old in self._labels:
            old.hide()  # in sight until the loop of the dialog deletes it
            old.deleteLater()
        self._labels = []
        theme = active_theme()
        for check in made.checks if made is not None else ():
            label = QLabel(f"{MET if check.is_met else UNMET} {check.text.text()}")
            label.setObjectName("export_check")
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            ink(label, theme.ink if check.is_met else theme.warning)
            self._row.addWidget(label, 1)
            self._labels.append(label)
        self._caption.setText("" if made is None else made.caption)
        self._below.setVisible(bool(self._caption.text()))
