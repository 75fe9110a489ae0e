"""The line edit in which a chip is renamed in place."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from attnviz.core.text import SPACE
from attnviz.gui.widgets.window_keys import LineEdit


class ChipEditor(LineEdit):
    """The line edit over a chip: Enter or leaving commits the text, Esc cancels.

    A space at an end is shown as ␣, and typing over the rest keeps it.
    """

    committed = Signal(str)
    """Emitted with a changed text, including its spaces."""
    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chip_editor")
        self.setProperty("compact", True)
        self.is_open = False
        self._before = ""
        self.hide()

    def open_editor(self, text: str, rect: QRect) -> None:
        """Show `text` over a chip, selected except for a leading space."""
        word = text.strip(" ")
        before = len(text) - len(text.lstrip(" "))
        self._before = SPACE * before + word + SPACE * (len(text) - before - len(word))
        self.setText(self._before)
        self.setGeometry(rect)
        self.is_open = True
        self.show()
        self.setFocus()
        self.setSelection(before if word else 0, len(text))

    def close_editor(self, take: bool) -> None:
        if self.is_open:
            self.is_open = False
            if take and self.text() not in ("", self._before):
                self.committed.emit(self.text().replace(SPACE, " "))
            self.closed.emit()
            self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
            self.close_editor(take=event.key() != Qt.Key.Key_Escape)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.close_editor(take=True)
