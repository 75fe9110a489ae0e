"""The start after a crash: what an ended program has left is offered, and restored with its history."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from PySide6.QtCore import QObject, Signal

from attnviz.checkpoints.link import matrices_of
from attnviz.compute.scheduler import CancelToken
from attnviz.core.text import visible
from attnviz.errors import Message, verbatim
from attnviz.gui.failure import failure_message, log_unexpected
from attnviz.gui.recovery.autosave import Autosave
from attnviz.gui.store import Store
from attnviz.gui.widgets.question_card import Answer, Question, QuestionCard
from attnviz.i18n import N_, _
from attnviz.model.edit.chapters import Chapters, RunRecord
from attnviz.model.io.tensors import AttachedFile
from attnviz.model.io.titles import as_shown
from attnviz.model.journal.crashes import Abandoned, find_abandoned
from attnviz.model.journal.records import JournalError, LaterVersion
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import load_tokenizer

FIND, READ = "find", "restore"
"""Keys of the jobs: journals are searched once, and read one at a time."""

SENTENCES = {
    True: N_("The program ended at {time} with unsaved changes in “{name}”."),
    False: N_("The program ended at {time} with undone changes in “{name}”."),
}
"""The sentence about a journal, by whether its document is modified."""


class Restoring(QObject):
    """Offers the journals that ended programs have left, one after the other, the newest first."""

    failed = Signal(object)

    def __init__(self, store: Store, autosave: Autosave, card: QuestionCard) -> None:
        super().__init__(store)
        self._store, self._autosave, self._card = store, autosave, card
        self._offered: list[Abandoned] = []

    def start(self) -> None:
        """Look for abandoned journals in the worker, and offer them."""

        def job(token: CancelToken) -> tuple[Abandoned, ...]:
            return find_abandoned(self._autosave.folder)

        self._autosave.scheduler.submit(job, self._offer, self._fail, key=FIND)

    def close(self) -> None:
        """Leave what was not answered to the next start."""
        for journal in self._offered:
            journal.release()

    def _offer(self, journals: tuple[Abandoned, ...]) -> None:
        self._offered = list(journals)
        for journal in journals:
            if isinstance(journal.problem, LaterVersion):
                self._leave_to_later(journal, journal.problem)
                continue
            if journal.problem is not None:
                self._fail_to_read(journal, journal.problem)
                continue
            sentence = Message(
                SENTENCES[journal.is_modified],
                name=verbatim(name_of(journal)),
                time=time_of(journal.time),
            )
            answers = (
                Answer("restore", N_("Restore"), partial(self._restore, journal)),
                Answer("later", N_("Later"), partial(self._leave, journal)),
                Answer("discard", N_("Discard"), partial(self._discard, journal)),
            )
            self._card.ask(Question(str(journal.path), sentence, answers))

    def _restore(self, journal: Abandoned) -> None:
        def job(token: CancelToken) -> Chapters:
            chapters = journal.read(matrices_of, _run_of)
            load_tokenizer(chapters.present.document.experiment)  # not in the window's thread
            return chapters

        def done(chapters: Chapters) -> None:
            self._offered.remove(journal)
            self._store.restore(chapters)
            self._autosave.supersede(journal)
            if journal.is_damaged:
                sentence = Message(
                    "Some changes in “{name}” cannot be restored. The journal is kept as {file}.",
                    name=verbatim(name_of(journal)),
                    file=visible(str(journal.aside)),
                )
                self._tell(journal, sentence)

        self._autosave.scheduler.submit(job, done, partial(self._fail_to_read, journal), key=READ)

    def _tell(self, journal: Abandoned, sentence: Message) -> None:
        self._card.ask(Question(str(journal.aside), sentence, (Answer("close", N_("Close")),)))

    def _leave_to_later(self, journal: Abandoned, problem: LaterVersion) -> None:
        """Leave a journal to the newer program that has written it, untouched."""
        self._leave(journal)
        sentence = Message(
            "{problem} The journal {file} is left as it is for the newer attnviz that wrote it.",
            problem=problem.message,
            file=visible(str(journal.path)),
        )
        self._tell(journal, sentence)

    def _leave(self, journal: Abandoned) -> None:
        self._offered.remove(journal)
        journal.release()

    def _discard(self, journal: Abandoned) -> None:
        self._offered.remove(journal)
        try:
            journal.remove()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        log_unexpected(error)
        self.failed.emit(failure_message(error))

    def _fail_to_read(self, journal: Abandoned, error: BaseException) -> None:
        """Say why, and keep the file where no start finds it, unless it may be read another time."""
        if not isinstance(error, JournalError):
            self._fail(error)
            return
        self._offered.remove(journal)
        try:
            journal.set_aside()
        except OSError as problem:
            self._fail(problem)
            return
        sentence = Message(
            "The changes in “{name}” cannot be restored. {problem} The journal is kept as {file}.",
            name=verbatim(name_of(journal)),
            problem=failure_message(error),
            file=visible(str(journal.aside)),
        )
        self._tell(journal, sentence)


def _run_of(found: AttachedFile, experiment: Experiment) -> RunRecord:
    """The run of an experiment, in the worker: what reads it is imported there."""
    from attnviz.training.file import record_of

    return record_of(found, experiment)


def name_of(journal: Abandoned) -> str:
    """The document of a journal: its file name, or its title, on one line and never interpreted."""
    if journal.file is not None:
        return visible(journal.file.name)
    return as_shown(journal.title) or _("Untitled")


def time_of(seconds: float) -> str:
    """The time of day of a moment, with the date if that is another day."""
    when = datetime.fromtimestamp(seconds)
    is_today = when.date() == datetime.now().date()
    return when.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
