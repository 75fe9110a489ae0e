"""Activation patching: a stage of a clean text in the document at each position, and the restored share."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.text import isolated, visible
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.answer import AnswerPanel, has_logits
from attnviz.gui.panels.patching.picture import PatchPicture
from attnviz.gui.panels.patching.question import Question, compute
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.token_table import At
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token, written_tokens
from attnviz.study.patching import Recovered

PATCHED_STAGES = ("layer_input", "attention_output", "ffn_output", "mixed", "q", "k", "v", "weights")
BY_HEAD = ("mixed",)
"""Stages whose heads are patched one by one: what each head adds. Others have all heads of a position."""
ANSWER_WIDTH = 120


class PatchingPanel(AnswerPanel[Question, Recovered]):
    """Asks for the map while it has a clean text, its own or that of the pinned state A."""

    follows = ("site", "head", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._pinned: Experiment | None = None
        says(self, name=N_("Patching"))
        self._of, self._in = says(QLabel(), N_("answer")), says(QLabel(), N_("instead of"))
        for label in (self._of, self._in):
            label.setFont(ui_font(TEXT_PX))
        tip = N_("A text with as many tokens as the document and another answer; empty is A")
        self._clean = says(self._line(), id="patch_clean", name=N_("Clean text"), tip=tip)
        tip = N_("A token of the vocabulary; empty takes the most probable next token of each text")
        self._answer = says(self._line(), id="patch_answer", name=N_("Answer to the clean text"), tip=tip)
        self._against = says(self._line(), id="patch_against", name=N_("Answer to the document"), tip=tip)
        for line in (self._answer, self._against):
            line.setMaximumWidth(ANSWER_WIDTH)
        self._stage = says(
            Combo(()),
            id="patch_stage",
            name=N_("Patched stage"),
            tip=N_("The stage that is replaced by that of the clean text"),
            options=[(id_, STAGE_BY_ID[id_].title, "") for id_ in PATCHED_STAGES],
        )
        self._stage.set_value(PATCHED_STAGES[0])
        self._stage.changed.connect(self.ask)
        self.picture = PatchPicture()
        self.picture.canvas.chosen.connect(self._on_chosen)
        top, second = QHBoxLayout(), QHBoxLayout()
        top.addWidget(self._clean, 2)
        top.addWidget(self._stage, 1)
        for part in (self._of, self._answer, self._in, self._against):
            second.addWidget(part)
        second.addStretch(1)
        column = in_column(self, spacing=GRID // 2)
        for row in (top, second):
            row.setSpacing(GRID)
            column.addLayout(row)
        column.addWidget(self.picture, 1)
        column.addWidget(self.shows(Answer("patching", compute, self, keeps=False), self.picture), 1)
        set_tone("muted", self._of, self._in)

    def _line(self) -> DocumentLine:
        line = DocumentLine(is_live=False)
        line.setClearButtonEnabled(True)
        line.editingFinished.connect(self.ask)
        return line

    def set_pinned(self, pinned: Experiment | None) -> None:
        """The pinned state A, whose text is the clean one while none is written."""
        self._pinned = pinned
        self._show_placeholder()
        if self.is_seen and self._is_started:
            self.ask()
        else:
            self.forget()

    def question(self) -> Question | None:
        trace, clean, stage = self.store.trace, self._clean.text() or self._pinned, self._stage.value()
        if trace is None or not clean or not has_logits(trace):
            return None
        answers = self._answer.text(), self._against.text()
        return Question(Subject.of(trace), clean, stage, *answers, stage in BY_HEAD)

    def why_empty(self) -> str:
        if self.answer.asked is not None:
            return _("Patching every site at every position…")
        if self.store.trace is not None and not has_logits(self.store.trace):
            return _("Patching needs a model with logits, such as those of the generation presets.")
        return _("Write a clean text above, or pin it as A: the document is the corrupted text.")

    def on_document(self, old: Document | None, new: Document) -> None:
        self.show_answer()

    @Slot()
    def show_answer(self) -> None:
        self.picture.show_answer(self.store.document, self.answer)
        patched, of = self.answer.result, self.answer.of
        if patched is not None and of is not None:
            token, against = (
                None if one is None else isolated(shown_token(of.experiment.vocabulary, one))
                for one in (patched.target.token, patched.target.against)
            )
            self._answer.setPlaceholderText(token or "")
            self._against.setPlaceholderText(_("none") if against is None else against)

    def retranslate(self) -> None:
        self._show_placeholder()
        super().retranslate()

    def _show_placeholder(self) -> None:
        if self._pinned is None:
            self._clean.setPlaceholderText(_("Clean text, such as the document with one word replaced"))
            return
        tokens = written_tokens(self._pinned.vocabulary, self._pinned.tokens)
        text = _("A: {text}").format(text=isolated(visible("".join(tokens))))
        self._clean.setPlaceholderText(text)

    @Slot(object)
    def _on_chosen(self, at: At) -> None:
        """Go to the attention, the position, and the head if the rows are heads."""
        site, row = self.picture.rows[at[0]]
        is_head = self.answer.of is not None and self.answer.of.each_head
        head = row if is_head else self.store.document.view.head
        self.store.look(site=site, query=at[1], head=head)
