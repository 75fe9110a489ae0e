"""Text of several lines whose content belongs to the document, and so do its undo and redo."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.widgets.document_line import caret_after
from attnviz.gui.widgets.local_files import TextBox
from attnviz.gui.widgets.window_keys import is_windows

LINES = 3
_FRAME = 10
"""Pixels of the border and the padding, above and below together."""
_HISTORY = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class DocumentText(TextBox):
    """A text that wraps; Enter is the window's, which ends typing, and Shift with Enter starts a line.

    It has the methods and signals of a line edit that its owner needs.
    """

    textEdited = Signal(str)
    """The text after a change by the user."""
    editingFinished = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_shown_by_owner = False
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(1)
        self.textChanged.connect(self._on_changed)

    def text(self) -> str:
        return self.toPlainText()

    def setText(self, text: str) -> None:
        """Show `text` without emitting."""
        self._is_shown_by_owner = True
        self.setPlainText(text)
        self._is_shown_by_owner = False

    def cursorPosition(self) -> int:
        return self.textCursor().position()

    def setCursorPosition(self, position: int) -> None:
        """Put the caret behind `position` characters, and into sight."""
        cursor = self.textCursor()
        cursor.setPosition(min(max(position, 0), self.document().characterCount() - 1))
        self.setTextCursor(cursor)

    def show_text(self, text: str) -> None:
        """Show the document's text, with the caret before the same remainder, or after the change."""
        old = self.text()
        if text != old:
            caret = caret_after(old, text, self.cursorPosition())
            self.setText(text)
            self.setCursorPosition(caret)

    def sizeHint(self) -> QSize:
        return QSize(160, math.ceil(LINES * self.fontMetrics().lineSpacing()) + _FRAME)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and (any(map(event.matches, _HISTORY)) or is_windows(event)):
            event.ignore()  # handled by the window's shortcut
            return event.type() == QEvent.Type.ShortcutOverride
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.key() in _ENTER and is_shift:
            self.insertPlainText("\n")
        elif event.key() in _ENTER or event.key() == Qt.Key.Key_Escape:
            self.editingFinished.emit()
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.editingFinished.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.createStandardContextMenu()
        for action in menu.actions()[:3]:  # undo, redo and the separator
            menu.removeAction(action)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def insert(self, text: str) -> None:
        """Replace the selection by `text`, as typing does."""
        self.textCursor().insertText(text)

    @Slot()
    def _on_changed(self) -> None:
        if not self._is_shown_by_owner:
            self.textEdited.emit(self.text())
