"""A panel as a file without a window on a screen."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QSettings, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from attnviz.errors import InputError, verbatim
from attnviz.gui.app import make_application
from attnviz.gui.export.widget import framed, widget_bytes
from attnviz.gui.look import look
from attnviz.gui.panels.panel import Panel
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.window import Window
from attnviz.i18n import current_language
from attnviz.model.spec.document import Document

WINDOW = QSize(1600, 1000)
"""Of a usual screen: every arrangement has its widest form."""
QUIET_S = 0.4
"""Time without a job after which every panel shows its numbers: timers that begin one are shorter."""
ROUND_S = 0.004
PATIENCE_S = 600.0


@dataclass(frozen=True)
class Asked:
    """A panel by its id, its theme, its size in pixels if not its usual one, and the engine of its numbers.

    `first` is the state A of a comparison.
    """

    panel: str
    theme: str = "light"
    size: tuple[int, int] | None = None
    engine: str = "numpy"
    device: str = "auto"
    first: Document | None = None


def panel_bytes(document: Document, asked: Asked, format_id: str) -> bytes:
    """The panel of a document with all of its content, as a window paints it.

    Raises `ValueError` where the document cannot be computed, and where the panel has nothing to show of it.
    """
    app = _application()
    with tempfile.TemporaryDirectory(prefix="attnviz-panel-") as folder:
        settings = Settings(QSettings(str(Path(folder) / "none.ini"), QSettings.Format.IniFormat))
        settings["theme"], settings["language"], settings["motion"] = asked.theme, current_language(), False
        settings["engine"], settings["device"] = asked.engine, asked.device
        window = _window(app, document if asked.first is None else asked.first, settings)
        try:
            return _painted(window, document, asked, format_id)
        finally:
            _close(window)


def _application() -> QApplication:
    if QGuiApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return make_application(sys.argv[:1])


def _window(app: QApplication, document: Document, settings: Settings) -> Window:
    look.apply(app, settings)
    window = Window(document, settings)
    look.apply(app, settings)  # once more, as the program does: now the window has its icons and colours
    window.resize(WINDOW)
    window.show()
    return window


def _painted(window: Window, document: Document, asked: Asked, format_id: str) -> bytes:
    errors: list[BaseException] = []
    window.live.failed.connect(errors.append)
    window.begin(in_pauses=False)
    _settle(window)
    if asked.first is not None:
        window.compare_live.pin()
        window.store.open(document)
    window.workspaces.show_panel(asked.panel)
    _settle(window)
    if errors:
        raise errors[0]
    panel = window.panels[asked.panel]
    _check_content(panel)
    frame = framed(panel)
    if asked.size is not None:
        frame.resize(*asked.size)
        QApplication.processEvents()
        frame.resize(*asked.size)
    return widget_bytes(frame, active_theme(), format_id)


def _check_content(panel: Panel) -> None:
    """Raise `InputError` with the sentence that a panel without content shows."""
    for state in panel.findChildren(EmptyState):
        if state.isVisibleTo(panel):
            raise InputError(verbatim(state.accessibleName()))


def _settle(window: Window) -> None:
    """Wait until no panel waits for numbers.

    On a busy machine a second may pass between two rounds of events: a round counts as `ROUND_S` at most.
    """
    last = time.monotonic()
    until, quiet_s = last + PATIENCE_S, 0.0
    while quiet_s < QUIET_S and last < until:
        QApplication.processEvents()
        now = time.monotonic()
        is_idle = window.scheduler.idle and window.decode_scheduler.idle
        quiet_s = quiet_s + min(now - last, ROUND_S) if is_idle else 0.0
        last = now
        time.sleep(ROUND_S / 2)
    QApplication.processEvents()


def _close(window: Window) -> None:
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
