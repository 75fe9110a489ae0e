"""Surveys in the window: chosen in a dialog, measured by a worker of their own, opened in their panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler, Stopped
from attnviz.core.text import visible
from attnviz.errors import InputError, Message, about, message_of
from attnviz.gui.failure import failure_message, is_expected, log_unexpected
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.services.documents import name_of
from attnviz.i18n import _

if TYPE_CHECKING:
    from attnviz.gui.dialogs.survey import SurveyAsked, SurveyDialog
    from attnviz.gui.panels.grid.survey.panel import SurveyPanel
    from attnviz.gui.window.window import Window
    from attnviz.study.survey.plan import Plan
    from attnviz.study.survey.summary import Summary
    from attnviz.study.survey.texts import Text

    Ready = tuple[Plan, Sequence[Text], Message]
    """The plan of a survey, its texts, and its memory in a sentence."""

KEY, READ_KEY, MEMORY_KEY = "survey", "survey_file", "survey_memory"
WORKSPACE = "model"


class SurveyLive(QObject):
    """Measures the model of the document over many texts, and reads the results.

    The worker is one of its own: a survey takes minutes, and edits do not wait for it.
    """

    failed = Signal(object)
    """One sentence: why a survey could not be measured or read."""
    said = Signal(str)
    memory_counted = Signal(object, str, bool)
    """A requested survey, the memory that it needs in a sentence, and whether it can be measured."""

    def __init__(self, window: Window, scheduler: Scheduler) -> None:
        super().__init__(window)
        self._window, self._scheduler = window, scheduler
        self._asked: SurveyAsked | None = None
        self._file: Path | None = None

    def watch(self, panel: SurveyPanel) -> None:
        """Answer the wishes of the panel."""
        panel.score_wanted.connect(self._on_score)
        panel.survey_wanted.connect(self.ask)
        panel.file_wanted.connect(self.ask_file)

    @Slot()
    def ask(self) -> None:
        """Ask for the texts and the scores, and begin; the last choices are offered again."""
        from attnviz.gui.dialogs.survey import ask_survey, check_survey

        try:
            check_survey(self._window.store.experiment, self._name())
        except ValueError as error:
            self.failed.emit(message_of(error))
            return
        asked = ask_survey(self._window, self._asked, self._watch_dialog)
        if asked is not None:
            self._asked = asked
            self.start(asked)

    def _watch_dialog(self, dialog: SurveyDialog) -> None:
        dialog.memory_wanted.connect(self._count_memory)
        self.memory_counted.connect(dialog.show_memory)

    @Slot(object)
    def _count_memory(self, asked: SurveyAsked) -> None:
        """Have the worker count the memory of a survey, as the shell does before it begins."""

        ready = self._ready(asked)

        def job(token: CancelToken) -> str:
            return ready()[2].text()

        def done(says: str) -> None:
            self.memory_counted.emit(asked, says, True)

        def failed(error: BaseException) -> None:
            self.memory_counted.emit(asked, failure_message(error).text(), False)
            log_unexpected(error)

        self._window.services.schedulers.answers.submit(job, done, failed, key=MEMORY_KEY)

    @Slot()
    def ask_file(self) -> None:
        """Choose the result of a survey, and open it."""
        from attnviz.gui.dialogs.survey import ask_file

        path = ask_file(self._window)
        if path is not None:
            self.open(path)

    def start(self, asked: SurveyAsked) -> None:
        """Measure, or continue an interrupted survey; the panel shows the result."""
        experiment, ready = self._window.store.experiment, self._ready(asked)

        def job(token: CancelToken) -> Path:
            from attnviz.study.survey.running import survey

            plan, texts, _memory = ready()
            check, output = token.progress, asked.output
            try:
                return survey(plan, texts, output, check=check, model=experiment, reserve=GUI_CORES)
            except OSError as error:
                raise InputError(about(visible(output.name), message_of(error))) from None

        self._show_panel()
        self._panel.show_waiting(is_waiting=True)
        self._scheduler.submit(job, self._on_measured, self._on_stopped, key=KEY)

    def _ready(self, asked: SurveyAsked) -> Callable[[], Ready]:
        """For the worker: read the texts, and check the memory.

        Raises `InputError` for texts that cannot be read, and for too little memory.
        """
        window, name = self._window, self._name()
        experiment, engine, device = window.store.experiment, window.store.engine, window.store.device

        def ready() -> Ready:
            from attnviz.study.survey.plan import Plan
            from attnviz.study.survey.running import check_memory, memory_needed, stated
            from attnviz.study.survey.texts import read_texts

            dtype = experiment.dtype
            plan = Plan(name, asked.scores, asked.ablate, asked.n_tokens, dtype, engine, device)
            try:
                texts = read_texts(asked.texts)
            except (OSError, ValueError) as error:
                raise InputError(about(visible(asked.texts.name), message_of(error))) from None
            needed = memory_needed(plan, experiment, texts)
            check_memory(needed, 1)
            return plan, texts, stated(needed, 1)

        return ready

    def open(self, path: Path) -> None:
        """Show the result of a survey in the panel."""
        self._show_panel()
        self._read(path)

    @property
    def _panel(self) -> SurveyPanel:
        from attnviz.gui.panels.grid.survey.panel import SurveyPanel

        panel = self._window.panels[KEY]
        assert isinstance(panel, SurveyPanel)
        return panel

    def _name(self) -> str:
        return name_of(self._window.store.chapters.present)

    def _show_panel(self) -> None:
        window = self._window
        window.start_page.leave()
        window.workspaces.switch(WORKSPACE)
        window.workspaces.show_panel(KEY)

    def _read(self, path: Path, score: str = "") -> None:
        """Read one score of a result; empty is the first."""

        def job(token: CancelToken) -> tuple[Path, Summary]:
            from attnviz.study.survey.summary import summary

            return path, summary(path, score)

        def failed(error: BaseException) -> None:
            self._end(error, about(visible(path.name), failure_message(error)))

        self._window.services.schedulers.answers.submit(job, self._on_read, failed, key=READ_KEY)

    def _on_read(self, found: tuple[Path, Summary]) -> None:
        self._file, summary = found
        self._panel.show_summary(summary)

    def _on_measured(self, path: Path) -> None:
        self.said.emit(_("The survey is in {file}").format(file=visible(path.name)))
        self._read(path)

    @Slot(str)
    def _on_score(self, score: str) -> None:
        if self._file is not None:
            self._read(self._file, score)

    def _on_stopped(self, error: BaseException) -> None:
        if isinstance(error, Stopped):
            self._panel.show_waiting(is_waiting=False)
            self.said.emit(_("The survey was cancelled; with the same choices it continues"))
        else:
            self._end(error, failure_message(error))

    def _end(self, error: BaseException, message: Message) -> None:
        self._panel.show_waiting(is_waiting=False)
        self.failed.emit(message)
        if not is_expected(error):
            raise error
