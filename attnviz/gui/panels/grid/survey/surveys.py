"""The surveys of a window: chosen in a dialog, measured by a worker of their own, read from their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.core.progress import Progress
from attnviz.core.text import visible
from attnviz.errors import InputError, Message, about, message_of
from attnviz.gui.failure import CANCELLED
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.services.documents import name_of
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.front import front_window
from attnviz.i18n import _
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.gui.dialogs.survey import SurveyAsked
    from attnviz.study.survey.plan import Plan
    from attnviz.study.survey.summary import Summary
    from attnviz.study.survey.texts import Text


@dataclass(frozen=True, eq=False)
class Question:
    """A survey of a model, under its name, on an engine and its device."""

    asked: SurveyAsked
    name: str
    experiment: Experiment
    engine: str
    device: str

    def ready(self) -> tuple[Plan, Sequence[Text], Message]:
        """The plan, the texts, and the memory of the survey in a sentence.

        Raises `InputError` for texts that cannot be read, and for too little memory.
        """
        from attnviz.study.survey.plan import Plan
        from attnviz.study.survey.running import check_memory, memory_needed, stated
        from attnviz.study.survey.texts import read_texts

        asked, dtype = self.asked, self.experiment.dtype
        plan = Plan(self.name, asked.scores, asked.ablate, asked.n_tokens, dtype, self.engine, self.device)
        try:
            texts = read_texts(asked.texts)
        except (OSError, ValueError) as error:
            raise InputError(about(visible(asked.texts.name), message_of(error))) from None
        needed = memory_needed(plan, self.experiment, texts)
        check_memory(needed, 1)
        return plan, texts, stated(needed, 1)


def memory(asked: Question, check: Progress) -> Message:
    """The memory that the survey needs, as the shell states it before it begins."""
    return asked.ready()[2]


def measure(asked: Question, check: Progress) -> Path:
    """Measure, or continue an interrupted survey; returns its file."""
    from attnviz.study.survey.running import survey

    plan, texts, _memory = asked.ready()
    output = asked.asked.output
    try:
        return survey(plan, texts, output, check=check, model=asked.experiment, reserve=GUI_CORES)
    except OSError as error:
        raise InputError(about(visible(output.name), message_of(error))) from None


@dataclass(frozen=True, eq=False)
class Reading:
    """One score of a result; empty is the first."""

    path: Path
    score: str = ""


def read(asked: Reading, check: Progress) -> Summary:
    """The summary of the score."""
    from attnviz.study.survey.summary import summary

    return summary(asked.path, asked.score)


class Surveys(QObject):
    """Measures the model of the document over many texts, and reads the results."""

    changed = Signal()
    """A survey began or ended, or another result is read."""
    wanted = Signal()
    """The result is to be shown."""
    memory_counted = Signal(object, str, bool)
    """A requested survey, the memory that it needs in a sentence, and whether it can be measured."""

    def __init__(self, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services
        self._asked: SurveyAsked | None = None
        self.summary: Summary | None = None
        """The result that was read last."""
        self._shown: Reading | None = None
        """The question of `summary`."""
        self.is_measuring = False
        """True from the beginning of a survey until its result is read."""
        workers = services.schedulers
        self._measured = Answer("survey", measure, self)
        self._measured.serve(workers.survey)
        self._measured.answered.connect(self._on_measured)
        self._read = Answer("survey_file", read, self)
        self._read.serve(workers.answers)
        self._read.answered.connect(self._on_read)
        self._memory = Answer("survey_memory", memory, self)
        self._memory.serve(workers.answers)
        self._memory.answered.connect(self._on_memory)

    @Slot()
    def ask(self) -> None:
        """Ask for the texts and the scores, and begin; the last choices are offered again."""
        from attnviz.gui.dialogs.survey import SurveyDialog, check_survey

        window = front_window()
        try:
            check_survey(self._services.store.experiment, self._name)
        except ValueError as error:
            self._services.status.warn(message_of(error))
            return
        if window is None:
            return
        dialog = SurveyDialog(window, self._services)
        dialog.memory_wanted.connect(self._count_memory)
        self.memory_counted.connect(dialog.show_memory)
        if self._asked is not None:
            dialog.take(self._asked)
        if dialog.ask():
            self._asked = dialog.asked()
            self.start(self._asked)

    @Slot()
    def ask_file(self) -> None:
        """Choose the result of a survey, and open it."""
        from attnviz.gui.dialogs.survey import ask_file

        window = front_window()
        path = None if window is None else ask_file(window)
        if path is not None:
            self.open(path)

    def start(self, asked: SurveyAsked) -> None:
        """Measure, or continue an interrupted survey; the panel shows the result."""
        self.wanted.emit()
        self.is_measuring = True
        self._measured.ask(self._question(asked))
        self.changed.emit()

    def open(self, path: Path) -> None:
        """Read the result of a survey."""
        self._read.ask(Reading(path))

    @Slot(str)
    def choose(self, score: str) -> None:
        """Show another score of the result."""
        if self._shown is not None:
            self._read.ask(replace(self._shown, score=score))

    @property
    def _name(self) -> str:
        return name_of(self._services.store.chapters.present)

    def _question(self, asked: SurveyAsked) -> Question:
        experiment, settings = self._services.store.experiment, self._services.settings
        return Question(asked, self._name, experiment, settings["engine"], settings["device"])

    @Slot(object)
    def _count_memory(self, asked: SurveyAsked) -> None:
        self._memory.ask(self._question(asked))

    @Slot()
    def _on_memory(self) -> None:
        says, asked = self._memory.result or self._memory.problem, self._memory.asked
        if says is not None and asked is not None:
            self.memory_counted.emit(asked.asked, says.text(), self._memory.problem is None)

    @Slot()
    def _on_measured(self) -> None:
        path, problem, status = self._measured.result, self._measured.problem, self._services.status
        if path is not None:
            status.say(_("The survey is in {file}").format(file=visible(path.name)))
            self._read.ask(Reading(path))
        elif problem == CANCELLED:
            self._end()
            status.say(_("The survey was cancelled; with the same choices it continues"))
        elif problem is not None:
            self._end(problem)

    @Slot()
    def _on_read(self) -> None:
        asked, problem = self._read.asked, self._read.problem
        if self._read.result is not None:
            self.summary, self._shown = self._read.result, asked
        self._end(None if problem is None or asked is None else about(visible(asked.path.name), problem))

    def _end(self, problem: Message | None = None) -> None:
        self.is_measuring = False
        self.changed.emit()
        if problem is not None:
            self._services.status.warn(problem)
