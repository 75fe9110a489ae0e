"""Documents as Python from the window: to the clipboard, as a script, as a notebook."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.errors import about
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.store import Store
from attnviz.i18n import N_, _
from attnviz.scripts.files import NOTEBOOK, SCRIPT, save_script
from attnviz.scripts.library import LIBRARIES, LIBRARY_BY_ID, Library
from attnviz.scripts.script import script

KEY, COPY_KEY = "export", "copy"
SCRIPT_KIND = N_("{library} script ({pattern})")
NOTEBOOK_KIND = N_("{library} notebook ({pattern})")


class Programs(QObject):
    """Writes the document as Python; the commands ask for a file, `write` and `copy` do not."""

    failed = Signal(object)
    """One sentence: why nothing was written."""
    said = Signal(str)
    """One sentence: what was written."""

    def __init__(self, window: QWidget, store: Store, scheduler: Scheduler) -> None:
        super().__init__(window)
        self._window, self._store, self._scheduler = window, store, scheduler
        self._folder = Path()

    def copy(self, library: Library = LIBRARY_BY_ID["numpy"]) -> None:
        """Copy the script of the document to the clipboard."""
        document = self._store.document

        def job(token: CancelToken) -> str:
            return script(document, library)

        def done(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            self.said.emit(_("Copied the document as Python to the clipboard."))

        self._scheduler.submit(job, done, self._fail, key=COPY_KEY)

    def export(self) -> None:
        """Ask for a file and its kind, then write it."""
        kinds = {
            _(title).format(library=library.title, pattern=f"*{suffix}"): (library, suffix)
            for title, suffix in ((SCRIPT_KIND, SCRIPT), (NOTEBOOK_KIND, NOTEBOOK))
            for library in LIBRARIES
        }
        start = str(self._folder / f"attention{SCRIPT}")
        text, kind = QFileDialog.getSaveFileName(self._window, _("Export as Python"), start, ";;".join(kinds))
        if not text:
            return
        library, suffix = kinds.get(kind, (LIBRARIES[0], SCRIPT))
        path = Path(text)
        self._folder = path.parent
        self.write(path if path.suffix else path.with_suffix(suffix), library)

    def write(self, path: Path, library: Library) -> None:
        """Write a script or a notebook in the worker; the suffix of `path` selects which."""
        document = self._store.document

        def job(token: CancelToken) -> tuple[Path, ...]:
            return save_script(document, path, library)

        def done(written: tuple[Path, ...]) -> None:
            self.said.emit(_("Saved {file}").format(file=", ".join(file.name for file in written)))

        def failed(error: BaseException) -> None:
            message = failure_message(error)
            is_named = str(message).startswith(path.name)
            self._tell(message if is_named else about(path.name, message), error)

        self._scheduler.submit(job, done, failed, key=KEY)

    def _fail(self, error: BaseException) -> None:
        self._tell(failure_message(error), error)

    def _tell(self, message: object, error: BaseException) -> None:
        self.failed.emit(message)
        if not is_expected(error):
            raise error
