"""Base of the panels that ask a worker one question: its answer as a picture, or a sentence without one."""

from __future__ import annotations

from typing import Generic

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.live.answer import Answer, Asked, Result
from attnviz.gui.panels.panel import Panel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.model.trace import Trace


class AnswerPanel(Panel, Generic[Asked, Result]):
    """Subclasses call `shows`, say the question of the present state, and draw its answer."""

    answer: Answer[Asked, Result]

    def shows(self, answer: Answer[Asked, Result], *pictures: QWidget) -> EmptyState:
        """Show an answer by its pictures; returns the widget that is seen in their place."""
        self.answer, self._pictures = self.asks(answer), pictures
        self.empty = EmptyState("")
        self.empty.triggered.connect(answer.again)
        answer.changed.connect(self.show_state)
        return self.empty

    def question(self) -> Asked | None:
        """The question of the present state; None if it has no answer, for the reason in `why_empty`."""
        raise NotImplementedError

    def why_empty(self) -> str:
        """The sentence of a panel whose answer is on its way, or that asks nothing."""
        raise NotImplementedError

    def show_answer(self) -> None:
        """Draw the result, and mark in it what is selected."""

    @property
    def has_picture(self) -> bool:
        """True for a result that can be drawn."""
        return self.answer.result is not None

    def sizeHint(self) -> QSize:
        return QSize(480, 280)

    @Slot()
    def ask(self) -> None:
        """Ask the question of the present state."""
        self.answer.ask(self.question())

    def on_trace(self, trace: Trace) -> None:
        self.ask()

    def retranslate(self) -> None:
        self.show_state()

    @Slot()
    def show_state(self) -> None:
        """Show the answer, or why it is missing, with a button that computes again if it has failed."""
        has_picture, problem = self.has_picture, self.answer.problem
        for widget in self._pictures:
            widget.setVisible(has_picture)
        self.empty.setVisible(not has_picture)
        self.empty.set_outcome("" if problem is None else problem.text(), self.why_empty())
        self.show_answer()


def has_logits(trace: Trace) -> bool:
    """True if the run ends in logits."""
    return "logits" in trace.site(trace.sites[-1]).stages
