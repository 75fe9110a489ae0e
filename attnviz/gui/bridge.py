"""The one way from another thread into the window: a queue of callables and one queued signal.

A signal connected to a lambda runs the lambda on the emitting thread; connected to a bound slot of an object
on the GUI thread, it is queued for that thread. One such object exists, and other threads post to it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal, Slot


class Bridge(QObject):
    """Runs posted callables on the thread that made the bridge, in the order of posting, from its event loop.

    Make it on the GUI thread and keep it for the life of the window. A callable that raises is reported to
    `sys.excepthook` and the next one runs. After `close` nothing runs, whatever has been posted before.
    """

    _posted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bridge")
        self._calls: deque[Callable[[], None]] = deque()
        self._closed = False
        self._posted.connect(self._drain, Qt.ConnectionType.QueuedConnection)

    def post(self, call: Callable[[], None]) -> None:
        """Have `call()` run on the bridge's thread soon. From any thread; never blocks, never raises."""
        if self._closed:
            return
        self._calls.append(call)
        try:
            self._posted.emit()
        except RuntimeError:
            # The window and its objects may be gone while a worker ends: nobody receives the result.
            self.close()

    def close(self) -> None:
        """Drop pending callables and refuse new ones."""
        self._closed = True
        self._calls.clear()

    @Slot()
    def _drain(self) -> None:
        # Only the present callables: one that posts again must let the window paint in between.
        for _count in range(len(self._calls)):
            if self._closed or not self._calls:  # closed by a callable, or emptied by its nested event loop
                return
            call = self._calls.popleft()
            try:
                call()
            except Exception:
                sys.excepthook(*sys.exc_info())
            del call
