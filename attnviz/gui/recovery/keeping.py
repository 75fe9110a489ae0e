"""Keeping a window's documents: their journal, its restoring, the disk, the end of the session."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Slot
from PySide6.QtWidgets import QWidget

from attnviz.compute.scheduler import Post
from attnviz.errors import Message
from attnviz.gui.recovery.autosave import Autosave
from attnviz.gui.recovery.disk import Disk
from attnviz.gui.recovery.restoring import Restoring
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.question_card import Answer, Question, QuestionCard
from attnviz.i18n import N_

AUTOSAVE = "autosave"


class Keeping(QObject):
    """Keeps what is unsaved, for the window whose documents these are."""

    def __init__(
        self,
        window: QWidget,
        services: Services,
        post: Post,
        *,
        inline: bool = False,
    ) -> None:
        super().__init__(window)
        store = services.store
        self.card = QuestionCard()
        self.autosave = Autosave(store, post, inline=inline)
        self.restoring = Restoring(store, self.autosave, self.card)
        self.disk = Disk(store, self.autosave.scheduler, services.documents, self.card)
        self.is_session_ending = False
        """True if the journal takes the place of saving: nobody answers a question."""
        self.autosave.failed.connect(self._on_failed)
        self.autosave.written.connect(self._on_written)
        self.restoring.failed.connect(services.status.warn)
        store.history_changed.connect(self._on_history)
        window.installEventFilter(self)

    def end_session(self) -> None:
        """Write the journal, and ask nothing if the window closes without another edit."""
        self.autosave.flush()
        self.is_session_ending = True

    def close(self) -> bool:
        """End with the window; the journal stays if the session ends.

        Returns whether the worker has ended.
        """
        self.restoring.close()
        return self.autosave.close(keeps=self.is_session_ending)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:
            self.disk.look()
        return False

    @Slot(object)
    def _on_failed(self, message: Message) -> None:
        """Say that the journal is missing until it is written, or the sentence is closed."""
        self.card.ask(Question(AUTOSAVE, message, (Answer("close", N_("Close")),)))

    @Slot()
    def _on_written(self) -> None:
        self.card.withdraw(AUTOSAVE)

    @Slot()
    def _on_history(self) -> None:
        """The session goes on: another program has prevented its end."""
        self.is_session_ending = False
