"""Signals of the system: Ctrl+C closes the window as its button does; an end of the session asks nothing."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Slot
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.compute.scheduler import end_process
from attnviz.gui.look.look import application

SIGNALLED = 128
"""The exit code after a signal is this and the number of the signal, as shells have it."""

ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals after which nobody answers a question: of a log-out, a closed terminal, a shutdown."""


AGAIN_MS = 50
"""Time until a window that could not close is closed again."""


class Ending(Protocol):
    """Whoever can keep its documents for the next start."""

    def end_session(self) -> None:
        """Write the journal, and ask nothing when the window closes."""


class Interrupt(QObject):
    """Waits for signals and for the end of the session, from construction to `uninstall`, on the main thread.

    Python runs a signal's function only between its own instructions, and none runs while Qt waits: the byte
    that `set_wakeup_fd` sends through a socket wakes Qt. No slot raises `KeyboardInterrupt`.
    """

    def __init__(self, window: QWidget, close: Callable[[], None], ending: Ending) -> None:
        super().__init__(window)
        self._window, self._close, self._ending = window, close, ending
        self._asked = 0
        self.obeyed = 0
        """The number of the signal that closed the window; 0 for none."""
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(AGAIN_MS)
        self._again.timeout.connect(self._obey)
        self._ends = socket.socketpair()
        for end in self._ends:
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._ends[0].fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_woken)
        self._previous_fd = signal.set_wakeup_fd(self._ends[1].fileno(), warn_on_full_buffer=False)
        self._previous = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, *ENDS)}
        application().commitDataRequest.connect(self.on_commit)

    def uninstall(self) -> None:
        """Restore the previous handlers."""
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        signal.set_wakeup_fd(self._previous_fd)
        self._notifier.setEnabled(False)
        self._again.stop()
        application().commitDataRequest.disconnect(self.on_commit)
        for end in self._ends:
            end.close()

    @Slot(QSessionManager)
    def on_commit(self, manager: QSessionManager) -> None:
        """The session ends: it may go on, if another program prevents that."""
        self._ending.end_session()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if (
            number == signal.SIGINT == self._asked
        ):  # while the window asks about unsaved work, or cannot answer
            end_process(SIGNALLED + number)
        self._asked = number

    @Slot()
    def _on_woken(self) -> None:
        self._ends[0].recv(1024)
        self._obey()

    @Slot()
    def _obey(self) -> None:
        if not self._asked or self.obeyed:
            return
        if self._asked in ENDS:
            self._ending.end_session()
        QApplication.closeAllWindows()  # dialogs first
        if self._window.isVisible() and self._asked in ENDS:  # a dialog asks a question while it closes
            self._again.start()
            return
        if self._window.isVisible():
            self._close()
        self.obeyed = 0 if self._window.isVisible() else self._asked
        self._asked = self.obeyed
