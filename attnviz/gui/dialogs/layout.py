"""Parts that dialogs are laid out with."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from attnviz.gui.look.theme import GRID

Button = tuple[str, str, str, Callable[[], object]]
"""Its object name, label, hint, and the slot of a click."""


def column_of(dialog: QDialog) -> QVBoxLayout:
    """The column of a dialog's parts, with its margins."""
    column = QVBoxLayout(dialog)
    column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
    column.setSpacing(2 * GRID)
    return column


def name_parts(parts: Iterable[tuple[QWidget, str, str]]) -> None:
    """Give each widget its object name and its name for screen readers."""
    for widget, name, title in parts:
        widget.setObjectName(name)
        widget.setAccessibleName(title)


def line_with_buttons(line: QWidget, *buttons: Button) -> QHBoxLayout:
    """A line of text and its buttons, none of which Enter presses."""
    row = QHBoxLayout()
    row.addWidget(line, 1)
    for name, title, hint, action in buttons:
        button = QPushButton(title)
        button.setObjectName(name)
        button.setToolTip(hint)
        button.setAutoDefault(False)
        button.clicked.connect(action)
        row.addWidget(button)
    return row
