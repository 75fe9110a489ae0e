"""`Status`: one sentence for the user, which the status line shows."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.errors import Message


class Status(QObject):
    """Takes sentences from whoever has one. It keeps none: the last one stands in the status line."""

    said = Signal(str)
    """A deed that is done."""
    warned = Signal(object)
    """An error or a Message."""
    hinted = Signal(str)
    """The keys that work now."""
    cleared = Signal()
    """The last sentence is over."""

    @Slot(str)
    def say(self, sentence: str) -> None:
        """Tell what was done."""
        self.said.emit(sentence)

    @Slot(object)
    def tell(self, message: Message) -> None:
        """Tell what an edit changed beside what it was made for."""
        self.said.emit(message.text())

    @Slot(object)
    def warn(self, error: BaseException | Message) -> None:
        """Tell an error, in the present language for as long as it is shown."""
        self.warned.emit(error)

    def hint(self, keys: str) -> None:
        """Tell the keys that work now."""
        self.hinted.emit(keys)

    def clear(self) -> None:
        """End the last sentence."""
        self.cleared.emit()
