"""A window whose frames are noted, with the clock and the CPU time at the end of each."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, QSettings, QTimer
from PySide6.QtGui import QGuiApplication

from attnviz.gui.app import make_application, make_window
from attnviz.gui.settings import Settings
from attnviz.model.spec.document import Document

PATIENCE_S = 30.0
"""Longest wait for one paint; a window that needs longer is broken."""
QUIET_ROUNDS = 3
"""Rounds of the event loop without a frame after which nothing is left to paint."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Frame:
    """The end of one frame: `time.perf_counter`, and the CPU seconds of the window's thread.

    `painting` are those of the frame itself.
    """

    at: float
    cpu: float
    painting: float = 0.0


def now() -> Frame:
    """The present moment."""
    return Frame(time.perf_counter(), time.thread_time())


class TimedWindow(QObject):
    """The window as `app.main` makes it, but with settings that are nobody's; shown, not started.

    Notes when a frame is complete: Qt answers `UpdateRequest` by painting all requested widgets.
    """

    def __init__(self, document: Document) -> None:
        super().__init__()
        app = make_application(sys.argv[:1])
        folder = tempfile.mkdtemp(prefix="attnviz-bench-")
        settings = Settings(QSettings(str(Path(folder) / "none.ini"), QSettings.Format.IniFormat))
        settings.is_first_run()  # the first start of all plays a sum for seconds: its frames are no edit's
        self.frames: list[Frame] = []
        self.window = make_window(app, document, settings)
        self.window.installEventFilter(self)
        self.window.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.UpdateRequest:
            return False
        begun = time.thread_time()
        done = watched.event(event)
        at, cpu = time.perf_counter(), time.thread_time()
        self.frames.append(Frame(at, cpu, cpu - begun))
        return done

    def last_frame(self) -> Frame:
        """Let the window paint until nothing is left to paint; return the last frame since the list was
        cleared.

        Without a frame, the present moment: no panel in sight shows what has changed.
        """
        begun, quiet = now(), 0
        while quiet < QUIET_ROUNDS:
            count = len(self.frames)
            QCoreApplication.processEvents()
            quiet = quiet + 1 if len(self.frames) == count else 0
        return self.frames[-1] if self.frames else begun

    def close(self) -> None:
        """End the window's threads and close it, without a question."""
        self.window.bridge.close()
        for scheduler in self.window.services.schedulers:
            scheduler.close()
        self.window.store.mark_saved(Path("bench"), self.window.store.document)
        self.window.ask_to_close()


def wait(answer: Callable[[], Found]) -> Found:
    """Run the event loop until `answer()` is true, and return it."""
    ticker = QTimer()
    ticker.start(1000)  # so that waiting for events ends, whatever happens
    until = time.perf_counter() + PATIENCE_S
    while not (answered := answer()):
        if time.perf_counter() > until:
            raise TimeoutError("the window did not paint")
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    return answered


def spin(seconds: float) -> None:
    """Run the event loop for some time."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        QCoreApplication.processEvents()
        time.sleep(0.001)


def platform() -> str:
    """Qt's name of the platform."""
    return QGuiApplication.platformName()
