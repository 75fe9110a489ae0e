"""Saving in the worker: the window stays alive, a long saving shows its progress and can be cancelled."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEventLoop, QMargins, Qt, QTimer, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QProgressBar, QWidget

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.core.text import visible
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.state_folder import state_folder
from attnviz.gui.widgets.boxes import in_column
from attnviz.i18n import N_, _
from attnviz.model.edit.chapters import RunRecord
from attnviz.model.io.stamp import Stamp
from attnviz.model.io.turns import save_in_turn
from attnviz.model.spec.document import Document

SHOWN_AFTER_MS = 300
"""A saving shorter than this shows nothing."""

WIDTH = 360
MARGINS = QMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
KEY = "save"
_POLL_MS = 50
_STEPS = 1000


class Saving(QDialog):
    """One saving: what was written, or the error; neither if the user cancelled.

    A file that does not have the `expected` stamp any more is not overwritten: the error is `ChangedOnDisk`.
    """

    written: Path | None = None
    stamp: Stamp | None = None
    error: BaseException | None = None

    def __init__(
        self,
        window: QWidget | None,
        scheduler: Scheduler,
        document: Document,
        path: Path,
        expected: Stamp | None = None,
        with_weights: bool = False,
        run: RunRecord | None = None,
    ) -> None:
        super().__init__(window)
        says(self, N_("Save the document"), id="saving_dialog")
        self.setMinimumWidth(WIDTH)
        self.setWindowModality(Qt.WindowModality.ApplicationModal)
        self._scheduler, self._document, self._path = scheduler, document, path
        self._expected, self._with_weights, self._run = expected, with_weights, run
        self._share = 0.0
        self._decision = [True]
        """Whoever takes it decides: the worker puts the new file in its place, or the user cancels."""
        self._loop = QEventLoop(self)
        self._is_over = False
        label = QLabel(_("Saving {file}…").format(file=visible(path.name)))
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        self._bar = says(QProgressBar(), id="saving_bar", name=N_("Progress"))
        self._bar.setRange(0, _STEPS)
        self._bar.setTextVisible(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.rejected.connect(self.reject)
        in_column(self, label, self._bar, buttons, spacing=2 * GRID).setContentsMargins(MARGINS)
        self._poll = QTimer(self)
        self._poll.setInterval(_POLL_MS)
        self._poll.timeout.connect(self._show_share)

    def run(self) -> None:
        """Save, and return when that is complete, has failed or was cancelled."""
        self._scheduler.submit(self._job, self._on_done, self._on_failed, key=KEY)
        if not self._is_over:
            QTimer.singleShot(SHOWN_AFTER_MS, self._loop, self._loop.quit)
            # Input during the saving waits, as for a long click.
            self._loop.exec(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
        if not self._is_over:
            self._poll.start()
            self.exec()
        self._poll.stop()

    def reject(self) -> None:
        """Cancel: the old file stays unchanged. Once the new one takes its place, it is too late."""
        if not self._decides():
            return
        self._is_over = True
        self._scheduler.submit(_nothing, _forget, _forget, key=KEY)
        super().reject()

    def _job(self, token: CancelToken) -> tuple[Path, Stamp | None]:
        def progress(share: float) -> None:
            token.progress.at(share)
            self._share = share  # read by the window's thread, which paints it
            if share >= 1.0 and not self._decides():
                raise Cancelled

        locks = state_folder() / "locks"
        attached = None if self._run is None else self._run.attached()
        how = self._expected, locks, progress, self._with_weights, attached
        return save_in_turn(self._document, self._path, *how)

    def _decides(self) -> bool:
        """True for the first who asks, of any thread: taking an element from a list is one step."""
        try:
            return self._decision.pop()
        except IndexError:
            return False

    def _on_done(self, written: tuple[Path, Stamp | None]) -> None:
        self.written, self.stamp = written
        self._end()

    def _on_failed(self, error: BaseException) -> None:
        self.error = error
        self._end()

    def _end(self) -> None:
        self._is_over = True
        self._loop.quit()
        self.accept()

    @Slot()
    def _show_share(self) -> None:
        self._bar.setValue(round(_STEPS * self._share))


def _nothing(token: CancelToken) -> None:
    """The job that replaces the saving."""


def _forget(answer: object) -> None:
    """Ignore an answer that nobody waits for."""
