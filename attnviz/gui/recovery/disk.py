"""Files that others change while their document is open: noticed, and offered for reloading."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.core.text import visible
from attnviz.errors import Message, verbatim
from attnviz.gui.failure import log_unexpected
from attnviz.gui.services.documents import Documents
from attnviz.gui.store import Store
from attnviz.gui.widgets.question_card import Answer, Question, QuestionCard
from attnviz.i18n import N_, _
from attnviz.model.io.stamp import Stamp

KEY = ABOUT = "disk"


class Disk(QObject):
    """Compares the document's file with what was read, whenever the window or another document comes up.

    The comparison reads the disk, so a worker does it.
    """

    def __init__(self, store: Store, scheduler: Scheduler, documents: Documents, card: QuestionCard) -> None:
        super().__init__(store)
        self._store, self._scheduler = store, scheduler
        self._documents, self._card = documents, card
        self._noticed: tuple[Path, Stamp, Stamp | None] | None = None
        """The change that was noticed last, which is told once: the file, its stamps then and now."""
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.look)
        store.opened.connect(self._soon.start)
        store.history_changed.connect(self._on_history)

    @Slot()
    def look(self) -> None:
        """Compare the file now."""
        chapter = self._store.chapters.present
        path, stamp = chapter.path, chapter.stamp
        if path is None or stamp is None:
            return

        def job(token: CancelToken) -> tuple[bool, Stamp | None]:
            return (True, stamp) if stamp.still_holds(path) else (False, Stamp.unread(path))

        self._scheduler.submit(job, partial(self._on_found, path, stamp), self._on_failed, key=KEY)

    def _on_found(self, path: Path, expected: Stamp, state: tuple[bool, Stamp | None]) -> None:
        chapter = self._store.chapters.present
        is_same, now = state
        if (path, expected) != (chapter.path, chapter.stamp):
            return
        if is_same:
            self._card.withdraw(ABOUT)
            self._noticed = None
        elif self._noticed != (path, expected, now):
            self._noticed = path, expected, now
            self._say(path, now)

    def _say(self, path: Path, now: Stamp | None) -> None:
        if now is None:
            self._card.withdraw(ABOUT)
            removed = _("{file} is no longer on the disk; saving writes it again")
            self._documents.said.emit(removed.format(file=visible(path.name)))
            return
        sentence = Message(
            "{file} has changed on the disk since it was opened.", file=verbatim(visible(path.name))
        )
        reload = Answer("reload", N_("Reload"), self._documents.reload)
        self._card.ask(Question(ABOUT, sentence, (reload, Answer("keep", N_("Keep this state")))))

    @Slot()
    def _on_history(self) -> None:
        """A file that was saved or reloaded is no longer asked about."""
        chapter = self._store.chapters.present
        if self._noticed is not None and self._noticed[:2] != (chapter.path, chapter.stamp):
            self._card.withdraw(ABOUT)
            self._noticed = None

    def _on_failed(self, error: BaseException) -> None:
        """A file that cannot be read now says so when it is saved."""
        log_unexpected(error)
