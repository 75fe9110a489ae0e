"""The OV and QK circuits of the selected head through the vocabulary, and the arithmetic of one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.answer import AnswerPanel
from attnviz.gui.panels.circuits.picture import CircuitPicture
from attnviz.gui.panels.circuits.question import Question, compute
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import query_head
from attnviz.study.circuit_texts import formula_of

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

KINDS = (
    ("qk", N_("QK"), N_("The key tokens that a query token attends to most")),
    ("ov", N_("OV"), N_("The output tokens whose logits rise most where the head attends to a source token")),
)
TOKEN_WIDTH = 140
MOST_KEPT = 32
"""Circuits that are kept for another look at their heads."""


class CircuitsPanel(AnswerPanel[Question, "tuple[Pair, ...]"]):
    """Asks for the circuit of the selected head, unless it is kept."""

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._kept: list[tuple[Question, tuple[Pair, ...]]] = []
        says(self, name=N_("Circuits"))
        self._of, self._first = says(QLabel(), id="circuit_head"), says(QLabel(), N_("pairs from"))
        self._kind = Segmented((), KINDS[0][0])
        says(self._kind, id="circuit_kind", name=N_("Circuit of the head"), options=KINDS)
        self._kind.changed.connect(self.ask)
        self._token = says(
            DocumentLine(is_live=False),
            id="circuit_token",
            name=N_("First token of the pairs"),
            tip=N_("Only pairs with this token as the first; empty is every token of the vocabulary"),
            placeholder=N_("all tokens"),
        )
        self._token.setClearButtonEnabled(True)
        self._token.setMaximumWidth(TOKEN_WIDTH)
        self._token.editingFinished.connect(self.ask)
        self._says = ElidedLabel()
        self._says.setObjectName("circuit_says")
        for label in (self._of, self._first, self._says):
            label.setFont(ui_font(TEXT_PX))
        self.picture = CircuitPicture()
        top = QHBoxLayout()
        top.setSpacing(GRID)
        for part in (self._of, self._kind, self._first, self._token):
            top.addWidget(part)
        top.addStretch(1)
        column = in_column(self, spacing=GRID // 2)
        column.addLayout(top)
        column.addWidget(self._says)
        column.addWidget(self.picture, 1)
        column.addWidget(self.shows(Answer("circuits", compute, self, keeps=False), self.picture), 1)
        store.opened.connect(self._on_opened)
        set_tone("muted", self._of, self._first, self._says)

    def question(self) -> Question | None:
        """That of the document, computed where its run was; None without a vocabulary."""
        trace, experiment = self.store.trace, self.store.experiment
        if trace is None or experiment.vocabulary is None:
            return None
        subject = Subject(experiment, trace.engine, trace.device)
        return Question(subject, self.store.document.site, self._head, self._kind.value(), self._token.text())

    @property
    def _head(self) -> int:
        return query_head(self.store.attention, self.store.document.view)

    @Slot()
    def ask(self) -> None:
        asked = self.question()
        kept = next((pairs for one, pairs in self._kept if one == asked), None)
        if asked is not None and asked != self.answer.asked and kept is not None:
            self.answer.take(asked, kept)
        else:
            self.answer.ask(asked)
        self.show_state()

    def why_empty(self) -> str:
        if self.store.experiment.vocabulary is None:
            return _("Circuits need a model with a vocabulary, such as those of the generation presets.")
        return _("Multiplying all pairs of tokens of the vocabulary…")

    def on_document(self, old: Document | None, new: Document) -> None:
        self.ask()

    @Slot()
    def show_answer(self) -> None:
        listed, of = self.answer.result, self.answer.of
        if listed is not None and of is not None and all(pairs is not listed for _one, pairs in self._kept):
            self._kept = [(of, listed), *self._kept[: MOST_KEPT - 1]]
        self.picture.show_answer(self.answer)
        title = _("head {head}").format(head=self._head + 1)
        self._of.setText(f"{site_label(self.store.experiment, self.store.document.site)} · {title}")
        self._says.setVisible(self.store.experiment.vocabulary is not None)
        self._says.set_line(formula_of(self._kind.value(), self.store.attention))

    @Slot()
    def _on_opened(self) -> None:
        """Hold no numbers of another document."""
        self._kept.clear()
