"""Predict, then reveal: a question, the reader's answer, and the verdict of the live number."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QTextDocumentFragment
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLabel, QRadioButton, QVBoxLayout

from attnviz.core.text import number
from attnviz.errors import InputError
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.holds_chip import HoldsChip, holds_in
from attnviz.gui.widgets.linked_text import LinkedText, paragraphs
from attnviz.gui.widgets.tone import Tone, set_tone
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import N_, _
from attnviz.study.claims.scope import Scope, holds, value_of
from attnviz.study.lessons.judging import answer_of, is_close
from attnviz.study.lessons.lesson import Step, Words
from attnviz.study.lessons.markup import markup

_TEXT = 14


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


class Task(Card):
    """The card of a task."""

    pointed = Signal(str)
    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__("")
        says(self, N_("Try it"), id="lesson_task")
        self._words: Words | None = None
        self._scope: Scope | None = None
        self.is_done = self._was_done = False
        self._text = LinkedText("task_text", _TEXT)
        self._text.pointed.connect(self.pointed)
        self._text.chosen.connect(self.chosen)
        self._verdict = QLabel()
        self._verdict.setObjectName("task_verdict")
        self._verdict.setFont(ui_font(13))
        self._reveal = LinkedText("task_reveal", _TEXT)
        self._reveal.pointed.connect(self.pointed)
        self._reveal.chosen.connect(self.chosen)
        for part in (self._text, self._verdict, self._reveal):
            self.body.addWidget(part)

    def set_task(self, words: Words, scope: Scope | None) -> None:
        """Show the task of a step with its numbers."""
        self._words, self._scope = words, scope
        self.retranslate()

    def set_done(self, is_done: bool, *, was_done: bool) -> None:
        """Say whether the present numbers meet the condition; the text after it stays once they did."""
        self.is_done, self._was_done = is_done, was_done
        self._show()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        task = "" if self._words is None else self._words.task
        self._text.set_body(paragraphs([markup(task, self._scope)]))
        self._show()

    def _show(self) -> None:
        reveal = self._words.reveal if self._words is not None and self._was_done else ""
        self._reveal.setVisible(bool(reveal))
        self._reveal.set_body(paragraphs([markup(reveal, self._scope)]) if reveal else "")
        set_tone("right" if self.is_done else "muted", self._verdict)
        self._verdict.setText(
            _("✓ Done: the live numbers confirm it")
            if self.is_done
            else _("Not done yet, as the live numbers show")
        )


class Question(Card):
    """The card of a prediction; `revealed` tells that its answer is shown.

    A wrong answer reveals nothing: the reader tries again, or has the answer shown.
    """

    revealed = Signal()
    pointed = Signal(str)
    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__("")
        says(self, N_("Predict, then reveal"), id="lesson_question")
        self._step: Step | None = None
        self._words: Words | None = None
        self._scope: Scope | None = None
        self._said: tuple[Tone, str] | None = None
        self._is_wrong = False
        """Whether the last answer was wrong, and the right one is not shown yet."""
        self.is_revealed = self.is_answered = False
        """Whether the answer is shown, and whether the reader gave one before."""
        self._text = LinkedText("question_text", _TEXT)
        self._answers = QVBoxLayout()
        self._answers.setSpacing(GRID // 2)
        self._group = QButtonGroup(self)
        self.entry = LineEdit()
        says(self.entry, id="answer_entry", name=N_("Your answer"), tip=True, placeholder=N_("a number"))
        self.entry.setFont(number_font(14))
        self.entry.setMaximumWidth(112)
        self.entry.returnPressed.connect(self.reveal)
        self._tolerance, self._verdict = QLabel(), QLabel()
        self._tolerance.setObjectName("answer_tolerance")
        self._verdict.setObjectName("answer_verdict")
        self._verdict.setWordWrap(True)
        self._verdict.setFont(ui_font(_TEXT))
        tip = N_("Compare your answer with the live number (Enter)")
        self.button = says(Button(), id="reveal_button", tip=tip)
        self.button.setProperty("primary", True)
        self.button.clicked.connect(self.reveal)
        tip = N_("Show the answer and its arithmetic")
        self.give_in = says(Button(), N_("Show the answer"), id="show_answer", tip=tip)
        self.give_in.clicked.connect(self._on_given_in)
        self._reveal = LinkedText("reveal_text", _TEXT)
        set_tone("muted", self._tolerance)
        line = QHBoxLayout()
        line.setSpacing(GRID)
        line.addWidget(self.entry)
        line.addWidget(self._tolerance, 1)
        line.addWidget(self.button, 0, Qt.AlignmentFlag.AlignRight)
        self.body.addWidget(self._text)
        self.body.addLayout(self._answers)
        self.body.addLayout(line)
        self.body.addWidget(self._verdict)
        self.body.addWidget(self.give_in, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self._reveal)
        for text in (self._text, self._reveal):
            text.pointed.connect(self.pointed)
            text.chosen.connect(self.chosen)

    def set_step(self, step: Step, words: Words) -> None:
        """Ask the question of a step; it begins without an answer."""
        is_other = self._step is None or step.id != self._step.id or step != self._step
        self._step, self._words = step, words
        if is_other:
            self._scope, self._said, self._is_wrong = None, None, False
            self.is_revealed = self.is_answered = False
            self.entry.clear()
            self._forget_answers()
        self._make_answers(words.answers)
        self.retranslate()

    def set_scope(self, scope: Scope) -> None:
        """The numbers of the step have arrived."""
        self._scope = scope
        self._show()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        if self._step is not None:
            within = f"{self._step.tolerance:g}"
            text = (
                _("± {tolerance} is right").format(tolerance=within) if self._step.tolerance else _("exactly")
            )
            self._tolerance.setText(text)
        self._show()

    @Slot()
    def reveal(self) -> None:
        """Compare the answer with the live number; show the arithmetic unless the answer is wrong."""
        if self._step is None or self._scope is None:
            return
        try:
            is_right = self._is_right(self._step, self._scope)
        except InputError as error:
            self._said = ("error", error.message.text())
            self._show()
            return
        self.is_answered = self.is_answered or is_right is not None
        if is_right is False and not self.is_revealed:
            self._said, self._is_wrong = ("error", _("Not quite.")), True
            self._show()
            if not self._step.choose:
                self.entry.setFocus(Qt.FocusReason.OtherFocusReason)
                self.entry.selectAll()  # the next number takes its place
        else:
            self._tell(self._step, self._scope, is_right)

    @Slot()
    def _on_given_in(self) -> None:
        if self._step is not None and self._scope is not None:
            self._tell(self._step, self._scope, None)

    def _tell(self, step: Step, scope: Scope, is_right: bool | None) -> None:
        """Show the answer with a verdict on the reader's; None without one."""
        told = self._right_answer(step, scope) if step.choose else _value(step, scope)
        tone, sentence = (_CHOSEN if step.choose else _TYPED)[is_right]
        self._said = tone, _(sentence).format(answer=told, value=told)
        self.is_revealed, self._is_wrong = True, False
        self.revealed.emit()
        self._show()

    def _is_right(self, step: Step, scope: Scope) -> bool | None:
        """True if the answer is that of the live numbers; None without one.

        Raises `InputError` for one that is no number.
        """
        if step.choose:
            chosen = self._group.checkedId()
            return None if chosen == -1 else chosen == _right_choice(step, scope)
        said = self.entry.text()
        if not said.strip():
            return None
        return is_close(answer_of(said), value_of(step.predict, scope), step.tolerance)

    def _right_answer(self, step: Step, scope: Scope) -> str:
        return self._group.button(_right_choice(step, scope)).text()

    def _make_answers(self, answers: tuple[str, ...]) -> None:
        self.entry.setVisible(not answers)
        self._tolerance.setVisible(not answers)
        if len(answers) == len(self._group.buttons()):
            return
        self._forget_answers()
        for index in range(len(answers)):
            button = QRadioButton()
            button.setObjectName(f"answer_{index}")
            button.setFont(ui_font(_TEXT))
            self._group.addButton(button, index)
            self._answers.addWidget(button)

    def _forget_answers(self) -> None:
        for button in self._group.buttons():
            self._group.removeButton(button)
            self._answers.removeWidget(button)
            button.setParent(None)
            button.deleteLater()

    def _show(self) -> None:
        words = self._words
        if words is None:
            return
        self._text.set_body(paragraphs([markup(words.question, self._scope)]))
        for button, answer in zip(self._group.buttons(), words.answers, strict=False):
            button.setText(_bare(markup(answer, self._scope)))
        has_said = self._said is not None
        self.button.setText(_("Try again") if self._is_wrong else _("Reveal"))
        self.give_in.setVisible(self._is_wrong)
        self._verdict.setVisible(has_said)
        if self._said is not None:
            tone, text = self._said
            set_tone(tone, self._verdict)
            self._verdict.setText(text)
        self._reveal.setVisible(self.is_revealed)
        self._reveal.set_body(paragraphs([markup(words.reveal, self._scope)]) if self.is_revealed else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.reveal()
        else:
            super().keyPressEvent(event)


def _bare(text: str) -> str:
    """Markup as plain text, for a button."""
    return QTextDocumentFragment.fromHtml(text).toPlainText().replace("&", "&&")


_TYPED: dict[bool | None, tuple[Tone, str]] = {
    True: ("right", N_("Right: it is {value}.")),
    False: ("error", N_("Not quite: it is {value}.")),
    None: ("", N_("It is {value}.")),
}
"""The tone and the sentence of a verdict on a number; None: nobody was wrong."""
_CHOSEN: dict[bool | None, tuple[Tone, str]] = {
    True: ("right", N_("Right.")),
    False: ("error", N_("The answer is another: {answer}.")),
    None: ("", N_("The answer is: {answer}.")),
}
"""Those of a verdict on a choice."""


def _value(step: Step, scope: Scope) -> str:
    """The predicted value as it is shown."""
    value = value_of(step.predict, scope)
    return f"{value:,.0f}" if value.is_integer() else number(value, 3)


def _right_choice(step: Step, scope: Scope) -> int:
    """The place of the answer whose condition holds."""
    return next((i for i, condition in enumerate(step.choose) if holds(condition, scope)), -1)
