"""The survey dialog: the texts, the scores, the ablation, and the file of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QWidget,
)

from attnviz.core.head_scores import SCORES_OF_TEXT
from attnviz.core.text import visible
from attnviz.errors import InputError
from attnviz.gui.dialogs.dialog import Dialog, column_of, line_with_buttons
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.file_to_write import ask_file_to_write, with_suffix
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.window_keys import PathLine
from attnviz.i18n import N_, _
from attnviz.model.io.files import SURVEY_SUFFIX
from attnviz.model.spec.experiment import Experiment
from attnviz.study.survey.measure import check_vocabulary
from attnviz.study.survey.plan import MOST_TOKENS
from attnviz.study.survey.store import NEEDS_PYARROW, PARTIAL
from attnviz.study.survey.texts import SUFFIXES

WIDTH = 560
COLUMNS = 3
NO_ABLATION = "none"
LEAST, MOST = 2, 2048
PAUSE_MS = 200
"""Time without another choice after which the memory is estimated."""


@dataclass(frozen=True)
class SurveyAsked:
    """A requested survey of the document's model; `ablate` is None for no ablation."""

    texts: Path
    scores: tuple[str, ...]
    ablate: str | None
    n_tokens: int
    output: Path


def check_survey(experiment: Experiment, name: str) -> None:
    """Raise `InputError` for a model that reads no text, and without the package that writes the file."""
    if find_spec("pyarrow") is None:
        raise InputError(NEEDS_PYARROW)
    check_vocabulary(experiment, name)


def ask_file(window: QWidget) -> Path | None:
    """Let the user choose the result of a survey; None if the user cancels."""
    name, _kind = QFileDialog.getOpenFileName(window, _("Open a survey"), "", _results())
    return Path(name) if name else None


class SurveyDialog(Dialog):
    """The button to begin stays disabled until all choices are present, and where the memory is too small."""

    memory_wanted = Signal(object)
    """Choices whose memory is to be estimated."""

    def __init__(self, window: QWidget, services: Services) -> None:
        super().__init__(window, services, "survey_dialog", N_("Survey texts"))
        self.setMinimumWidth(WIDTH)
        files = N_(".txt (a text in each line), .jsonl, or a folder of .txt files")
        self._texts = says(PathLine(), id="survey_texts", name=N_("Texts"), placeholder=files)
        self._output = says(PathLine(), id="survey_output", name=N_("Result"))
        self._output.setPlaceholderText(f"survey{SURVEY_SUFFIX}")
        self._proposed = ""
        self._scores = {
            row.id: says(QCheckBox(), row.title, id=f"survey_score_{row.id}", tip=row.hint)
            for row in SCORES_OF_TEXT
        }
        self._ablation = says(
            Segmented((), NO_ABLATION),
            id="survey_ablation",
            name=N_("Ablation"),
            options=(
                (NO_ABLATION, N_("none"), N_("No ablation")),
                ("zero", N_("zero"), N_("The head adds nothing")),
                ("mean", N_("mean"), N_("The head adds its mean over the positions")),
            ),
        )
        self._tokens = DragNumber(MOST_TOKENS, minimum=LEAST, maximum=MOST, integer=True)
        tip = N_("A longer text counts with its first tokens")
        says(self._tokens, id="survey_tokens", name=N_("Tokens per text"), tip=tip)
        self._says = says(QLabel(), id="survey_says", name=N_("State of the file"))
        self._memory = says(QLabel(), id="survey_memory", name=N_("Estimated memory"))
        self._counted: SurveyAsked | None = None
        self._fits = True
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._on_pause)
        for label in (self._says, self._memory):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        set_tone("muted", self._says, self._memory)
        self._lay_out()
        self._texts.textChanged.connect(self._on_texts)
        self._output.textChanged.connect(self._refresh)
        self._ablation.changed.connect(self._refresh)
        self._tokens.changed.connect(self._refresh)
        for box in self._scores.values():
            box.setChecked(True)
            box.toggled.connect(self._refresh)
        self._refresh()

    def asked(self) -> SurveyAsked:
        """The choices."""
        way = self._ablation.value()
        return SurveyAsked(
            Path(self._texts.text().strip()),
            tuple(id_ for id_, box in self._scores.items() if box.isChecked()),
            None if way == NO_ABLATION else way,
            int(self._tokens.value()),
            Path(self._output.text().strip()),
        )

    def take(self, last: SurveyAsked) -> None:
        """Show choices."""
        for id_, box in self._scores.items():
            box.setChecked(id_ in last.scores)
        self._ablation.set_value(last.ablate or NO_ABLATION)
        self._tokens.set_value(last.n_tokens)
        self._texts.setText(str(last.texts))
        self._output.setText(str(last.output))
        self._refresh()

    @Slot(object, str, bool)
    def show_memory(self, asked: SurveyAsked, sentence: str, fits: bool) -> None:
        """State the memory of a survey, unless the choices have changed; without room it cannot begin."""
        if asked == self._counted:
            self._memory.setText(sentence)
            self._fits = fits
            set_tone("muted" if fits else "error", self._memory)
            self._refresh()

    # --- appearance

    def _lay_out(self) -> None:
        scores = QGridLayout()
        scores.setHorizontalSpacing(2 * GRID)
        scores.setVerticalSpacing(GRID // 2)
        for at, box in enumerate(self._scores.values()):
            scores.addWidget(box, at // COLUMNS, at % COLUMNS)
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(
            _("Texts"),
            line_with_buttons(
                self._texts,
                ("survey_file", N_("File…"), N_("Choose a file of texts"), self._choose_file),
                ("survey_folder", N_("Folder…"), N_("Choose a folder of .txt files"), self._choose_folder),
            ),
        )
        form.addRow(_("Scores"), scores)
        form.addRow(_("Ablation"), self._left(self._ablation))
        form.addRow(_("Tokens per text"), self._left(self._tokens))
        form.addRow(
            _("Result"),
            line_with_buttons(
                self._output,
                ("survey_choose", N_("Choose…"), N_("Choose the file of the result"), self._choose_output),
            ),
        )
        form.addRow(self._says)
        form.addRow(self._memory)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._begin = buttons.addButton(_("Measure"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._begin.setObjectName("survey_button")
        self._begin.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = column_of(self)
        column.addLayout(form)
        column.addStretch(1)
        column.addWidget(buttons)

    def _left(self, widget: QWidget) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addWidget(widget)
        row.addStretch(1)
        return row

    # --- choice

    @Slot()
    def _choose_file(self) -> None:
        patterns = " ".join(f"*{suffix}" for suffix in SUFFIXES)
        kinds = _("Texts ({patterns})").format(patterns=patterns)
        name, _kind = QFileDialog.getOpenFileName(self, _("Texts"), self._texts.text(), kinds)
        if name:
            self._texts.setText(name)

    @Slot()
    def _choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, _("Texts"), self._texts.text())
        if name:
            self._texts.setText(name)

    @Slot()
    def _choose_output(self) -> None:
        named = partial(with_suffix, suffix=SURVEY_SUFFIX)
        file = ask_file_to_write(self, _("Result"), self._output.text(), _results(), named)
        if file is not None:
            self._output.setText(str(file))

    @Slot()
    def _on_texts(self) -> None:
        """Propose a result beside the texts, unless another one was written."""
        texts = self._texts.text().strip()
        if texts and self._output.text() in ("", self._proposed):
            place = Path(texts)
            stem = place.name if place.is_dir() else place.stem
            self._proposed = str(place.parent / f"{stem}{SURVEY_SUFFIX}")
            self._output.setText(self._proposed)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        """Say what is wrong, or what becomes of the file; enable the button when all choices are present."""
        asked, has_texts = self.asked(), bool(self._texts.text().strip())
        source_fault, output_fault = _source_fault(asked) if has_texts else "", _output_fault(asked.output)
        self._says.setText(source_fault or output_fault or _fate(asked.output))
        is_complete = has_texts and not source_fault
        self._await_memory(asked if is_complete else None)
        self._begin.setEnabled(is_complete and self._fits and not output_fault)

    def _await_memory(self, asked: SurveyAsked | None) -> None:
        """Begin to wait for the memory of other choices; None if they are not complete."""
        wanted = None if asked is None else replace(asked, scores=asked.scores[:1], output=Path())
        if wanted == self._counted:
            return
        self._counted, self._fits = wanted, True
        self._memory.clear()
        self._pause.stop()
        if wanted is not None:
            self._pause.start()

    @Slot()
    def _on_pause(self) -> None:
        self.memory_wanted.emit(self._counted)


def _source_fault(asked: SurveyAsked) -> str:
    """Reason that nothing can be measured; "" if something can."""
    if not asked.texts.exists():
        path = visible(str(asked.texts))
        return _("The texts must be a file or a folder; got no {path}.").format(path=path)
    return "" if asked.scores else _("At least one score must be chosen; got none.")


def _output_fault(output: Path) -> str:
    """Reason that the result cannot be written; "" if it can."""
    if output.suffix != SURVEY_SUFFIX:
        return _("The file of the result ends in {suffix}.").format(suffix=SURVEY_SUFFIX)
    if not output.parent.is_dir():
        folder = visible(str(output.parent))
        return _("The folder of the result must exist; got no {folder}.").format(folder=folder)
    return ""


def _fate(output: Path) -> str:
    """Sentence on a file that exists; "" if the result is a new one."""
    if output.with_name(output.name + PARTIAL).exists():
        return _("An interrupted survey is in this file; with the same choices it continues.")
    return _("The file exists and will be replaced.") if output.exists() else ""


def _results() -> str:
    return _("Surveys ({patterns})").format(patterns=f"*{SURVEY_SUFFIX}")
