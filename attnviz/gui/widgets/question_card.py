"""A question that waits: a card between the bar of the window and its panels, which stops nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton

from attnviz.errors import Message
from attnviz.gui.look.theme import GRID
from attnviz.gui.widgets.control import Control
from attnviz.i18n import _
from attnviz.model.errors.titles import in_words

MARGIN = 2 * GRID


def _nothing() -> None:
    """Change nothing: the question was a notice."""


@dataclass(frozen=True)
class Answer:
    """A button: its name, its text (translated when it is shown), and what it does."""

    name: str
    text: str
    action: Callable[[], None] = _nothing


@dataclass(frozen=True)
class Question:
    """A sentence and its answers, the proposed one first. `about` names what it asks about."""

    about: str
    sentence: Message
    answers: tuple[Answer, ...]


class QuestionCard(Control):
    """Shows the first of the questions that wait; hidden without one. It takes no focus by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("question_card")
        self._waiting: list[Question] = []
        self._sentence = QLabel()
        self._sentence.setObjectName("question_sentence")
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        self._sentence.setWordWrap(True)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(GRID)
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, GRID, MARGIN, GRID)
        row.setSpacing(MARGIN)
        row.addWidget(self._sentence, 1)
        row.addLayout(self._buttons)
        self.hide()

    @property
    def question(self) -> Question | None:
        """The question that is shown."""
        return self._waiting[0] if self._waiting else None

    def ask(self, question: Question) -> None:
        """Show a question after those that wait, in the place of one about the same."""
        places = [place for place, one in enumerate(self._waiting) if one.about == question.about]
        if places:
            self._waiting[places[0]] = question
        else:
            self._waiting.append(question)
        self._show()

    def withdraw(self, about: str) -> None:
        """Remove the question about something, which has been settled elsewhere."""
        waiting = [one for one in self._waiting if one.about != about]
        if waiting != self._waiting:
            self._waiting = waiting
            self._show()

    def retranslate(self) -> None:
        self._show()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.panel))
        painter.fillRect(0, self.height() - 2, self.width(), 2, QColor(self._theme.accent))
        painter.end()

    def _show(self) -> None:
        while (item := self._buttons.takeAt(0)) is not None:
            if (button := item.widget()) is not None:
                button.hide()
                button.deleteLater()
        question = self.question
        if question is None:
            self.hide()
            return
        sentence = in_words(question.sentence)
        is_new = sentence != self._sentence.text() or self.isHidden()
        self._sentence.setText(sentence)
        self.setAccessibleName(sentence)
        for number, answer in enumerate(question.answers):
            self._buttons.addWidget(self._button(answer, is_first=number == 0))
        self.show()
        if is_new:
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _button(self, answer: Answer, *, is_first: bool) -> QPushButton:
        button = QPushButton(_(answer.text))
        button.setObjectName(f"answer_{answer.name}")
        button.setProperty("primary", is_first)
        button.setProperty("answer", answer.name)
        button.clicked.connect(self._on_clicked)
        return button

    @Slot()
    def _on_clicked(self) -> None:
        sender, question = self.sender(), self.question
        assert sender is not None and question is not None
        self._waiting.remove(question)
        self._show()
        next(answer for answer in question.answers if answer.name == sender.property("answer")).action()
