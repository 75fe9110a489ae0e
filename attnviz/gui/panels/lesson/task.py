"""Something to try, with a live verdict: the condition is computed with every run."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.words import says
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.linked_text import LinkedText, paragraphs
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.markup import markup


class Task(Card):
    """The card of a task."""

    pointed = Signal(str)
    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__("")
        says(self, N_("Try it"), id="lesson_task")
        self._source = ""
        self._scope: Scope | None = None
        self.is_done = False
        self._text = LinkedText("task_text", 14)
        self._text.pointed.connect(self.pointed)
        self._text.chosen.connect(self.chosen)
        self._verdict = QLabel()
        self._verdict.setObjectName("task_verdict")
        self._verdict.setFont(ui_font(13))
        self.body.addWidget(self._text)
        self.body.addWidget(self._verdict)

    def set_task(self, source: str, scope: Scope | None) -> None:
        """Show a task with the numbers of its step."""
        self._source, self._scope = source, scope
        self.retranslate()

    def set_done(self, is_done: bool) -> None:
        """Say whether the present numbers meet the condition."""
        self.is_done = is_done
        self._show()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        self._text.set_body(paragraphs([markup(self._source, self._scope)]))
        self._show()

    def _show(self) -> None:
        set_tone("right" if self.is_done else "muted", self._verdict)
        self._verdict.setText(
            _("✓ Done: the live numbers confirm it")
            if self.is_done
            else _("Not done yet, as the live numbers show")
        )
