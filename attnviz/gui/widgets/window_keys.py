"""Keys of a line edit that a single line does not need (End suffices) and that are commands of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QDragEnterEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit

from attnviz.gui.widgets.local_files import has_files

_WINDOWS = tuple(map(QKeySequence, ("Ctrl+E", "Alt+Home", "Alt+End", "Ctrl+K")))


def is_windows(event: QKeyEvent) -> bool:
    """True if a key belongs to the window, whatever line has the focus."""
    return QKeySequence(event.keyCombination()) in _WINDOWS


class LineEdit(QLineEdit):
    """A line edit that leaves the keys of commands to the window."""

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and is_windows(event):
            event.ignore()  # handled by the window's shortcut
            return event.type() == QEvent.Type.ShortcutOverride
        return super().event(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if has_files(event.mimeData()):
            event.ignore()
        else:
            super().dragEnterEvent(event)
