"""The line edit over a number while it is typed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from attnviz.errors import InputError
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.numbers.text import parse_number
from attnviz.gui.widgets.window_keys import LineEdit

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_TABS = {Qt.Key.Key_Tab: 1, Qt.Key.Key_Backtab: -1}


class NumberEditor(LineEdit):
    """Enter or Tab commits, Esc cancels; leaving commits, or cancels if the text is invalid.

    `parse` and `check` return the value or raise `InputError`, which `refused` carries, and None once a
    valid text is committed or the refused one is abandoned. `closed` carries 1 or -1 after Tab and
    Shift+Tab, else 0; `is_leaving` is true if the focus moved elsewhere.
    """

    committed = Signal(float)
    refused = Signal(object)
    closed = Signal(int)

    def __init__(
        self,
        check: Callable[[float], float],
        parent: QWidget,
        parse: Callable[[str], float] = parse_number,
    ) -> None:
        super().__init__(parent)
        self._check, self._parse = check, parse
        self._is_open = False
        self._is_refused = False
        self.is_leaving = False
        self.setObjectName("number_editor")
        self.setProperty("compact", True)
        self.setFont(number_font(TEXT_PX))
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.textEdited.connect(self._clear_mark)
        self.hide()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def open(self, text: str, rect: QRect, select: bool) -> None:
        self._mark("")
        self.setText(text)
        self.setGeometry(rect)
        self._is_open = True
        self.is_leaving = False
        self.show()
        self.setFocus()
        if select:
            self.selectAll()

    def close_editor(self, move: int = 0) -> None:
        """Close the editor without committing."""
        if self._is_open:
            self._is_open = False
            if not self.is_leaving:
                self._tell(None)
            self.closed.emit(move)
            self.hide()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            move = _TABS.get(Qt.Key(event.key()))
            if move is not None:
                if self._commit():
                    self.close_editor(move)
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER:
            if self._commit():
                self.close_editor()
        elif event.key() == Qt.Key.Key_Escape:
            self.close_editor()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self._is_open and event.reason() != Qt.FocusReason.PopupFocusReason:
            self.is_leaving = True
            self._commit()
            self.close_editor()

    def _commit(self) -> bool:
        try:
            value = self._check(self._parse(self.text()))
        except InputError as error:
            self._mark(error.message.text())
            self._tell(error)
            return False
        self._mark("")
        self._tell(None)
        self.committed.emit(value)
        return True

    def _tell(self, error: InputError | None) -> None:
        """Carry a refusal, or the end of one."""
        if error is not None or self._is_refused:
            self._is_refused = error is not None
            self.refused.emit(error)

    def _clear_mark(self) -> None:
        self._mark("")

    def _mark(self, sentence: str) -> None:
        """Outline an invalid text in red, with the sentence as its tooltip."""
        self.setToolTip(plain_tooltip(sentence))
        if bool(self.property("invalid")) != bool(sentence):
            self.setProperty("invalid", bool(sentence))
            self.style().unpolish(self)
            self.style().polish(self)
