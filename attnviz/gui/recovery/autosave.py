"""The window's journal: a moment after every edit, a worker of its own writes it."""

from __future__ import annotations

from weakref import ref

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from attnviz.compute.scheduler import CancelToken, Post, Scheduler
from attnviz.errors import Message
from attnviz.gui.failure import failure_message, log_unexpected
from attnviz.gui.state_folder import state_folder
from attnviz.gui.store import Store
from attnviz.model.edit.chapters import Chapters
from attnviz.model.journal.crashes import Abandoned
from attnviz.model.journal.journal import Journal

EDIT_MS = 300
"""Time after an edit at which it is written, with all others until then.

Writing takes milliseconds of the processor from the edits of a drag, and at most a second may be lost.
"""

VIEW_MS = 5_000
"""The same after a change of the view, which happens at every step of a playing decoding."""

RUN_MS = 10_000
"""The same while a training run goes on: a crash loses the steps of this time."""

AGAIN_MS = 10_000
"""Time after which a failed writing is tried again."""

FLUSH_S = 5.0
"""Longest time that an ending process waits for its journal."""

KEY = "journal"


class Autosave(QObject):
    """Writes the store's documents with their history to a journal, while something is unsaved.

    The journal has a worker of its own, so that no long run delays it.
    """

    failed = Signal(object)
    """One sentence: why the journal was not written. Once, until it is written again."""
    written = Signal()

    def __init__(self, store: Store, post: Post, *, inline: bool = False) -> None:
        super().__init__(store)
        self._store = store
        self.folder = state_folder() / "journals"
        self.scheduler = Scheduler(post, inline=inline)
        self._journal = Journal(self.folder)
        self._written: ref[Chapters] | None = None
        """The state that was written last. Weakly: it may hold a closed model of gigabytes."""
        self._superseded: list[Abandoned] = []
        self._has_failed = False
        self._is_waiting = False
        """True if something is to be written as soon as the worker has written what it has."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._write)
        store.changed.connect(self._on_changed)
        store.history_changed.connect(self._on_history)
        store.run_changed.connect(self._on_run)

    @property
    def is_up_to_date(self) -> bool:
        """True if the journal has the present state, or was removed for it."""
        return self._written is not None and self._written() is self._store.chapters

    def supersede(self, journal: Abandoned) -> None:
        """End a journal as soon as the own one has what was restored from it."""
        self._superseded.append(journal)
        self._arm(0)

    def close(self, *, keeps: bool) -> bool:
        """End the journal: remove it, or write it a last time and leave it for the next start.

        Returns whether its worker has ended.
        """
        if keeps:
            self.flush()
        self._timer.stop()
        has_ended = self.scheduler.close(FLUSH_S)
        try:
            for journal in self._superseded:
                journal.release() if keeps else journal.retire()
            self._journal.leave() if keeps else self._journal.remove()
        except OSError as error:
            self.failed.emit(failure_message(error))
        return has_ended

    def flush(self) -> None:
        """Write the journal now, and wait for it: the process may be about to end."""
        self._timer.stop()
        if not self.is_up_to_date:
            self._submit()
        self.scheduler.wait(FLUSH_S)

    @Slot()
    def _on_changed(self) -> None:
        self._arm(VIEW_MS)

    @Slot()
    def _on_history(self) -> None:
        self._arm(EDIT_MS)

    @Slot()
    def _on_run(self) -> None:
        self._arm(RUN_MS)

    def _arm(self, milliseconds: int) -> None:
        """Write after this time, or earlier where that was decided before."""
        if not self._timer.isActive() or self._timer.remainingTime() > milliseconds:
            self._timer.start(milliseconds)

    @Slot()
    def _write(self) -> None:
        self._is_waiting = self.scheduler.is_busy(KEY)
        if not self._is_waiting and (not self.is_up_to_date or self._superseded):
            self._submit()

    def _submit(self) -> None:
        chapters, superseded = self._store.chapters, tuple(self._superseded)

        def job(token: CancelToken) -> None:
            if chapters.is_worth_keeping:
                self._journal.write(chapters)
            else:
                self._journal.remove()
            for journal in superseded:
                journal.retire()

        def done(_nothing: None) -> None:
            self._written, self._has_failed = ref(chapters), False
            self._superseded = [journal for journal in self._superseded if journal not in superseded]
            self.written.emit()
            if self._is_waiting:
                self._write()

        self.scheduler.submit(job, done, self._on_failed, key=KEY)

    def _on_failed(self, error: BaseException) -> None:
        log_unexpected(error)
        if not self._has_failed:
            problem = failure_message(error)
            self.failed.emit(Message("Changes are not saved automatically: {problem}", problem=problem))
        self._has_failed = True
        self._arm(AGAIN_MS)
