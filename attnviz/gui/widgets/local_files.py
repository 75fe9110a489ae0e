"""Files that are dragged over a text: they are the window's, and their addresses no words of the text."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QPlainTextEdit


class TextBox(QPlainTextEdit):
    """A text of several lines that leaves dragged files to the window."""

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return not has_files(source) and super().canInsertFromMimeData(source)


def has_files(data: QMimeData) -> bool:
    """True for files of this machine."""
    return any(url.isLocalFile() for url in data.urls())


def accept_copy(event: QDropEvent) -> None:
    """Accept a file without moving it: whoever offers it keeps it."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()
