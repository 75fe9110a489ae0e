"""Ctrl+C in the terminal closes the window, as its button does; a second one ends the process."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Slot
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.compute.scheduler import end_process

INTERRUPTED = 130
"""The exit code: 128 and the number of the signal, as shells have it."""


class Interrupt(QObject):
    """Waits for SIGINT from construction to `uninstall`, on the main thread.

    Python runs a signal's function only between its own instructions, and none runs while Qt waits: the byte
    that `set_wakeup_fd` sends through a socket wakes Qt. No slot raises `KeyboardInterrupt`.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._is_asked = self.was_obeyed = False
        self._ends = socket.socketpair()
        for end in self._ends:
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._ends[0].fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_woken)
        self._previous_fd = signal.set_wakeup_fd(self._ends[1].fileno(), warn_on_full_buffer=False)
        self._previous = signal.signal(signal.SIGINT, self._on_signal)

    def uninstall(self) -> None:
        """Restore the previous handlers."""
        signal.signal(signal.SIGINT, self._previous)
        signal.set_wakeup_fd(self._previous_fd)
        self._notifier.setEnabled(False)
        for end in self._ends:
            end.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._is_asked:  # while the window asks about unsaved work, or cannot answer
            end_process(INTERRUPTED)
        self._is_asked = True

    @Slot()
    def _on_woken(self) -> None:
        self._ends[0].recv(1024)
        if self._is_asked and not self.was_obeyed:
            QApplication.closeAllWindows()  # dialogs first
            window = self.parent()
            self.was_obeyed = not (isinstance(window, QWidget) and window.isVisible())
            self._is_asked = self.was_obeyed
