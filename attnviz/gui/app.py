"""Start the program: fonts, colours, language, hooks, then the window."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from attnviz.compute.scheduler import end_process
from attnviz.gui import app_errors
from attnviz.gui.display import sentence_for_abort
from attnviz.gui.documents import FIRST_PRESET, STORIES, is_model, title_of
from attnviz.gui.interrupt import SIGNALLED, Interrupt
from attnviz.gui.look import look, scale
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.look.icons import app_icon
from attnviz.gui.settings import Settings
from attnviz.gui.widgets import roles
from attnviz.gui.window import Window
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


def main(path: Path | None = None, language: str | None = None) -> int:
    """Show the window, with the document at `path` in it, until it is closed. Returns the exit code.

    A `language` is that of the window from now on. Call `tune_interpreter` before this module is imported.
    """
    settings = Settings()
    if language is not None:
        settings["language"] = language
    scale.prepare(settings)
    with sentence_for_abort():
        app = make_application(sys.argv[:1])
    look.apply(app, settings)
    notices = _Notices()
    errors = app_errors.install(notices.show)
    window = notices.window = Window(first_document(path), settings)
    look.apply(app, settings)
    interrupt = Interrupt(window, window.keeping)
    window.show()
    FirstFrame(window, partial(fill, window, path))
    code = app.exec()
    interrupt.uninstall()
    errors.uninstall()
    code = SIGNALLED + interrupt.obeyed if interrupt.obeyed else code
    if not window.ended_cleanly:
        end_process(code)
    return code


def first_document(path: Path | None) -> Document:
    """The document of the first frame: empty, titled as the one about to open and never as a preset."""
    is_story = path is None or needs_model(path)
    title = title_of(STORIES[current_language()]) if is_story else ""
    return Document(one_layer(("",), SeededVectors(1, 1)), title=title)


def fill(window: Window, path: Path | None) -> None:
    window.store.stand_in()
    if path is None:
        window.documents.open_story(partial(_begin, window))
    elif needs_model(path):
        window.documents.open_story(partial(_open_over, window, path))
    else:
        window.store.open(replace(load_preset(FIRST_PRESET), title=""))  # what stays if the file cannot open
        window.store.stand_in()
        _start(window)
        window.open_file(path)


def _start(window: Window) -> None:
    """Fill the window, and show over it what a person has to see first."""
    window.begin()
    window.keeping.restoring.start()


def needs_model(path: Path) -> bool:
    """True for a file that is opened beside a document: a trained model, whose input is asked first, or a
    survey, whose texts a model reads.
    """
    return is_model(path) or path.suffix.lower() == SURVEY_SUFFIX


def _open_over(window: Window, path: Path) -> None:
    """Open a file over the document that stays."""
    _start(window)
    window.open_file(path)


def _begin(window: Window) -> None:
    """Begin with the start page, at the first run and for those who want it."""
    _start(window)
    if window.settings.is_first_run() or window.settings["start"]:
        window.start_page.show()


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
