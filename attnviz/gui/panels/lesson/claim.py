"""A sentence of a textbook in a lesson, with a live verdict, and its cure if it has one."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal

from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.holds_chip import HoldsChip, holds_in
from attnviz.gui.widgets.linked_text import LinkedText, paragraphs
from attnviz.i18n import N_, _
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.lesson import Step, Words
from attnviz.study.lessons.markup import markup


class Claim(Card):
    """The card of a claim; `cure_wanted` asks for the setting in which the sentence holds."""

    pointed = Signal(str)
    chosen = Signal(str)
    cure_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("")
        says(self, N_("Claim"), id="lesson_claim")
        self._step: Step | None = None
        self._words: Words | None = None
        self._scope: Scope | None = None
        self._sentence, self._why = LinkedText("claim_sentence", 14), LinkedText("claim_why", 14)
        self._verdict = HoldsChip("lesson_verdict")
        tip = N_("Set the program so that the sentence holds; undo reverts it")
        self._cure = says(Button(), N_("Make it true"), id="lesson_cure", tip=tip)
        self._cure.clicked.connect(self.cure_wanted)
        for text in (self._sentence, self._why):
            text.pointed.connect(self.pointed)
            text.chosen.connect(self.chosen)
        self.body.addWidget(self._sentence)
        self.body.addWidget(self._verdict, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self._why)
        self.body.addWidget(self._cure, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def is_true(self) -> bool | None:
        """The verdict in the present document; None without its numbers."""
        if self._step is None or self._scope is None:
            return None
        return holds_in(self._step.claim, self._scope)

    def set_step(self, step: Step, words: Words, scope: Scope | None) -> None:
        """Show the claim of a step with the numbers of the present document; None before they arrive."""
        self._step, self._words, self._scope = step, words, scope
        self.retranslate()

    def retranslate(self) -> None:
        if self._words is not None:
            self._show(self._words)

    def _show(self, words: Words) -> None:
        verdict = self.is_true
        self._sentence.set_body(
            paragraphs([_("“{sentence}”").format(sentence=markup(words.claim, self._scope))])
        )
        self._verdict.set_verdict(verdict)
        self._verdict.setVisible(self._scope is not None)
        is_cured = verdict is True and bool(words.cure)
        why = words.cure if is_cured else words.why
        self._why.setVisible(bool(why))
        self._why.set_body(paragraphs([markup(why, self._scope)]) if why else "")
        self._cure.setVisible(bool(self._step is not None and self._step.cures) and verdict is not True)
