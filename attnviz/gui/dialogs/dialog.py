"""Base and layout of the dialogs: one gets the services of its window, as a panel does."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import Words, says
from attnviz.gui.services.services import Services

Button = tuple[str, str, str, Callable[[], object]]
"""Its object name, the messages of its label and its hint, and the slot of a click."""


def column_of(dialog: QDialog) -> QVBoxLayout:
    """The column of a dialog's parts, with its margins."""
    column = QVBoxLayout(dialog)
    column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
    column.setSpacing(2 * GRID)
    return column


def line_with_buttons(line: QWidget, *buttons: Button) -> QHBoxLayout:
    """A line of text and its buttons, none of which Enter presses."""
    row = QHBoxLayout()
    row.addWidget(line, 1)
    for id_, title, hint, action in buttons:
        button = says(QPushButton(), title, id=id_, tip=hint)
        button.setAutoDefault(False)
        button.clicked.connect(action)
        row.addWidget(button)
    return row


class Dialog(QDialog):
    """A dialog over a window, with its object name and its title."""

    def __init__(self, window: QWidget, services: Services, id_: str, title: Words) -> None:
        super().__init__(window)
        self.services = services
        says(self, title, id=id_)

    def ask(self) -> bool:
        """Show the dialog until it closes, and delete it; True if its choices are to be taken."""
        is_taken = self.exec() == QDialog.DialogCode.Accepted
        self.deleteLater()
        return is_taken
