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
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.errors import InputError, verbatim
from attnviz.gui.app import make_application, make_window
from attnviz.gui.export.widget import framed, widget_bytes
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Schedulers
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.empty_state import EmptyState
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
        window = make_window(app, document if asked.first is None else asked.first, settings)
        try:
            window.resize(WINDOW)
            window.show()
            errors: list[BaseException] = []
            window.live.failed.connect(errors.append)
            window.begin(in_pauses=False)
            _settle(window.services.schedulers)
            if asked.first is not None:
                window.commands["pin"].trigger()
                window.store.open(document)
            window.workspaces.show_panel(asked.panel)
            window.workspaces.widen(asked.panel)
            _settle(window.services.schedulers)
            if errors:
                raise errors[0]
            return _painted(window.panels[asked.panel], asked.size, format_id)
        finally:
            _close(window)


def _application() -> QApplication:
    if QGuiApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return make_application(sys.argv[:1])


def _painted(panel: Panel, size: tuple[int, int] | None, format_id: str) -> bytes:
    _check_content(panel)
    frame = framed(panel)
    if size is not None:
        frame.resize(*size)
        QApplication.processEvents()
        frame.resize(*size)
    return widget_bytes(frame, active_theme(), format_id)


def _check_content(panel: Panel) -> None:
    """Raise `InputError` with the sentence that a panel without content shows."""
    for state in panel.findChildren(EmptyState):
        if state.isVisibleTo(panel):
            raise InputError(verbatim(state.accessibleName()))


def _settle(schedulers: Schedulers) -> None:
    """Wait until no panel waits for numbers.

    On a busy machine a second may pass between two rounds of events: a round counts as `ROUND_S` at most.
    """
    last = time.monotonic()
    until, quiet_s = last + PATIENCE_S, 0.0
    while quiet_s < QUIET_S and last < until:
        QApplication.processEvents()
        now = time.monotonic()
        is_idle = all(scheduler.idle for scheduler in (schedulers.run, schedulers.answers))
        quiet_s = quiet_s + min(now - last, ROUND_S) if is_idle else 0.0
        last = now
        time.sleep(ROUND_S / 2)
    QApplication.processEvents()


def _close(window: QWidget) -> None:
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
