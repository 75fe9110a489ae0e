"""Files that are dragged over a text: they are the window's, and their addresses no words of the text."""

from __future__ import annotations

from PySide6.QtCore import QMimeData


def has_files(data: QMimeData) -> bool:
    """True for files of this machine."""
    return any(url.isLocalFile() for url in data.urls())
