"""Start the program: fonts, colours, language, hooks, then the window."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from attnviz.checkpoints.opening import is_model
from attnviz.compute.scheduler import end_process
from attnviz.gui import app_errors
from attnviz.gui.display import sentence_for_abort
from attnviz.gui.look import look, scale
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.look.icons import app_icon
from attnviz.gui.services.documents import FIRST_PRESET, FIRST_SENTENCES, last_document, title_of
from attnviz.gui.settings import Settings
from attnviz.gui.widgets import roles
from attnviz.gui.window.interrupt import SIGNALLED, Interrupt
from attnviz.gui.window.window import Window
from attnviz.i18n import current_language
from attnviz.model.io.files import SURVEY_SUFFIX
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import one_layer
from attnviz.model.spec.parts import SeededVectors

UNSEEN_MS = 500
"""A window that is not painted by then is minimised or covered; it is filled all the same."""


def make_application(arguments: list[str]) -> QApplication:
    """The one QApplication, with the project's fonts loaded."""
    QCoreApplication.setOrganizationName("attnviz")
    QCoreApplication.setApplicationName("attnviz")
    app = QApplication.instance() or QApplication(arguments)
    assert isinstance(app, QApplication)
    app.setApplicationDisplayName("attnviz")
    app.setDesktopFileName("attnviz")
    app.setWindowIcon(app_icon())
    load_fonts()
    roles.install()
    return app


def make_window(app: QApplication, document: Document, settings: Settings) -> Window:
    """A window in the language and the colours of its settings."""
    look.apply(app, settings)
    window = Window(document, settings)
    look.apply(app, settings)  # once more: now the window has its icons and colours
    return window


def main(first: Path | str | None = None, language: str | None = None) -> NoReturn:
    """Show the window until it is closed, and end the process with the exit code.

    `first` is the file, or the id of the preset, that it begins with.
    A `language` is that of the window from now on. Call `tune_interpreter` before this module is imported.
    """
    settings = Settings()
    if language is not None:
        settings["language"] = language
    scale.prepare(settings)
    with sentence_for_abort():
        app = make_application(sys.argv[:1])
    scale.adapt(settings, app.primaryScreen().size().width())
    notices = _Notices()
    errors = app_errors.install(notices.show)
    shown = last_document(settings) if first is None else first
    window = notices.window = make_window(app, first_document(shown), settings)
    interrupt = Interrupt(window, window.ask_to_close, window.keeping)
    window.show()
    FirstFrame(window, partial(fill, window, shown, is_reopened=first is None))
    code = app.exec()
    interrupt.uninstall()
    errors.uninstall()
    if window.ended_cleanly:
        app.shutdown()  # a clipboard manager takes what was copied
    # What the window holds is saved; taking it down object by object takes longer than a person waits.
    end_process(SIGNALLED + interrupt.obeyed if interrupt.obeyed else code)


def first_document(first: Path | str | None) -> Document:
    """The document of the first frame: empty, titled as the preset about to open and never as another one."""
    preset = _first_preset(first)
    title = "" if preset is None else title_of(preset)
    return Document(one_layer(("",), SeededVectors(1, 1)), title=title)


def _first_preset(first: Path | str | None) -> str | None:
    """Id of the preset that a window begins with; None: it begins with a file."""
    if isinstance(first, str):
        return first
    return FIRST_SENTENCES[current_language()] if first is None or needs_model(first) else None


def fill(window: Window, first: Path | str | None, *, is_reopened: bool = False) -> None:
    """Show the first document; over that of an earlier start, or without one, also the start page where it is
    set.
    """
    has_page = is_reopened or first is None
    window.store.stand_in()
    preset = _first_preset(first)
    if preset is not None:
        window.documents.open_first(preset, partial(_over_preset, window, first, has_page))
    elif isinstance(first, Path):
        window.store.open(replace(load_preset(FIRST_PRESET), title=""))  # what stays if the file cannot open
        window.store.stand_in()
        _start(window)
        if has_page and _wants_page(window):
            once = Qt.ConnectionType.SingleShotConnection
            window.store.opened.connect(window.start_page.show, once)  # over the document of the file
        window.open_file(first)


def _start(window: Window) -> None:
    """Fill the window, and show over it what a person has to see first."""
    window.begin()
    window.keeping.restoring.start()


def needs_model(path: Path) -> bool:
    """True for a file that is opened beside a document: a trained model, whose input is asked first, or a
    survey, whose texts a model reads.
    """
    return is_model(path) or path.suffix.lower() == SURVEY_SUFFIX


def _over_preset(window: Window, first: Path | str | None, has_page: bool) -> None:
    """Open a file over the preset."""
    _start(window)
    if isinstance(first, Path):
        window.open_file(first)
    if has_page and _wants_page(window):
        window.start_page.show()


def _wants_page(window: Window) -> bool:
    return bool(window.settings["start"])


class FirstFrame(QObject):
    """Calls `action` once, when the window's first frame is painted, or after a moment without one."""

    def __init__(self, window: Window, action: Callable[[], object]) -> None:
        super().__init__(window)
        self._action: Callable[[], object] | None = action
        window.installEventFilter(self)
        QTimer.singleShot(UNSEEN_MS, self._act)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.UpdateRequest and self._action is not None:
            QTimer.singleShot(0, self._act)  # after the frame that this event paints
        return False

    @Slot()
    def _act(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()


class _Notices:
    """Sends notices of unexpected errors to the window's status line, once a window exists."""

    window: Window | None = None

    def show(self, sentence: str, details: str) -> None:
        """Show a notice, or print it where no window could be made."""
        if self.window is None:
            print(details, file=sys.stderr)
        else:
            self.window.status.notice(sentence, details)
