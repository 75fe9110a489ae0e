"""Sequences from the window: the dialog, the file, and the job in the worker."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from attnviz.checkpoints.shipped import record_of
from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.core.progress import Progress
from attnviz.errors import InputError, Message, about
from attnviz.figures.figure import kind_of
from attnviz.figures.sequences import OUTPUTS, Sequence, frames, save_sequence
from attnviz.figures.sequences.frames import Engines
from attnviz.figures.sequences.sequence import FPS
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.gui.dialogs.sequence import SequenceDialog
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.store import Store
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import _
from attnviz.model.sites.sites import places
from attnviz.model.trace import Trace

KEY = "export"
FRAMES_SHARE = 0.4
"""Part of the progress in which the frames are computed; the rest draws them."""


class Sequences(QObject):
    """Writes sequences of the shown stage; `export` asks, `write` does not."""

    failed = Signal(object)
    """One sentence: why nothing was written."""
    said = Signal(str)
    """One sentence: what was written."""

    def __init__(self, window: QWidget, store: Store, scheduler: Scheduler) -> None:
        super().__init__(window)
        self._window, self._store, self._scheduler = window, store, scheduler
        self._folder = Path()

    def export(self) -> None:
        """Ask for a sequence and a file, then write it."""
        store = self._store
        if store.trace is None:
            self.failed.emit(InputError(Message("An export needs computed numbers; got none yet.")))
            return
        dialog = SequenceDialog(self._window, store.attention, len(places(store.experiment)) > 1)
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        over, fps = dialog.over, dialog.fps
        dialog.deleteLater()
        path = self._ask() if accepted else None
        if path is not None:
            self.write(path, over, fps)

    def write(self, path: Path, over: str, fps: float = FPS) -> None:
        """Compute, draw and write a sequence in the worker; the suffix of `path` selects the kind."""
        document, trace = self._store.document, self._store.trace
        if trace is None:
            return
        texts = _(document.title), _(document.caption)
        style, engines = Style(theme=active_theme().name), _engines(trace)

        def job(token: CancelToken) -> Path:
            progress = Progress(token.check, token.report)
            subject = Subject(trace, document.view, title=texts[0], caption=texts[1])
            kind = kind_of(subject)
            made = frames(over, subject, engines, progress.part(0.0, FRAMES_SHARE), kind)
            sequence, record = Sequence(made, kind, style), record_of(document)
            return save_sequence(sequence, path, progress.part(FRAMES_SHARE, 1.0), fps=fps, record=record)

        def done(written: Path) -> None:
            self.said.emit(_("Saved {file}").format(file=written.name))

        def failed(error: BaseException) -> None:
            message = failure_message(error)
            is_named = str(message).startswith(path.name)
            self.failed.emit(message if is_named else about(path.name, message))
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, done, failed, key=KEY)

    def _ask(self) -> Path | None:
        kinds = {f"{_(row.title)} (*{row.suffix})": row.suffix for row in OUTPUTS}
        start = str(self._folder / f"{self._store.document.view.stage}{OUTPUTS[0].suffix}")
        text, kind = QFileDialog.getSaveFileName(self._window, _("Export"), start, ";;".join(kinds))
        if not text:
            return None
        path = Path(text)
        self._folder = path.parent
        return path if path.suffix else path.with_suffix(kinds.get(kind, OUTPUTS[0].suffix))


def _engines(trace: Trace) -> Engines:
    """The engine of the shown numbers, leaving the window its core."""
    where = trace.engine, trace.device
    return Engines(
        lambda experiment, check: execute(experiment, *where, check, reserve=GUI_CORES),
        lambda experiment, check: execute_decoding(experiment, None, *where, check, reserve=GUI_CORES),
    )
