"""Keys that a line or a control does not need (End suffices) and that are commands of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit

from attnviz.gui.widgets.local_files import accept_copy, has_files

_WINDOWS = tuple(
    QKeySequence(keys)
    for keys in (
        "Ctrl+E",
        "Alt+Home",
        "Alt+End",
        "Ctrl+K",
        "Ctrl+Return",
        "Ctrl+Enter",
        "Ctrl+Shift+Return",
        "Ctrl+Shift+Enter",
    )
)


def is_windows(event: QKeyEvent) -> bool:
    """True if a key belongs to the window, whatever line has the focus."""
    return QKeySequence(event.keyCombination()) in _WINDOWS


def typed(event: QKeyEvent) -> str:
    """The text that a key types: none with Ctrl, Alt or Meta, which make it a command."""
    keys = Qt.KeyboardModifier
    is_command = event.modifiers() & (keys.ControlModifier | keys.AltModifier | keys.MetaModifier)
    return "" if is_command else event.text()


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


class PathLine(LineEdit):
    """The path of a file or a folder: one that is dropped becomes the text."""

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if has_files(event.mimeData()):
            accept_copy(event)
        else:
            super().dragEnterEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if has_files(event.mimeData()):
            accept_copy(event)
        else:
            super().dragMoveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        if not has_files(event.mimeData()):
            super().dropEvent(event)
            return
        accept_copy(event)
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        self.setText(files[0])
        self.editingFinished.emit()
