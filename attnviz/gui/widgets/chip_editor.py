"""The line edit in which a chip is renamed where it stands."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget


class ChipEditor(QLineEdit):
    """The line edit over a chip: Enter or leaving takes the text, Esc gives up."""

    committed = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chip_editor")
        self.setProperty("compact", True)
        self.is_open = False
        self.hide()

    def close_editor(self, take: bool) -> None:
        if self.is_open:
            self.is_open = False
            if take:
                self.committed.emit(self.text())
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
