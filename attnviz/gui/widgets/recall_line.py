"""A line of text that remembers what was entered: Up and Down bring it back, as in a shell."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent

from attnviz.gui.widgets.window_keys import LineEdit

MOST_REMEMBERED = 50
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}


class RecallLine(LineEdit):
    """Its owner calls `remember` with each entered text; an unfinished one waits below the newest."""

    remembered = Signal(object)
    """The remembered texts, a tuple, the newest last."""

    def __init__(self) -> None:
        super().__init__()
        self._past: tuple[str, ...] = ()
        self._place = 0
        self._unfinished = ""

    def recall(self, past: tuple[str, ...]) -> None:
        """Take the texts of an earlier session, the newest last."""
        self._past = past[-MOST_REMEMBERED:]
        self._place = len(self._past)

    def remember(self, text: str) -> None:
        """Put a text last among the remembered ones, each of which occurs once."""
        self.recall((*(one for one in self._past if one != text), text))
        self.remembered.emit(self._past)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down walk through the remembered texts; the caret stands behind each."""
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        if self._place == len(self._past):
            self._unfinished = self.text()
        self._place = min(max(self._place + step, 0), len(self._past))
        self.setText((*self._past, self._unfinished)[self._place])
