"""A line of text whose content belongs to the document, and so do its undo and redo."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence

from attnviz.gui.widgets.window_keys import LineEdit, is_windows

_HISTORY = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)


class DocumentLine(LineEdit):
    """A line edit that leaves undo and redo, and the keys of commands, to the window.

    With `is_live` every key is an edit of the document. Without, the text is committed when it is finished:
    the line itself undoes uncommitted typing (`isModified`).
    """

    def __init__(self, *, is_live: bool = True) -> None:
        super().__init__()
        self._is_live = is_live

    def show_text(self, text: str) -> None:
        """Show the document's text, with the caret before the same remainder, or after the change."""
        old = self.text()
        if text != old:
            caret = caret_after(old, text, self.cursorPosition())
            self.setText(text)
            self.setCursorPosition(caret)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and self._leaves(event):
            event.ignore()  # handled by the window's shortcut
            return event.type() == QEvent.Type.ShortcutOverride
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.createStandardContextMenu()
        if self._leaves_history():
            for action in menu.actions()[:3]:  # undo, redo and the separator
                menu.removeAction(action)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def _leaves(self, event: QKeyEvent) -> bool:
        """True if a key belongs to the window."""
        is_history = any(map(event.matches, _HISTORY))
        return self._leaves_history() if is_history else is_windows(event)

    def _leaves_history(self) -> bool:
        return self._is_live or not self.isModified()


def caret_after(old: str, new: str, caret: int) -> int:
    """The caret in `new` that was at `caret` in `old`: before the same remainder, or after the change."""
    rest = old[caret:]
    if not new.endswith(rest):
        room = min(len(new), len(old))
        before = next((i for i in range(room) if new[i] != old[i]), room)
        room -= before
        behind = next((i for i in range(room) if new[-1 - i] != old[-1 - i]), room)
        rest = old[len(old) - behind :]
    return len(new) - len(rest)
